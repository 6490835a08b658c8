"""GnuPG with keys of its own. The vault is in `test_vault`."""

import json
import shutil
import subprocess

import gnupg
import pytest

from controller.adapters.secrets.keyring import Keyring
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.ports import CompilePorts, DecryptFailed
from highstate.types import Minion

WEB = Minion(id="web1", grains={"id": "web1", "role": {"name": "web"}})


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    """(folder of a key, encrypt) in a GnuPG home of the test's own."""
    if shutil.which("gpg") is None:
        pytest.skip("GnuPG is not installed")
    folder = tmp_path_factory.mktemp("gpg")
    folder.chmod(0o700)
    gpg = gnupg.GPG(gnupghome=str(folder))
    gpg.encoding = "utf-8"
    key = gpg.gen_key(
        gpg.gen_key_input(key_type="RSA", key_length=2048, name_email="controller@example.org", no_protection=True)
    )
    yield folder, lambda text: str(gpg.encrypt(text, key.fingerprint, always_trust=True))
    gpg_ended(folder)


def gpg_ended(folder):
    """End the agent that GnuPG started for this folder."""
    subprocess.run(["gpgconf", "--homedir", str(folder), "--kill", "gpg-agent"], check=False)


def test_pillar_is_decrypted_also_inside_nested_values(keys):
    folder, encrypt = keys
    pillar = "#!jinja|yaml|gpg\n" + json.dumps({"db": {"passwords": [encrypt("ü-one"), "plain"]}})
    tree = MemoryFiles({"base": {"top.sls": b"base:\n  '*': [one]\n", "one.sls": pillar.encode()}})
    states = MemoryFiles(
        {"base": {"top.sls": b"base:\n  '*': [s]\n", "s.sls": b"{{ pillar.db.passwords[0] }}: {test.nop: []}"}}
    )
    done = compile_minion(states, tree, WEB, CompileOptions(), None, CompilePorts(decrypt=Keyring(folder)))
    assert done.errors == ()
    assert done.pillar == {"db": {"passwords": ["ü-one", "plain"]}}


def test_a_message_for_somebody_else_is_an_error(keys, tmp_path):
    _, encrypt = keys
    empty = tmp_path / "empty"
    empty.mkdir(mode=0o700)
    message = encrypt("secret")
    with pytest.raises(DecryptFailed, match=r"no secret key|decryption failed|no data"):
        Keyring(empty).decrypt(message)
    with pytest.raises(DecryptFailed, match="gpg_keydir"):
        Keyring(tmp_path / "gone").decrypt(message)
    gpg_ended(empty)
