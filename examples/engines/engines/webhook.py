"""An engine that takes POST requests, and fires an event `salt/engines/hook/PATH` for each.

    engines:
    - webhook: {port: 8123, token: "..."}

A request needs the header `Authorization: Bearer TOKEN`. Its body, JSON, is below `post` of the event's data.
"""

import hmac
import http.server
import json

MOST_BYTES = 65536


def start(port, token, address="127.0.0.1"):
    """Serve until the controller stops."""

    class Hook(http.server.BaseHTTPRequestHandler):
        timeout = 10

        def do_POST(self):
            given = self.headers.get("Authorization", "")
            size = int(self.headers.get("Content-Length") or 0)
            if not hmac.compare_digest(given.encode(), f"Bearer {token}".encode()):
                self.send_error(401)
            elif size > MOST_BYTES:
                self.send_error(413)
            else:
                self.take(self.rfile.read(size))

        def take(self, body):
            try:
                post = json.loads(body)
            except ValueError:
                self.send_error(400)
                return
            __salt__["event.send"](f"salt/engines/hook/{self.path.strip('/')}", {"post": post})
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args):
            """Requests are no news; the event is."""

    with http.server.ThreadingHTTPServer((address, int(port)), Hook) as server:
        server.serve_forever()
