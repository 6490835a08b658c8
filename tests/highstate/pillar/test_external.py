"""External pillars: their order, how they are merged, and that one which fails is an error."""

import pytest

from highstate.compile import CompileOptions, compile_sls
from highstate.files import MemoryFiles
from highstate.ports import CompilePorts, DecryptFailed, SourceFailed
from highstate.types import Minion

TOP = "base:\n  '*':\n    - one\n"


class Echo:
    """A source that tells what it was asked."""

    def pillar(self, minion, pillar, arguments):
        if arguments == "broken":
            raise SourceFailed("it is away")
        return {"id": minion.id, "saw": sorted(pillar), "args": arguments, "deep": {"ext": 1, "both": "ext"}}


class Upper:
    """Ciphertext in lower case."""

    def decrypt(self, ciphertext):
        if "?" in ciphertext:
            raise DecryptFailed("no key")
        return ciphertext.split("\n")[1].upper()


def compiled(pillar="deep: {own: 1, both: own}\n", override=None, **settings):
    tree = MemoryFiles({"base": {"top.sls": TOP.encode(), "one.sls": pillar.encode()}})
    ports = CompilePorts(pillar_sources={"echo": Echo()}, decrypt=Upper())
    states = MemoryFiles({"base": {"s.sls": b"{}"}})
    minion = Minion(id="web1", grains={"id": "web1"})
    return compile_sls(states, tree, minion, CompileOptions(**settings), ["s"], pillar_override=override, ports=ports)


def test_a_source_lies_over_the_sls_and_sees_them():
    done = compiled(ext_pillar=({"echo": {"x": 1}}, {"git": ["main https://git.example.org/p"]}))
    assert done.errors == ()
    assert done.pillar == {
        "deep": {"own": 1, "both": "ext", "ext": 1},
        "id": "web1",
        "saw": ["deep"],
        "args": {"x": 1},
    }


def test_a_source_may_come_first():
    done = compiled(
        "{% if pillar.id == 'web1' %}deep: {both: own}{% endif %}", ext_pillar=({"echo": 1},), ext_pillar_first=True
    )
    assert done.pillar["deep"] == {"ext": 1, "both": "own"}
    assert done.pillar["saw"] == []


def test_an_override_lies_over_all():
    done = compiled(override={"deep": {"both": "over"}}, ext_pillar=({"echo": 1},))
    assert done.pillar["deep"] == {"own": 1, "both": "over", "ext": 1}


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"echo": "broken"}, "it is away"),
        ({"ecko": 1}, "there is no external pillar 'ecko'"),
        ("echo", "not a mapping"),
    ],
)
def test_a_source_that_fails_is_an_error(entry, says):
    [problem] = compiled(ext_pillar=(entry,)).errors
    assert says in problem.message


def test_options_in_the_pillar():
    """All that templates see as `opts`, as in Salt: formulas read `pillar['master']['id']`, `['file_roots']` …"""
    found = compiled(pillar_opts=True, opts={"x": 1}).pillar["master"]
    assert found["x"] == 1
    assert (found["id"], found["state_top"], found["config_dir"]) == ("web1", "salt://top.sls", "/etc/saltern")
    assert not found.keys() & {"grains", "pillar"}


MESSAGE = "-----BEGIN PGP MESSAGE-----\\\\nsecret\\\\n-----END PGP MESSAGE-----"


def test_keys_are_decrypted_where_they_stand():
    text = f'a: {{b: "{MESSAGE}", c: ["{MESSAGE}"]}}\nplain: "{MESSAGE}"\n'.replace("\\\\n", "\\\\n")
    done = compiled(text, decrypt_pillar=("a:b", {"a:c": "gpg"}, "a:nope"))
    assert done.errors == ()
    assert done.pillar["a"] == {"b": "SECRET", "c": ["SECRET"]}
    assert "BEGIN PGP" in done.pillar["plain"]


def test_what_cannot_be_decrypted_is_an_error():
    [problem] = compiled(f'a: "{MESSAGE.replace("secret", "?")}"\n', decrypt_pillar=("a",)).errors
    assert "'a' cannot be decrypted: no key" in problem.message
    [problem] = compiled(decrypt_pillar=({"a": "nacl"},)).errors
    assert "only gpg" in problem.message
