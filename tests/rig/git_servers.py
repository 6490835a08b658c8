"""Real servers of git on this machine, for tests: git's own CGI program, behind nginx or not, and Git LFS.

Called by the fixtures of tests/gitfs. Listens on the loopback alone and writes into the folders that it is given.
"""

from __future__ import annotations

import base64
import contextlib
import fcntl
import os
import shutil
import socket
import ssl
import subprocess
import threading
import time
import venv
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from rig import free_ports

USER, PASSWORD = "reader", "s3cret-word"
PATIENCE = 60.0
"""Seconds until a server has to listen."""


class Backend(BaseHTTPRequestHandler):
    """git's own CGI program behind basic authentication."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # its small answers would wait 40 ms for the acknowledgement of the one before
    server: Server

    def do_GET(self) -> None:
        """See `_answer`."""
        self._answer()

    def do_POST(self) -> None:
        """See `_answer`."""
        self._answer()

    def log_message(self, *_: Any) -> None:
        """Says nothing."""

    def is_let_in(self) -> bool:
        """Whether the right user asks."""
        wanted = "Basic " + base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
        return bool(self.headers.get("Authorization") == wanted)

    def _answer(self) -> None:
        body = self._body()
        if not self.is_let_in():
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "REMOTE_USER": USER,
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().splitlines())
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body


class Server(ThreadingHTTPServer):
    """A server over the repositories of a folder."""

    daemon_threads = True
    root: Path

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing: a client that hangs up over our certificate is what some tests are about."""


@contextlib.contextmanager
def serving(
    root: Path,
    context: ssl.SSLContext | None = None,
    handler: type[BaseHTTPRequestHandler] = Backend,
    *,
    port: int = 0,
) -> Iterator[int]:
    """The port of a server over `root`, with TLS where there is a context."""
    server = Server(("127.0.0.1", port), handler)
    server.root = root
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """One process of the tests at a time makes what is kept in the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def find_nginx(cache: Path) -> str | None:
    """nginx of this machine, or Debian's, unpacked below `cache` without being installed; None where neither is."""
    installed = shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin:/usr/local/sbin")
    if installed or shutil.which("apt-get") is None or shutil.which("dpkg-deb") is None:
        return installed
    program = cache / "usr/sbin/nginx"
    with locked(cache):
        if not program.exists():
            subprocess.run(["apt-get", "-q", "download", "nginx"], cwd=cache, check=False, capture_output=True)
            for package in cache.glob("nginx_*.deb"):
                subprocess.run(["dpkg-deb", "-x", package, cache], check=False, capture_output=True)
    works = program.exists() and subprocess.run([program, "-v"], check=False, capture_output=True).returncode == 0
    return str(program) if works else None


@contextlib.contextmanager
def nginx(program: str, folder: Path, upstream: int, directives: Sequence[str], *, asks: bool = True) -> Iterator[int]:
    """The port of an nginx with TLS before a server; its files and logs are in `folder`.

    Args:
        program: nginx.
        folder: has `server.pem`, a certificate with its key.
        upstream: port of the server behind it.
        directives: more lines of its `server` block.
        asks: whether it wants the password.
    """
    (folder / "users").write_text(f"{USER}:{{PLAIN}}{PASSWORD}\n")
    (port,) = free_ports(1)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    lines = [
        "daemon off; master_process off; pid pid; error_log error.log; events {}",
        "http { access_log access.log;",
        *(f"{kind}_temp_path {kind};" for kind in kinds),
        f"server {{ listen 127.0.0.1:{port} ssl; server_name localhost;",
        "ssl_certificate server.pem; ssl_certificate_key server.pem;",
        f"auth_basic {'git' if asks else 'off'}; auth_basic_user_file {folder}/users; client_max_body_size 0;",
        *directives,
        f"location / {{ proxy_pass http://127.0.0.1:{upstream}; }} }} }}",
    ]
    (folder / "nginx.conf").write_text("\n".join(lines) + "\n")
    server = subprocess.Popen(
        [program, "-p", str(folder), "-c", "nginx.conf", "-e", str(folder / "error.log")], stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port, server)
        yield port
    finally:
        server.terminate()
        server.wait()


def wait_for(port: int, server: subprocess.Popen[Any]) -> None:
    """Wait until the server listens on the port."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{server.args} does not listen on {port}") from None
            time.sleep(0.02)
        else:
            return


GIFTLESS = (
    *("giftless==0.6.2", "flask", "flask-marshmallow", "flask-classful", "marshmallow-enum", "webargs", "figcan"),
    *("pyyaml", "python-dateutil", "pyjwt", "cryptography", "cachetools", "python-dotenv", "typing-extensions"),
)
"""What giftless needs; its own package does not say."""


def find_giftless(cache: Path) -> str | None:
    """Python of an environment that has giftless: that of SALTERN_GIFTLESS, or one made in `cache`; None without."""
    folder = Path(os.environ.get("SALTERN_GIFTLESS") or cache)
    python = folder / "bin/python"
    check = [str(python), "-c", "import giftless.app, jwt"]
    with locked(cache):
        if not python.exists():
            venv.create(folder, with_pip=True)
        if subprocess.run(check, check=False, capture_output=True).returncode:
            pip = [python, "-m", "pip", "--disable-pip-version-check", "-q", "--timeout", "10"]
            subprocess.run([*pip, "install", *GIFTLESS], check=False, capture_output=True)
        return str(python) if subprocess.run(check, check=False, capture_output=True).returncode == 0 else None


@contextlib.contextmanager
def giftless(python: str, folder: Path, key: str) -> Iterator[int]:
    """The port of giftless, with its contents and its faults (see giftless_server.py) in the folder."""
    (port,) = free_ports(1)
    script = Path(__file__).with_name("giftless_server.py")
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen([python, str(script), str(port), str(folder), key], stdout=log, stderr=log)
    try:
        wait_for(port, server)
        yield port
    finally:
        server.terminate()
        server.wait()
