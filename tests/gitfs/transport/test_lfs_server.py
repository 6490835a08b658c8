from __future__ import annotations

import contextlib
import hashlib
import json
import ssl
from http.server import BaseHTTPRequestHandler

import pytest
import trustme
from git_servers import serving

from gitfs.config.credentials import SecretFrom
from gitfs.config.settings import RemoteSettings
from gitfs.transport.callbacks import _is_same_server
from gitfs.transport.lfs_server import LfsFailed, LfsServer

CONTENT = b"large\x00" * 5000
OID = hashlib.sha256(CONTENT).hexdigest()
TOKEN = "t0ken-of-ours"
TICKET = "Bearer of-the-store"


def handler(seen, links):
    """A server that notes who came with what; `links` says where its answers lead: batch -> URL, path -> URL."""

    class Noting(BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self._note()
            download = {"href": links["batch"], "header": links.get("header", {})}
            objects = [{"oid": OID, "size": len(CONTENT), "actions": {"download": download}}]
            self._say(200, json.dumps({"objects": objects}).encode())

        def do_GET(self):
            self._note()
            if self.path in links:
                self._say(302, b"", links[self.path])
            else:
                self._say(200, CONTENT)

        def _note(self):
            certificate = self.connection.getpeercert()
            seen.append((self.headers["Host"], self.path, bool(certificate), self.headers.get("Authorization")))

        def _say(self, status, body, location=None):
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            if location:
                self.send_header("Location", location)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Noting


@pytest.fixture
def two(tmp_path):
    """(port of the remote's own server, port of another, what both saw, where they lead, options of the remote)."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    ours = authority.issue_cert("controller.example.org")
    ours.private_key_and_cert_chain_pem.write_to_path(tmp_path / "ours.pem")
    (tmp_path / "token").write_text(TOKEN)
    options = {"ssl_verify": str(tmp_path / "ca.pem"), "ssl_cert": str(tmp_path / "ours.pem")}
    seen, links = [], {}
    with contextlib.ExitStack() as stack:
        ports = []
        for _ in range(2):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
            authority.configure_trust(context)
            context.verify_mode = ssl.CERT_OPTIONAL  # asks everybody for a certificate, takes those who have none
            ports.append(stack.enter_context(serving(tmp_path, context, handler(seen, links))))
        yield *ports, seen, links, {**options, "token": SecretFrom("file", str(tmp_path / "token"))}


def received(port, options, tmp_path):
    settings = RemoteSettings(name="far", url=f"https://localhost:{port}/infra.git", **options)
    with (tmp_path / "got").open("wb") as file:
        LfsServer(settings).sources({OID: len(CONTENT)})[OID](file, len(CONTENT))
    return (tmp_path / "got").read_bytes()


def test_the_remotes_own_server_is_shown_all(two, tmp_path):
    own, _, seen, links, options = two
    links["batch"] = f"https://localhost:{own}/store"
    assert received(own, options, tmp_path) == CONTENT
    assert [(certificate, shown) for _, _, certificate, shown in seen] == [(True, f"Bearer {TOKEN}")] * 2


@pytest.mark.parametrize("elsewhere", ["another port", "another name"])
@pytest.mark.parametrize("redirected", [False, True])
def test_another_server_is_shown_no_certificate_and_no_token(two, tmp_path, elsewhere, redirected):
    own, other, seen, links, options = two
    stranger = f"https://localhost:{other}/store" if elsewhere == "another port" else f"https://127.0.0.1:{own}/store"
    links["batch"] = f"https://localhost:{own}/moved" if redirected else stranger
    links["/moved"] = stranger
    assert received(own, options, tmp_path) == CONTENT
    *ours, (host, path, certificate, shown) = seen
    assert (host, path) == (stranger.removeprefix("https://").removesuffix("/store"), "/store")
    assert not certificate
    assert shown is None
    assert all(certificate and shown == f"Bearer {TOKEN}" for _, _, certificate, shown in ours)


def test_what_a_store_wants_to_see_goes_no_further_than_that_store(two, tmp_path):
    own, other, seen, links, options = two
    links |= {"batch": f"https://localhost:{other}/moved", "header": {"Authorization": TICKET}}
    links["/moved"] = f"https://127.0.0.1:{other}/store"
    assert received(own, options, tmp_path) == CONTENT
    assert [shown for *_, shown in seen] == [f"Bearer {TOKEN}", TICKET, None]
    assert [certificate for _, _, certificate, _ in seen] == [True, False, False]


@pytest.mark.parametrize("redirected", [False, True])
def test_nothing_of_this_machine_is_asked_for_contents(two, tmp_path, redirected):
    own, other, seen, links, options = two
    inside = f"https://127.0.0.2:{other}/store"
    links["batch"] = f"https://localhost:{own}/moved" if redirected else inside
    links["/moved"] = inside
    with pytest.raises(LfsFailed, match=r"127.0.0.2 leads to 127.0.0.2, inside this machine or link"):
        received(own, options, tmp_path)
    assert all(host == f"localhost:{own}" for host, *_ in seen)


@pytest.mark.parametrize(
    ("configured", "asking", "same"),
    [
        ("https://git.example.org/x", "https://git.example.org:443/y", True),
        ("http://git.example.org/x", "https://git.example.org/x", True),
        ("http://git.example.org/x", "https://git.example.org:8443/x", False),
        ("http://git.example.org:8080/x", "https://git.example.org/x", False),
        ("https://git.example.org/x", "http://git.example.org/x", False),
        ("https://git.example.org/x", "https://git.example.org:8443/x", False),
        ("https://git.example.org/x", "https://example.org/x", False),
    ],
)
def test_whom_git_shows_credentials(configured, asking, same):
    assert _is_same_server(configured, asking) is same
