from __future__ import annotations

import json
import os
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import git_servers
import pytest

from controller.compilation.sources import open_source
from controller.config.sections import PortOptions, TreeOptions
from controller.config.settings import ControllerSettings
from gitfs.errors import FetchFailed
from options.vault import VaultSettings


class Api(BaseHTTPRequestHandler):
    """As much of Vault's HTTP API (https://developer.hashicorp.com/vault/api-docs) as is asked for one secret."""

    def do_GET(self):
        if self.path.startswith("/v1/sys/internal/ui/mounts/"):
            self._say({"data": {"path": "secret/", "options": {"version": "2"}}})
        else:
            self._say({"data": {"data": self.server.secret, "metadata": {}}, "lease_duration": 3600})

    def _say(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *ignored):
        pass


@pytest.fixture
def vault():
    api = ThreadingHTTPServer(("127.0.0.1", 0), Api)
    thread = threading.Thread(target=api.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield api
    api.shutdown()
    thread.join()
    api.server_close()


@pytest.fixture
def served(tmp_path):
    """URL of a repository behind a password."""
    who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GIT_CONFIG_NOSYSTEM": "1", **who}
    work, bare = tmp_path / "work", tmp_path / "served" / "remote.git"
    work.mkdir()
    (work / "top.sls").write_text("one")
    for command in (
        ["init", "-q", "-b", "main"],
        ["add", "-A"],
        ["commit", "-qm", "one"],
        ["clone", "-q", "--bare", str(work), str(bare)],
    ):
        subprocess.run(["git", *command], cwd=work, env=environment, check=True, capture_output=True)
    with git_servers.serving(bare.parent) as port:
        yield f"http://127.0.0.1:{port}/remote.git"


def settings(tmp_path, url, password, **options):
    remote = {url: [{"name": "far"}, {"user": git_servers.USER}, {"password": password}, {"insecure_auth": True}]}
    return ControllerSettings(
        cachedir=tmp_path / "cache", trees=TreeOptions(remotes={"gitfs_remotes": [remote]}), **options
    )


def test_a_password_in_a_vault_is_asked_for_at_each_fetch(tmp_path, served, vault):
    where = {"server": {"url": f"http://127.0.0.1:{vault.server_port}"}, "auth": {"token": "x"}}
    password = {"vault": "secret/forge?password"}
    vault.secret = {"password": "an-older-word"}
    with open_source(
        settings(tmp_path, served, password, ports=PortOptions(vault=VaultSettings.parse(where)))
    ) as source:
        (failed,) = source.fetch(patience=60)
        assert isinstance(failed, FetchFailed)
        assert "refused the credentials" in failed.reason
        vault.secret = {"password": git_servers.PASSWORD}
        (fetched,) = source.fetch(patience=60)
        assert not isinstance(fetched, FetchFailed)
        vault.secret = {"other": "x"}
        (failed,) = source.fetch(patience=60)
        assert "secret/forge of the vault has no password" in str(failed)


def test_a_vault_that_is_not_set_up_is_told(tmp_path, served):
    with open_source(settings(tmp_path, served, {"vault": "secret/forge?password"})) as source:
        (failed,) = source.fetch(patience=60)
        assert "option vault" in str(failed)


def test_a_variable_with_a_secret_is_inherited_by_no_child(tmp_path, served, monkeypatch):
    monkeypatch.setenv("GIT_WORD", git_servers.PASSWORD)
    with open_source(settings(tmp_path, served, {"env": "GIT_WORD"})) as source:
        assert b"GIT_WORD" not in subprocess.run(["env"], capture_output=True, check=True).stdout
        (fetched,) = source.fetch(patience=60)
        assert not isinstance(fetched, FetchFailed)
