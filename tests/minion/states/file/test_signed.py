"""Sources with signatures, verified by a real gpg."""

import hashlib
import io
import shutil
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.machine.machine import LocalMachine

pytestmark = pytest.mark.skipif(shutil.which("gpg") is None, reason="gpg is not installed")

TEXT = b"one\ntwo\n"
STRANGER = "DEADBEEFDEADBEEFDEADBEEFDEADBEEFDEADBEEF"
Converge = Callable[..., StateResult]


@dataclass(frozen=True)
class Signer:
    """Someone with a key."""

    home: Path
    fingerprint: str

    def gpg(self, *words: str, stdin: bytes = b"") -> bytes:
        command = ["gpg", "--homedir", str(self.home), "--batch", "--quiet", "--pinentry-mode", "loopback"]
        done = subprocess.run([*command, "--passphrase", "", *words], input=stdin, capture_output=True, check=True)
        return done.stdout


def _signer(home: Path, name: str) -> Signer:
    home.mkdir(mode=0o700)
    made = Signer(home, "")
    made.gpg("--quick-gen-key", f"{name} <{name}@example.org>", "ed25519", "sign")
    listed = made.gpg("--list-keys", "--with-colons").decode()
    return Signer(home, next(line for line in listed.splitlines() if line.startswith("fpr")).split(":")[9])


@pytest.fixture(scope="module")
def signers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Signer, Signer]]:
    place = Path("/tmp") / tmp_path_factory.mktemp("gpg").name  # agents have sockets, whose paths are short
    place.mkdir()
    try:
        yield _signer(place / "a", "alice"), _signer(place / "b", "bob")
    finally:
        for home in ("a", "b"):
            subprocess.run(["gpgconf", "--homedir", str(place / home), "--kill", "gpg-agent"], check=False)
        shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(scope="module")
def home(signers: tuple[Signer, Signer], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home that knows the public keys."""
    place = tmp_path_factory.mktemp("keys")
    place.chmod(0o700)
    for one in signers:
        key = one.gpg("--export")
        subprocess.run(["gpg", "--homedir", place, "--batch", "--import"], input=key, check=True, capture_output=True)
    return place


def _tree(signers: tuple[Signer, Signer]) -> dict[str, bytes]:
    alice, bob = signers
    sums = f"{hashlib.sha256(TEXT).hexdigest()}  text\n".encode()
    clear = alice.gpg("--clearsign", stdin=TEXT)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        info = tarfile.TarInfo("app/text")
        info.size = len(TEXT)
        tar.addfile(info, io.BytesIO(TEXT))
    return {
        "text": TEXT,
        "text.asc": alice.gpg("--detach-sign", "--armor", stdin=TEXT),
        "text.bob": bob.gpg("--detach-sign", stdin=TEXT),
        "other": b"something else\n",
        "clear.asc": clear,
        "around.asc": b"nobody has signed this\n" + clear,
        "sums": sums,
        "sums.asc": alice.gpg("--detach-sign", stdin=sums),
        "sums.clear": alice.gpg("--clearsign", stdin=sums),
        "app.tar": archive.getvalue(),
        "app.tar.asc": alice.gpg("--detach-sign", stdin=archive.getvalue()),
    }


@pytest.fixture(scope="module")
def machine(signers: tuple[Signer, Signer]) -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles({"base": _tree(signers)}))


@pytest.fixture
def signed(converge: Converge, machine: LocalMachine, home: Path, tmp_path: Path) -> Converge:
    def call(**arguments: Any) -> StateResult:
        return converge("file.managed", tmp_path / "f", machine=machine, gnupghome=str(home), **arguments)

    return call


def test_a_detached_signature(signed: Converge, tmp_path: Path) -> None:
    assert signed(source="salt://text", signature="salt://text.asc").result is True
    assert (tmp_path / "f").read_bytes() == TEXT


def test_a_file_that_is_signed_itself(signed: Converge, tmp_path: Path) -> None:
    assert signed(source="salt://clear.asc", signature=True).result is True
    assert b"BEGIN PGP SIGNED MESSAGE" in (tmp_path / "f").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"source": "salt://other", "signature": "salt://text.asc"}, "it is wrong"),
        ({"source": "salt://text", "signature": True}, "could not be verified"),
        ({"source": "salt://text", "signature": "salt://nowhere"}, "Detached signature file salt://nowhere not found"),
        ({"source": "salt://around.asc", "signature": True}, "text outside of the signed message"),
        (
            {"source": "salt://text", "signature": "salt://text.asc", "signed_by_any": [STRANGER]},
            "None of the public keys listed in signed_by_any",
        ),
        ({"source": "salt://text", "signature": "salt://text.asc", "signed_by_all": STRANGER}, "in signed_by_all"),
        ({"source": "salt://text", "signature": "salt://text.asc", "sig_backend": "asymmetric"}, "was not loaded"),
        ({"source": "salt://text", "source_hash": "salt://sums", "source_hash_sig": "salt://text.asc"}, "it is wrong"),
        ({"source": "salt://text", "source_hash": "a" * 64, "source_hash_sig": "salt://sums.asc"}, "file of digests"),
    ],
)  # fmt: skip
def test_what_is_not_signed_is_not_written(
    signed: Converge, tmp_path: Path, arguments: dict[str, Any], why: str
) -> None:
    result = signed(**arguments)
    assert result.result is False
    assert why in result.comment
    assert not (tmp_path / "f").exists()


def test_keys_that_have_to_have_signed(signed: Converge, signers: tuple[Signer, Signer]) -> None:
    alice, bob = (one.fingerprint for one in signers)
    both = ["salt://text.asc", "salt://text.bob"]
    assert signed(source="salt://text", signature="salt://text.asc", signed_by_all=[alice, bob]).result is False
    assert signed(source="salt://text", signature=both, signed_by_all=[alice, bob]).result is True


def test_one_of_the_keys_is_enough(signed: Converge, signers: tuple[Signer, Signer]) -> None:
    arguments = {"source": "salt://text", "signed_by_any": [STRANGER, signers[1].fingerprint]}
    assert signed(signature="salt://text.asc", **arguments).result is False
    assert signed(signature="salt://text.bob", **arguments).result is True


@pytest.mark.parametrize(("sums", "signature"), [("sums", "salt://sums.asc"), ("sums.clear", True)])
def test_a_signed_file_of_digests(signed: Converge, tmp_path: Path, sums: str, signature: Any) -> None:
    result = signed(source="salt://text", source_hash=f"salt://{sums}", source_hash_sig=signature)
    assert (result.result, (tmp_path / "f").read_bytes()) == (True, TEXT)


def test_a_key_that_is_not_in_the_keyring(
    converge: Converge, machine: LocalMachine, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    empty = tmp_path_factory.mktemp("empty")
    empty.chmod(0o700)
    asked = {"source": "salt://text", "signature": "salt://text.asc", "gnupghome": str(empty)}
    result = converge("file.managed", tmp_path / "f", machine=machine, **asked)
    assert result.result is False
    assert "is not in the keyring" in result.comment


@pytest.mark.parametrize("source", ["salt://app.tar", "salt://other"])
def test_a_signed_archive(converge: Converge, machine: LocalMachine, home: Path, tmp_path: Path, source: str) -> None:
    asked = {"source": source, "signature": "salt://app.tar.asc", "gnupghome": str(home), "archive_format": "tar"}
    result = converge("archive.extracted", tmp_path / "out", machine=machine, **asked)
    assert result.result is (source == "salt://app.tar"), result.comment
    assert (tmp_path / "out/app/text").is_file() is result.result


def test_a_signed_file_in_the_cache(converge: Converge, machine: LocalMachine, home: Path) -> None:
    good = converge("file.cached", "salt://text", machine=machine, gnupghome=str(home), signature="salt://text.asc")
    assert (good.result, good.comment.startswith("File is cached")) == (True, True)
    bad = converge("file.cached", "salt://other", machine=machine, gnupghome=str(home), signature="salt://text.asc")
    assert bad.result is False
