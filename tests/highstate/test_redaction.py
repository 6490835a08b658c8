"""What is shown never holds a secret, and still tells that it changed."""

from __future__ import annotations

import base64
import json
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.ports import CompilePorts, Fact
from highstate.redaction import SHORTEST, Redaction, fingerprint, fingerprints, secret_texts
from highstate.types import Minion

KEY = b"k" * 32
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END PRIVATE KEY-----\n"


def _redaction(*secrets: str) -> Redaction:
    return Redaction(fingerprints(KEY, secrets))


def _mark(secret: str) -> str:
    return f"<secret {fingerprint(KEY, secret)}>"


def test_a_secret_in_a_text_becomes_its_fingerprint() -> None:
    shown = _redaction("hunter2!", "other-one").text("password = hunter2!\nuser = root")
    assert shown == f"password = {_mark('hunter2!')}\nuser = root"


def test_another_secret_has_another_fingerprint_and_another_key_too() -> None:
    assert _mark("hunter2!") != _mark("hunter3!")
    assert fingerprint(b"other", "hunter2!") != fingerprint(KEY, "hunter2!")


@pytest.mark.parametrize(
    "written",
    [
        lambda secret: base64.b64encode(secret.encode()).decode(),
        lambda secret: json.dumps({"p": secret}),
        lambda secret: f"https://u:{quote(secret, safe='')}@example.org",
        lambda secret: repr(secret),
    ],
)
def test_other_ways_to_write_it_are_found(written: Any) -> None:
    secret = 'p/as+s"wörd'
    shown = _redaction(secret).text(written(secret))
    assert _mark(secret) in shown
    assert "as+s" not in shown


def test_a_diff_of_a_key_shows_none_of_its_lines() -> None:
    diff = "--- old\n+++ new\n@@ -1 +1,4 @@\n" + "".join(f"+{line}\n" for line in PEM.splitlines())
    shown = _redaction(PEM).text(diff)
    assert "MIIEvQ" not in shown
    assert "AQEFAA" not in shown
    assert "+-----BEGIN PRIVATE KEY-----" in shown


def test_a_message_that_is_data_is_taken_apart() -> None:
    shown = _redaction("db:\n  password: correct horse\n  port: 5432\n").value({"a": "correct horse", "b": "the port"})
    assert shown["a"] != "correct horse"
    assert shown["b"] == "the port"


def test_values_and_keys_in_depth() -> None:
    redaction = _redaction("sesame-open", "no")
    value = {
        "changes": {"sesame-open": [1, "x sesame-open y", b"sesame-open", None, True]},
        "short": "no",
        "word": "nothing",
    }
    shown = redaction.value(value)
    assert "sesame" not in json.dumps(shown)
    assert shown["short"] == _mark("no")
    assert shown["word"] == "nothing"


def test_the_word_secret_as_a_secret_does_not_garble_the_marks() -> None:
    redaction = _redaction("secret", "letmein-letmein")
    assert redaction.text("a secret: letmein-letmein") == f"a {_mark('secret')}: {_mark('letmein-letmein')}"


def test_numbers_of_a_vault_are_secrets_too() -> None:
    assert secret_texts({"pin": 93817, "on": True, "keys": ["abc"]}) == {"93817", "abc"}
    assert _redaction("93817").value({"pin": 93817}) == {"pin": _mark("93817")}


def test_nothing_secret_is_the_same_object() -> None:
    value = {"a": ["b", 1]}
    assert _redaction("hunter2!").value(value) is value
    assert Redaction({}).value(value) is value


_SECRETS = st.text(st.characters(exclude_categories=["Cs", "Co"]), min_size=SHORTEST, max_size=40)


def test_a_text_that_imitates_a_place_is_no_error() -> None:
    assert _redaction("hunter2!").text("\ue00099\ue001 hunter2!") == f"99\ue001 {_mark('hunter2!')}"


@given(st.lists(_SECRETS, max_size=4, unique=True), st.lists(st.text(max_size=20), max_size=5), st.data())
def test_no_secret_survives_anywhere(secrets: list[str], around: list[str], data: st.DataObject) -> None:
    parts = data.draw(st.permutations([*secrets, *around]))
    shown = _redaction(*secrets).text("|".join(parts))
    # A secret may stand in a mark by chance only when it is made of a mark's own letters.
    for secret in secrets:
        rest = shown
        for each in secrets:
            rest = rest.replace(_mark(each), "")
        assert secret not in rest or secret in "|".join(around)


class TestLineage:
    """Which plain texts a compile says it had."""

    class Keys:
        def decrypt(self, ciphertext):
            return {"-----BEGIN PGP MESSAGE-----\n\none\n-----END PGP MESSAGE-----": "correct horse"}.get(
                ciphertext.strip(), "battery staple"
            )

    class Vault:
        def read_secret(self, path, minion):
            return {"user": "app", "password": f"tr0ub4dor of {minion.id}", "port": 5432}

        def list_secrets(self, path, minion):
            return []

    def compiled(self, states, pillar, memo=None, minion="web1", **settings):
        files = MemoryFiles({"base": {"top.sls": b"base: {'*': [s]}", "s.sls": states.encode()}})
        pillars = MemoryFiles({"base": {"top.sls": b"base: {'*': [p]}", "p.sls": pillar.encode()}})
        ports = CompilePorts(decrypt=self.Keys(), secrets=self.Vault())
        return compile_minion(files, pillars, Minion(id=minion), CompileOptions(**settings), memo, ports)

    MESSAGE = "-----BEGIN PGP MESSAGE-----\\n\\n{}\\n-----END PGP MESSAGE-----"

    def test_a_decrypted_message(self):
        pillar = '#!yaml|gpg\na: "' + self.MESSAGE.format("one") + '"'
        done = self.compiled("x: {test.nop: [{name: {{ pillar.a }}}]}", pillar)
        assert done.errors == ()
        assert done.secrets == {"correct horse"}
        assert done.files is not None

    def test_a_key_that_is_decrypted_at_the_end(self):
        done = self.compiled("x: {test.nop: []}", 'a: "' + self.MESSAGE.format("two") + '"', decrypt_pillar=("a",))
        assert done.pillar == {"a": "battery staple"}
        assert done.secrets == {"battery staple"}

    def test_a_secret_of_the_vault_also_from_a_memo(self):
        memo = Memo()
        states = "x: {test.nop: [{name: {{ salt['vault.read_secret']('a/b', 'password') }}}]}"
        for minion in ("web1", "web2", "web1", "web3", "web4"):
            done = self.compiled(states, "{}", memo, minion)
            assert done.errors == ()
            assert done.secrets == {"app", f"tr0ub4dor of {minion}", "5432"}

    def test_one_that_fails_says_so_too(self):
        pillar = '#!yaml|gpg\na: "' + self.MESSAGE.format("one") + '"'
        done = self.compiled("x: {test.nop: [{name: {{ pillar.a }} {{ nope() }}}]}", pillar)
        assert not done.ok
        assert done.secrets == {"correct horse"}

    def test_a_value_of_sdb(self):
        class Facts:
            def answer(self, fun, args, kwargs):
                return Fact(value={"password": "from sdb"} if fun == "sdb.get" else "seen")

        files = MemoryFiles(
            {
                "base": {
                    "top.sls": b"base: {'*': [s]}",
                    "s.sls": b"x: {test.nop: [{a: {{ salt['sdb.get']('sdb://a/b').password }}}, "
                    b"{b: {{ salt['cmd.which']('sh') }}}]}",
                }
            }
        )
        done = compile_minion(
            files, MemoryFiles({}), Minion(id="web1"), CompileOptions(), None, CompilePorts(facts=Facts())
        )
        assert done.errors == ()
        assert done.secrets == {"from sdb"}

    def test_most_have_none(self):
        assert self.compiled("x: {test.nop: []}", "a: plain").secrets == frozenset()


@pytest.mark.parametrize(
    ("path", "value", "shown"),
    [
        ("password", "hunter2", "<secret {}>"),
        ("env", [{"DB_PASSWORD": "hunter2"}, {"A": "b"}], [{"DB_PASSWORD": "<secret {}>"}, {"A": "b"}]),
        ("context:api_key", "hunter2", "<secret {}>"),
        ("password", "<secret 01234567>", "<secret 01234567>"),
        ("hash_password", True, True),
        ("password", "", ""),
        ("source_hash", "sha256=00", "sha256=00"),
        ("mode", "hunter2", "hunter2"),
    ],
)
def test_what_its_name_says_is_secret_is_masked(path, value, shown):
    key = b"k"
    digits = fingerprint(key, "hunter2")
    expected = json.loads(json.dumps(shown).replace("{}", digits))
    assert Redaction({}, key).named(path, value) == expected
    plain = json.loads(json.dumps(shown).replace(" {}", ""))
    assert Redaction({}).named(path, value) == plain
