"""Secrets by their real adapters: GnuPG with keys of its own, and a server that speaks Vault's API."""

import json
import shutil
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import gnupg
import pytest

from controller.adapters.secrets.keyring import Keyring
from controller.adapters.secrets.vault import Vault
from controller.config.vault import BadVault, VaultSettings
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.ports import CompilePorts, DecryptFailed, SecretFailed
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


class Api(BaseHTTPRequestHandler):
    """As much of Vault's HTTP API (https://developer.hashicorp.com/vault/api-docs) as the adapter uses."""

    def do_GET(self):
        self.server.asked.append((self.command, self.path))
        if self.headers.get("X-Vault-Token") != "good":
            return self._say(403, {"errors": ["permission denied"]})
        answers = {
            "/v1/sys/internal/ui/mounts/kv/app/web1": {"path": "kv/", "options": {"version": "2"}},
            "/v1/sys/internal/ui/mounts/old/db": {"path": "old/", "options": None},
            "/v1/kv/data/app/web1": {"data": {"user": "u", "password": "p"}, "metadata": {"version": 3}},
            "/v1/kv/data/app/web": {"data": {"role": "w"}, "metadata": {"version": 1}},
            "/v1/old/db": {"x": 1},
            "/v1/kv/metadata/app?list=true": {"keys": ["a", "b/"]},
        }
        data = answers.get(self.path)
        return self._say(404, {"errors": []}) if data is None else self._say(200, {"data": data, "lease_duration": 0})

    do_LIST = do_GET  # noqa: N815

    def do_POST(self):
        self.server.asked.append((self.command, self.path))
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        good = body == {"role_id": "r", "secret_id": "s"}
        self._say(
            200 if good else 400,
            {"auth": {"client_token": "good", "lease_duration": 60}} if good else {"errors": ["no"]},
        )

    do_PUT = do_POST  # noqa: N815

    def _say(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *ignored):
        pass


@pytest.fixture
def server():
    api = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    api.asked = []
    thread = threading.Thread(target=api.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield api
    api.shutdown()
    thread.join()
    api.server_close()


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


def vault(server, clock=None, **auth):
    settings = {"server": {"url": f"http://127.0.0.1:{server.server_port}"}, "auth": auth or {"token": "good"}}
    return Vault(VaultSettings.parse(settings), clock or Clock())


def test_both_engines_and_listing(server):
    one = vault(server)
    assert one.read_secret("kv/app/{minion}", WEB) == {"user": "u", "password": "p"}
    assert one.read_secret("kv/app/{grains[role][name]}", WEB) == {"role": "w"}
    assert one.read_secret("kv/data/app/web1", WEB) == {"user": "u", "password": "p"}
    assert one.read_secret("old/db", WEB) == {"x": 1}


def test_a_secret_is_asked_once_within_its_lease(server):
    clock = Clock()
    one = vault(server, clock)
    for _ in range(3):
        one.read_secret("kv/app/web1", WEB)
    read = ("GET", "/v1/kv/data/app/web1")
    assert server.asked.count(read) == 1
    clock.now += 301
    one.read_secret("kv/app/web1", WEB)
    assert server.asked.count(read) == 2


def test_approle_logs_in_and_again_before_the_token_ends(server):
    clock = Clock()
    one = vault(server, clock, method="approle", role_id="r", secret_id="s")
    one.read_secret("kv/app/web1", WEB)
    clock.now += 301
    one.read_secret("kv/app/web1", WEB)
    assert [path for command, path in server.asked if command == "POST"] == ["/v1/auth/approle/login"] * 2


def test_failures_say_what_is_wrong_and_hold_no_secret(server):
    one = vault(server)
    with pytest.raises(SecretFailed, match="there is nothing at kv/app/gone"):
        one.read_secret("kv/app/web1", WEB) and one.read_secret("kv/app/gone", WEB)
    with pytest.raises(SecretFailed, match="may not read"):
        vault(server, token="bad").read_secret("kv/app/web1", WEB)
    with pytest.raises(SecretFailed, match="a grain that this minion has not"):
        one.read_secret("kv/{grains[nope]}", WEB)
    with pytest.raises(SecretFailed, match="leads upwards"):
        one.read_secret("kv/{minion}/x", Minion(id=".."))
    server_gone = Vault(VaultSettings(url="http://127.0.0.1:9", token="t", timeout=1))
    with pytest.raises(SecretFailed, match="cannot be asked"):
        server_gone.read_secret("kv/x", WEB)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({}, "server"),
        ({"server": {"url": "u"}, "auth": {"method": "ldap"}}, "token and approle"),
        ({"server": {"url": "u"}, "auth": {"method": "approle"}}, "role_id"),
        ({"server": {"url": "u"}}, "token"),
    ],
)
def test_bad_options(given, says):
    with pytest.raises(BadVault, match=says):
        VaultSettings.parse(given)
