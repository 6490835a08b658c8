"""The way to a forge: certificates that are trusted and that are not, redirects, the proxy of the environment."""

from __future__ import annotations

import base64
import datetime
import http.server
import re
import select
import socket
import ssl
import threading

import pytest
import trustme
from forges.all_forges import FAKES
from forges.github import FakeGitHub
from forges.server import Reply

from controller.forges.client import ForgeRefused, ForgeUnavailable

PROJECT = "Org/states"


@pytest.fixture(autouse=True)
def no_proxy_of_this_machine(monkeypatch):
    for name in ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture
def authority(tmp_path):
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "ca.pem")
    return made


@pytest.fixture
def ca_file(authority, tmp_path):
    return str(tmp_path / "ca.pem")


def context_of(authority, host="localhost", **times):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(host, **times).configure_cert(context)
    return context


@pytest.fixture
def make_hub():
    made = []

    def make(context, make_fake=FakeGitHub):
        fake = make_fake()
        fake.behind_tls(context)
        fake.__enter__()
        made.append(fake)
        fake.model.project(PROJECT, alice="write")
        fake.model.open(PROJECT)
        return fake

    yield make
    for each in made:
        each.__exit__()


@pytest.mark.parametrize("name", FAKES)
async def test_an_authority_of_our_own(name, authority, ca_file, make_hub, connect):
    hub = make_hub(context_of(authority), FAKES[name])
    client = connect(hub, ca_file=ca_file)
    assert (await client.pull_request(PROJECT, 1)).number == 1
    await client.create_comment(PROJECT, 1, "text")


YESTERDAY = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
EARLIER = YESTERDAY - datetime.timedelta(days=1)


@pytest.mark.parametrize(
    ("own", "host", "times", "why"),
    [
        (False, "localhost", {}, "(unable to get local issuer|self-signed certificate in)"),
        (True, "git.example.org", {}, "Hostname mismatch"),
        (True, "localhost", {"not_before": EARLIER, "not_after": YESTERDAY}, "certificate has expired"),
    ],
)
async def test_a_certificate_that_is_not_trusted(own, host, times, why, authority, ca_file, make_hub, connect):
    hub = make_hub(context_of(authority, host, **times))
    client = connect(hub, ca_file=ca_file if own else "")
    with pytest.raises(ForgeRefused, match=f"certificate is not trusted .*{why}.*ca_file"):
        await client.create_comment(PROJECT, 1, "text")
    assert not hub.requests, "no token goes there"
    (first, *_) = await client.check_access(PROJECT)
    assert not first.ok
    assert re.search(why, first.detail)


async def test_a_redirect_leads_neither_elsewhere_nor_to_http(authority, ca_file, make_hub, connect):
    hub = make_hub(context_of(authority))
    other = make_hub(context_of(authority))
    client = connect(hub, ca_file=ca_file)
    for target in (other.api, hub.api.replace("https:", "http:"), "//127.0.0.1/x", "https://localhost/x"):
        hub.fault("status", reply=Reply(status=302, headers={"location": f"{target}/repos/Org/states/pulls/1"}))
        with pytest.raises(ForgeRefused, match=r"redirects to .* where our token does not go"):
            await client.pull_request(PROJECT, 1)
    assert not other.requests


class _Proxy(http.server.BaseHTTPRequestHandler):
    """Lets CONNECT through, and remembers all that it sees in the clear."""

    seen: list[str]
    password: str

    def do_CONNECT(self):
        self.seen.append(f"{self.requestline} {self.headers}")
        if self.password and self.headers.get("proxy-authorization") != self.password:
            self.send_response(407)
            self.send_header("content-length", "0")
            self.end_headers()
            return
        host, _, port = self.path.partition(":")
        with socket.create_connection((host, int(port))) as far:
            self.send_response(200)
            self.end_headers()
            self._carry(far)
        self.close_connection = True

    def _carry(self, far):
        near = self.connection
        while ready := select.select([near, far], [], [], 60)[0]:
            for each in ready:
                data = each.recv(65536)
                if not data:
                    return
                (far if each is near else near).sendall(data)

    def do_GET(self):
        self.seen.append(f"{self.requestline} {self.headers}")
        self.send_response(500)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        """Nothing is logged."""


@pytest.fixture
def proxy():
    """Its port, and the class that keeps what it saw."""
    kind = type("Proxy", (_Proxy,), {"seen": [], "password": ""})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), kind) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server.server_address[1], kind
        server.shutdown()
        thread.join()


async def test_https_takes_the_proxy_of_the_environment(authority, ca_file, make_hub, connect, proxy, monkeypatch):
    port, seen = proxy
    seen.password = "Basic " + base64.b64encode(b"me:s3cret").decode()
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:s3cret@127.0.0.1:{port}")
    hub = make_hub(context_of(authority))
    await connect(hub, ca_file=ca_file).pull_request(PROJECT, 1)
    assert len(seen.seen) == 1
    assert hub.token not in str(seen.seen)
    monkeypatch.setenv("NO_PROXY", "localhost")
    await connect(hub, ca_file=ca_file).pull_request(PROJECT, 1)
    assert len(seen.seen) == 1


async def test_a_proxy_that_refuses_is_named_without_its_password(
    authority, ca_file, make_hub, connect, proxy, monkeypatch
):
    port, seen = proxy
    seen.password = "another"
    monkeypatch.setenv("HTTPS_PROXY", f"http://me:s3cret@127.0.0.1:{port}")
    client = connect(make_hub(context_of(authority)), ca_file=ca_file)
    with pytest.raises(ForgeUnavailable, match=r"through the proxy of HTTPS_PROXY \(407") as raised:
        await client.pull_request(PROJECT, 1)
    assert "s3cret" not in str(raised.value)


async def test_http_on_this_machine_takes_no_proxy(connect, proxy, monkeypatch):
    port, seen = proxy
    for name in ("HTTP_PROXY", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{port}")
    with FakeGitHub() as hub:
        hub.model.project(PROJECT)
        hub.model.open(PROJECT)
        await connect(hub).pull_request(PROJECT, 1)
    assert not seen.seen
