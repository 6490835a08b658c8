"""A message with hostile texts, and an HTTP server that plays a service."""

import http.server
import threading

from controller.notifications.notice import Message, Notice

HOSTILE = (
    "web1 <!here> <@U1> @channel @everyone **bold** [x](http://evil.example.org)\r\nBcc: evil@example.org\x00\u202e"
)


def message(action="trigger", **more):
    """A message whose texts a minion and a commit have chosen."""
    given = {
        "id": "group1-0-0",
        "receiver": "there",
        "group": "group1",
        "action": action,
        "severity": "critical",
        "labels": {"kind": "minion_failed", "minion": "web1"},
        "title": HOSTILE,
        "text": f"- {HOSTILE}\nsecond line",
        "revision": "3f2a91c0",
        "commits": {"states": "a" * 40},
        "firing": (Notice(kind="minion_failed", subject="web1", title=HOSTILE, minion="web1"),),
        "counts": (1, 0),
        "at": 1_764_196_000.0,
        "url": "https://saltern.example.org",
    }
    return Message(**{**given, **more})


class Service:
    """What it was asked; what it answers is set by the test."""

    def __init__(self):
        self.asked, self.status, self.headers, self.body = [], 200, {}, b""
        service = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def handle_any(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                service.asked.append((self.command, self.path, dict(self.headers), body))
                self.send_response(service.status)
                for name, value in service.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(service.body)

            do_POST = do_PUT = handle_any  # noqa: N815 - http.server's

            def log_message(self, *arguments):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
