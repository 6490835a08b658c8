"""What stands for Elasticsearch: osmem-server, which serves OpenSearch's API from memory.

Ingest pipelines, stored scripts and repositories, which it has not, are kept here as the published API says; what that
has not is refused.
"""

import importlib.util
import json
import subprocess
import threading
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


def program():
    """Where osmem-server is; None where it is not installed."""
    found = importlib.util.find_spec("osmem_server")
    return None if found is None else Path(found.origin).parent / "bin/osmem-server"


class ElasticsearchServer:
    """`url` is where it answers; `seen` has (method, path with its query) of all requests."""

    def __init__(self) -> None:
        self._behind = subprocess.Popen([program(), "-no-ja", "-no-stdin-watch"], stdout=subprocess.PIPE, text=True)
        behind = json.loads(self._behind.stdout.readline())["url"]
        self._front = ThreadingHTTPServer(("127.0.0.1", 0), _Front)
        self._front.behind, self._front.kept = behind, {"_ingest/pipeline": {}, "_scripts": {}, "_snapshot": {}}
        self._front.seen = self.seen = []
        self.url = f"http://127.0.0.1:{self._front.server_port}"
        self._thread = threading.Thread(target=self._front.serve_forever)
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._front.shutdown()
        self._thread.join()
        self._front.server_close()
        self._behind.kill()
        self._behind.wait()
        self._behind.stdout.close()


_KEYS = {
    "_ingest/pipeline": {"description", "processors", "on_failure", "version", "_meta", "deprecated"},
    "_scripts": {"script"},
    "_snapshot": {"type", "settings", "uuid"},
}
_QUERY = {"master_timeout", "timeout", "if_version", "context", "verify"}


class _Front(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _any(self) -> None:
        self.server.seen.append((self.command, self.path))
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path, _, query = self.path.partition("?")
        kind = next((kind for kind in _KEYS if path.startswith(f"/{kind}/")), None)
        status, answer = self._kept(kind, path, query, body) if kind else self._passed(body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer)

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD = _any  # noqa: N815  (names of http.server)

    def _passed(self, body: bytes) -> tuple[int, bytes]:
        kind = {"Content-Type": self.headers["Content-Type"]} if self.headers["Content-Type"] else {}
        asked = urllib.request.Request(self.server.behind + self.path, body or None, kind, method=self.command)
        try:
            with urllib.request.urlopen(asked, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def _kept(self, kind: str, path: str, query: str, body: bytes) -> tuple[int, bytes]:
        kept, name = self.server.kept[kind], path.rpartition("/")[2]
        unknown = {word.partition("=")[0] for word in query.split("&") if word} - _QUERY
        if unknown:
            return _fault(400, "illegal_argument_exception", f"request [{path}] contains unrecognized parameters")
        if self.command == "PUT":
            return self._put(kind, kept, name, body)
        if name not in kept:
            missing = {"_id": name, "found": False} if kind == "_scripts" else {}
            return 404, json.dumps(missing).encode()
        if self.command == "DELETE":
            del kept[name]
            return 200, b'{"acknowledged":true}'
        return 200, json.dumps(kept[name] if kind == "_scripts" else {name: kept[name]}).encode()

    def _put(self, kind: str, kept: dict, name: str, body: bytes) -> tuple[int, bytes]:
        given = json.loads(body)
        if unknown := given.keys() - _KEYS[kind]:
            return _fault(400, "parse_exception", f"unknown keys {sorted(unknown)}")
        if kind == "_ingest/pipeline":
            if not isinstance(given.get("processors"), list):
                return _fault(400, "parse_exception", "[processors] required property is missing")
            if any(len(each) != 1 for each in given["processors"]):
                return _fault(400, "parse_exception", "a processor has one type")
        if kind == "_scripts":
            script = given["script"]
            if not isinstance(script.get("lang"), str):
                return _fault(400, "illegal_argument_exception", "must specify lang for stored script")
            if isinstance(script["source"], dict):  # the server keeps it as text, and notes what it is
                options = {"content_type": "application/json;charset=utf-8"}
                script = {**script, "source": json.dumps(script["source"], separators=(",", ":")), "options": options}
            given = {"_id": name, "found": True, "script": script}
        kept[name] = given
        return 200, b'{"acknowledged":true}'

    def log_message(self, *args: object) -> None:
        """Nothing."""


def _fault(status: int, kind: str, reason: str) -> tuple[int, bytes]:
    return status, json.dumps({"error": {"type": kind, "reason": reason}, "status": status}).encode()
