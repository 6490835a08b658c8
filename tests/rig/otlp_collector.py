"""What takes traces by OTLP over HTTP, on the loopback."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


class Collector:
    """An HTTP server that takes OTLP, or refuses it."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.services: set[str] = set()
        self.refuses = False
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                self.send_response(400 if collector.refuses else 200)
                self.end_headers()
                if not collector.refuses:
                    collector.take(ExportTraceServiceRequest.FromString(body))

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.endpoint = f"http://127.0.0.1:{self._server.server_address[1]}/v1/traces"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Collector:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self, request: ExportTraceServiceRequest) -> None:
        """Keep what came."""
        for resource in request.resource_spans:
            self.services |= {each.value.string_value for each in resource.resource.attributes}
            self.spans += [span for scope in resource.scope_spans for span in scope.spans]
