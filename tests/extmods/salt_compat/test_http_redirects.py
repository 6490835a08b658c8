"""`http.query` follows redirects, and takes no credentials to another host."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from extmods.salt_compat.utils import http


class Server(BaseHTTPRequestHandler):
    elsewhere = ""
    seen = ()

    def do_GET(self):
        Server.seen = (*Server.seen, self.path)
        self.send_response(302 if self.path != "/end" else 200)
        target = "/end" if self.path == "/same" else f"{self.elsewhere}/end"
        if self.path != "/end":
            self.send_header("Location", target)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *words):
        pass


@pytest.fixture
def servers():
    both = [ThreadingHTTPServer(("127.0.0.1", 0), Server) for _ in range(2)]
    threads = [threading.Thread(target=one.serve_forever, daemon=True) for one in both]
    for thread in threads:
        thread.start()
    first, second = (f"http://127.0.0.1:{one.server_address[1]}" for one in both)
    Server.elsewhere, Server.seen = second, ()
    yield first
    for one in both:
        one.shutdown()
        one.server_close()
    for thread in threads:
        thread.join()


def test_redirects_are_followed(servers):
    assert http.query(f"{servers}/same", username="u", password="p") == {"body": "ok"}
    assert http.query(f"{servers}/other") == {"body": "ok"}


@pytest.mark.parametrize(
    "given", [{"username": "u"}, {"header_dict": {"X-Api-Key": "k"}}, {"header_list": ["Cookie: c"]}]
)
def test_credentials_stay_with_their_host(servers, given):
    answer = http.query(f"{servers}/other", **given)
    assert "would take credentials there" in answer["error"]
    assert Server.seen == ("/other",)
