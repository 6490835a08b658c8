"""Grains of metadata servers: servers as EC2's and Google's on this machine's loopback. Salt 3007 said the same of the
first, but for the credentials; later ones have no such grains.
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from minion.config.groups import GrainsOptions
from minion.grains import metadata
from minion.grains.collect import collect
from minion.grains.metadata import metadata_grains

TOKEN = "X-aws-ec2-metadata-token"
EC2 = {
    "/": "latest",
    "/latest/": "dynamic\nmeta-data\nuser-data",
    "/latest/dynamic/": "instance-identity/",
    "/latest/dynamic/instance-identity/": "document",
    "/latest/dynamic/instance-identity/document": '{"region": "eu-west-1", "accountId": "1"}',
    "/latest/meta-data/": "hostname\niam/\nplacement/\npublic-keys/",
    "/latest/meta-data/hostname": "web1.example.org",
    "/latest/meta-data/iam/": "info\nsecurity-credentials/",
    "/latest/meta-data/iam/info": "{}",
    "/latest/meta-data/iam/security-credentials/": "role",
    "/latest/meta-data/iam/security-credentials/role": '{"SecretAccessKey": "x"}',
    "/latest/meta-data/placement/": "availability-zone",
    "/latest/meta-data/placement/availability-zone": "eu-west-1a",
    "/latest/meta-data/public-keys/": "0=admin",
    "/latest/meta-data/public-keys/0/": "openssh-key",
    "/latest/meta-data/public-keys/0/openssh-key": "ssh-ed25519 AAAA admin",
    "/latest/user-data": "#!/bin/sh\ntrue\n",
}
GRAINS = {
    "dynamic": {"instance-identity": {"document": '{"region": "eu-west-1", "accountId": "1"}'}},
    "meta-data": {
        "hostname": "web1.example.org",
        "iam": {"info": "{}"},
        "placement": {"availability-zone": "eu-west-1a"},
        "public-keys": {"admin": {"openssh-key": "ssh-ed25519 AAAA admin"}},
    },
    "user-data": "#!/bin/sh\ntrue\n",
}
Serve = Callable[..., str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    servers = []

    def start(pages: Mapping[str, str], *, token: str = "", headers: Mapping[str, str] | None = None) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                self._answer(token if self.path == "/latest/api/token" else "")

            def do_GET(self) -> None:
                known = not token or self.headers.get(TOKEN) == token
                self._answer(pages.get(self.path, "") if known else "")

            def _answer(self, text: str) -> None:
                self.send_response(200 if text else 404)
                for key, value in (headers or {}).items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_: Any) -> None:
                """Quiet."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize("token", ["", "secret"])
def test_a_server_as_ec2s_is_read_without_its_credentials(serve: Serve, token: str) -> None:
    assert metadata_grains(serve(EC2, token=token)) == GRAINS


def test_a_server_as_googles_is_read(serve: Serve) -> None:
    accounts = {"default": {"email": "a@example.org", "token": "x"}}
    answer = {"instance": {"id": 1, "tags": ["a"], "serviceAccounts": accounts}, "project": {"projectId": "p"}}
    pages = {"/": "x", "/computeMetadata/v1/?alt=json&recursive=true": json.dumps(answer)}
    found = metadata_grains(serve(pages, headers={"Metadata-Flavor": "Google"}))
    assert found["instance"] == {"id": 1, "tags": ["a"], "serviceAccounts": {"default": {"email": "a@example.org"}}}
    assert found["project"] == {"projectId": "p"}
    broken = {**pages, "/computeMetadata/v1/?alt=json&recursive=true": "{"}
    assert metadata_grains(serve(broken, headers={"Metadata-Flavor": "Google"})) == {}


def test_folders_without_end_are_left(serve: Serve) -> None:
    class Endless(dict[str, str]):
        def get(self, path: str, default: Any = None) -> Any:
            return "on/"

    depth, found = 0, metadata_grains(serve(Endless()))
    while found:
        depth, found = depth + 1, found["on"]
    assert depth == metadata.DEEPEST


def test_where_there_is_no_server_there_are_no_grains(serve: Serve) -> None:
    assert metadata_grains(serve({})) == {}
    assert metadata_grains("http://127.0.0.1:1") == {}


def test_servers_are_asked_when_the_option_says_so_alone(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    url = serve(EC2)
    monkeypatch.setattr(metadata, "SERVER", url)
    assert "meta-data" not in collect()
    assert collect(options=GrainsOptions(metadata_server=True))["meta-data"] == GRAINS["meta-data"]
