"""gpg.present and gpg.absent, and the execution module gpg, with gpg(1) and a key server."""

from __future__ import annotations

import http.server
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from highstate.files import MemoryFiles
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine

pytestmark = pytest.mark.skipif(not shutil.which("gpg"), reason="gpg is not installed")


def gpg(home: Path, *words: str, stdin: str = "") -> str:
    done = subprocess.run(
        ["gpg", "--batch", "--homedir", home, *words], input=stdin, capture_output=True, text=True, check=True
    )
    return done.stdout


def end(home: Path) -> None:
    subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)


def new_key(home: Path, name: str, ends: str = "0") -> str:
    """The fingerprint of a new key."""
    before = set(prints(home))
    gpg(home, "--passphrase", "", "--quick-gen-key", f"{name} <{name}@example.com>", "ed25519", "sign", ends)
    [made] = set(prints(home)) - before
    return made


def prints(home: Path) -> list[str]:
    found = gpg(home, "--with-colons", "--list-keys").splitlines()
    return [line.split(":")[9] for line in found if line.startswith("fpr")]


class Authors:
    """Keys of others, and what they have published."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.first, self.second = new_key(home, "first"), new_key(home, "second")
        self.short = new_key(home, "short", "seconds=1")
        self.published = {one: self.armored(one) for one in (self.first, self.short)}
        self.address = ""

    def armored(self, *names: str) -> str:
        return gpg(self.home, "--armor", "--export", *names)


@pytest.fixture(scope="module")
def authors(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Authors]:
    home = tmp_path_factory.mktemp("authors")
    home.chmod(0o700)
    found = Authors(home)

    class Keys(http.server.BaseHTTPRequestHandler):
        """HKP: `op=get&search=0xID`."""

        def do_GET(self) -> None:
            asked = parse_qs(urlsplit(self.path).query)
            name = asked.get("search", [""])[0].removeprefix("0x")
            text = next((text for one, text in found.published.items() if name and one.endswith(name)), "")
            if asked.get("op") == ["index"]:
                [one, *_] = [*found.published]
                text = f"info:1:1\npub:{one}:22:255:1700000000::\nuid:first <first@example.com>:1700000000::\n"
            self.send_response(200 if text else 404)
            self.end_headers()
            self.wfile.write(text.encode())

        def log_message(self, *arguments: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Keys)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    found.address = f"hkp://127.0.0.1:{server.server_port}"
    yield found
    server.shutdown()
    server.server_close()
    end(home)


@pytest.fixture
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Where there is no keychain yet; gpg keeps locks and sockets there, so that it is not in `tmp_path`."""
    found = tmp_path_factory.mktemp("keychain") / "gnupg"
    yield found
    end(found)


@pytest.fixture
def call(home):
    context = Context(minion_id="web1", make_pillar=lambda: {"gpg_passphrase": "secret"})
    modules = Modules(context)
    return lambda fun, *args, **kwargs: modules.call(f"gpg.{fun}", args, {"gnupghome": str(home), **kwargs})


def test_keys_of_a_text(converge, authors, home):
    name, both = authors.first[-16:], authors.armored()
    made = converge("gpg.present", name, text=both, gnupghome=str(home))
    assert made.changes == {name: {"added": True}}
    assert made.comment == f"Key {name}:\n  * Added {name} to GPG keychain"
    assert home.stat().st_mode & 0o777 == 0o700
    assert prints(home) == [authors.first]
    for other in (authors.first, authors.first[-8:], f"0x{authors.first.lower()}"):
        assert converge("gpg.present", other, text=both, gnupghome=str(home)).changes == {}
    absent = converge("gpg.present", "AAAABBBBCCCCDDDD", text=both, gnupghome=str(home))
    assert (absent.result, "did not contain the requested key" in absent.comment) == (False, True)
    gone = converge("gpg.absent", name, keys=[name, "AAAABBBBCCCCDDDD"], gnupghome=str(home))
    assert gone.changes == {"deleted": [name]}
    assert gone.comment == f"Deleted {name} from GPG keychain\nAAAABBBBCCCCDDDD not found in GPG keychain"
    assert prints(home) == []


@pytest.mark.parametrize("level", ["unknown", "not_trusted", "marginally", "fully", "ultimately", "expired"])
def test_trust(converge, authors, home, call, level):
    name = authors.first
    made = converge("gpg.present", "keys", keys=[name], text=authors.armored(), trust=level, gnupghome=str(home))
    assert made.changes == {name: {"added": True, "trust": level}}
    assert f"Set trust level for {name} to {level}" in made.comment
    again = converge("gpg.present", name, text=authors.armored(), trust=level, gnupghome=str(home))
    assert again.comment.endswith(f"GPG Public Key {name} already in correct trust state")
    other = "fully" if level != "fully" else "not_trusted"
    assert converge("gpg.present", name, trust=other, gnupghome=str(home)).changes == {name: {"trust": other}}


@pytest.mark.skipif(not shutil.which("dirmngr"), reason="dirmngr is not installed")
def test_keys_of_a_server_and_of_sources(converge, authors, home, call, tmp_path):
    given = {"gnupghome": str(home), "keyserver": authors.address}
    assert converge("gpg.present", authors.first, **given).changes == {authors.first: {"added": True}}
    assert call("receive_keys", authors.address, authors.first) == {
        "res": True, "message": [f"Key {authors.first} already exists in keychain"]
    }  # fmt: skip
    assert call("search_keys", "first", authors.address)[0]["uids"] == ["first <first@example.com>"]
    missing = converge("gpg.present", authors.second, **given)
    assert (missing.result, "GPG reported failure" in missing.comment) == (False, True)
    (tmp_path / "second.asc").write_text(authors.armored(authors.second))
    source = [f"{tmp_path}/none.asc", f"{tmp_path}/second.asc"]
    assert converge("gpg.present", authors.second, source=source, **given).result is True
    tree = LocalMachine(sources_port=MemoryFiles({"base": {"keys.asc": authors.armored().encode()}}))
    converge("gpg.absent", authors.second, gnupghome=str(home))
    only = {"source": "salt://keys.asc", "skip_keyserver": True, "gnupghome": str(home)}
    assert converge("gpg.present", authors.second, machine=tree, **only).changes == {authors.second: {"added": True}}
    refused = converge("gpg.present", authors.second, skip_keyserver=True, gnupghome=str(home))
    assert refused.comment == "When skipping keyservers, you must provide at least one source"


def test_a_key_that_has_ended_is_fetched_anew(converge, authors, home, call):
    call("import_key", authors.published[authors.short])
    assert call("get_key", authors.short[-16:])["expired"] is True
    old = converge("gpg.present", authors.short, text=authors.published[authors.short], gnupghome=str(home))
    assert (old.result, old.comment) == (False, f"The new key {authors.short} is expired though.")
    gpg(authors.home, "--quick-set-expire", authors.short, "1y")
    made = converge("gpg.present", authors.short, text=authors.armored(), gnupghome=str(home))
    assert made.changes == {authors.short: {"refresh": True}}
    assert f"Updated {authors.short} because it was expired" in made.comment


def test_a_keyring_of_its_own(converge, authors, home, tmp_path, call):
    ring = tmp_path / "ring.gpg"
    home.mkdir(mode=0o700)
    given = {"keyring": str(ring), "gnupghome": str(home)}
    call("import_key", authors.armored(authors.first), **given)
    assert [one["fingerprint"] for one in call("list_keys", **given)] == [authors.first]
    assert call("list_keys") == []
    gone = converge("gpg.absent", authors.first, keyring_absent_if_empty=True, **given)
    assert gone.changes == {"deleted": [authors.first], "removed": str(ring)}
    assert not ring.exists()


def test_a_secret_key_is_not_lost(converge, call, home):
    made = call("create_key", "RSA", 2048, name_email="a@example.com")
    assert made["message"] == "GPG key pair successfully generated."
    refused = converge("gpg.absent", made["fingerprint"], gnupghome=str(home))
    assert refused.comment == "Secret key exists, delete first or pass delete_secret=True."
    assert call("delete_key", made["fingerprint"])["res"] is False
    assert call("get_secret_key", fingerprint=made["fingerprint"])["keyLength"] == "2048"
    assert call("delete_key", made["fingerprint"], delete_secret=True) == {
        "res": True,
        "message": f"Secret key for {made['fingerprint']} deleted\nPublic key for {made['fingerprint']} deleted",
    }
    assert call("list_keys") == call("list_secret_keys") == []


def test_messages(call, tmp_path, authors):
    own = call("create_key", "RSA", 2048, name_email="own@example.com", subkey_type="RSA", subkey_length=2048)
    text = call("encrypt", recipients=["own@example.com"], text="hello", bare=True)
    assert text.startswith("-----BEGIN PGP MESSAGE")
    assert call("decrypt", text=text) == {"res": True, "comment": "hello"}
    (tmp_path / "plain").write_text("from a file")
    encrypted = call(
        "encrypt", recipients="own@example.com", filename=f"{tmp_path}/plain", output=f"{tmp_path}/secret", sign=True
    )
    assert encrypted == {"res": True, "comment": f"Encrypted data has been written to {tmp_path}/secret"}
    decrypted = call("decrypt", filename=f"{tmp_path}/secret", output=f"{tmp_path}/again")
    assert decrypted == {"res": True, "comment": f"Decrypted data has been written to {tmp_path}/again"}
    assert (tmp_path / "again").read_text() == "from a file"
    assert (tmp_path / "again").stat().st_mode & 0o777 == 0o600
    signed = call("sign", text="hello")
    found = call("verify", signed)
    assert (found["res"], found["trust_level"]) == (True, "Ultimate")
    assert found["username"] == "Autogenerated Key (Generated by SaltStack) <own@example.com>"
    assert call("verify", signed, signed_by_all=[own["fingerprint"]])["res"] is True
    assert call("verify", signed, signed_by_any=[authors.first])["res"] is False
    assert call("verify", "hello")["res"] is False
    assert call("verify", signed, trustmodel="blind")["res"] is False
    assert call("encrypt", recipients="nobody@example.com", text="x")["res"] is False
    with pytest.raises(CallFailed, match="filename or text must be passed"):
        call("sign")
    assert call("trust_key", own["fingerprint"], trust_level="marginally")["message"] == (
        "Setting ownership trust to Marginally."
    )


def test_a_passphrase_of_the_pillar(call, home):
    made = call("create_key", "RSA", 2048, use_passphrase=True)
    subprocess.run(["gpgconf", "--homedir", home, "--kill", "gpg-agent"], check=True)
    signed = call("sign", text="hello", use_passphrase=True)
    assert call("verify", signed)["res"] is True
    exported = call("export_key", made["fingerprint"], secret=True, use_passphrase=True, bare=True)
    assert exported.startswith("-----BEGIN PGP PRIVATE KEY")
    assert call("read_key", text=exported)[0]["fingerprint"] == made["fingerprint"]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_keychain_of_somebody_else(converge, authors, request):
    found = Path(tempfile.mkdtemp())  # folders of pytest are root's alone
    request.addfinalizer(lambda: shutil.rmtree(found))
    found.chmod(0o755)
    home = found / "gnupg"
    made = converge("gpg.present", authors.first, text=authors.armored(), user="nobody", gnupghome=str(home))
    assert made.result is True, made.comment
    assert {one.owner() for one in (home, *home.iterdir())} == {"nobody"}
    assert converge("gpg.absent", authors.first, user="nobody", gnupghome=str(home)).result is True
    subprocess.run(["runuser", "-u", "nobody", "--", "gpgconf", "--homedir", home, "--kill", "all"], check=False)
    missing = converge("gpg.present", authors.first, user="no-such-user")
    assert missing.comment == "User no-such-user does not exist"
