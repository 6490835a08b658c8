"""Real servers: Redis, PostgreSQL, mail, the system's log, and an HTTP server that keeps what it gets."""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

PG_BIN = next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
TABLES = Path(__file__).resolve().parents[3] / "docs" / "returners.md"


def until(condition, what, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"not in {seconds} s: {what}"
        time.sleep(0.02)


@pytest.fixture
def redis_server(tmp_path):
    """Options of a server that runs."""
    pytest.importorskip("redis")
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("there is no redis-server")
    path = tmp_path / "redis.sock"
    server = subprocess.Popen(
        [program, "--port", "0", "--unixsocket", path, "--save", "", "--dir", tmp_path], stdout=subprocess.DEVNULL
    )
    until(path.exists, "redis")
    yield {"redis.unix_socket_path": str(path)}
    server.terminate()
    server.wait()


@pytest.fixture
def postgres_server():
    """Options of a server that has the tables of docs/returners.md."""
    psycopg = pytest.importorskip("psycopg")
    if PG_BIN is None:
        pytest.skip("there is no PostgreSQL")
    # Not below pytest's folder, which no other user may enter.
    folder = Path(tempfile.mkdtemp(prefix="saltern-pg-"))
    user = {}
    if os.getuid() == 0:  # PostgreSQL refuses to run as root
        import pwd

        nobody = pwd.getpwnam("nobody")
        os.chown(folder, nobody.pw_uid, nobody.pw_gid)
        user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    data = folder / "data"
    subprocess.run([PG_BIN / "initdb", "-D", data, "-U", "salt", "-A", "trust", "-N"], check=True, **quiet, **user)
    server = subprocess.Popen(
        [PG_BIN / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses=", "-c", "fsync=off"], **quiet, **user
    )

    def connects():
        try:
            with psycopg.connect(host=str(folder), user="salt", dbname="postgres", autocommit=True) as connection:
                connection.execute("CREATE DATABASE salt")
        except psycopg.OperationalError:
            return False
        return True

    until(connects, "postgres")
    for database, title in (("salt", "pgjsonb"), ("text", "postgres")):
        if database != "salt":
            with psycopg.connect(host=str(folder), user="salt", dbname="postgres", autocommit=True) as connection:
                connection.execute(f"CREATE DATABASE {database}")
        with psycopg.connect(host=str(folder), user="salt", dbname=database) as connection:
            connection.execute(tables(title))
    yield {
        "returner.pgjsonb.host": str(folder),
        "returner.postgres.host": str(folder),
        "returner.postgres.db": "text",
        "host": str(folder),
    }
    server.terminate()
    server.wait()
    shutil.rmtree(folder)


def tables(title):
    """The SQL below a title of the documentation."""
    text = TABLES.read_text().partition(f"Tables of `{title}`")[2]
    return text.partition("```sql\n")[2].partition("```")[0]


class _Keeper(BaseHTTPRequestHandler):
    def _take(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, answer = self.server.answer(self.command, self.path, body)
        self.server.seen.append((self.command, self.path, dict(self.headers), body))
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = _take  # noqa: N815

    def log_message(self, *args):
        pass


@pytest.fixture
def http_server():
    """An HTTP server: `seen` has the requests, `answer` may be replaced, `url` is where it is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Keeper)
    server.seen = []
    server.answer = lambda method, path, body: (200, {})
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


class Documents:
    """The part of Elasticsearch's API that is used: PUT _doc, _bulk, _search by a match of one field."""

    def __init__(self):
        self.indices = {}

    def __call__(self, method, path, body):
        path = path.partition("?")[0]
        if path == "/_bulk":
            lines = [json.loads(line) for line in body.decode().splitlines()]
            for head, document in zip(lines[::2], lines[1::2], strict=True):
                self.indices.setdefault(head["index"]["_index"], {})[head["index"]["_id"]] = document
            return 200, {"errors": False}
        _, index, verb, *rest = path.split("/")
        if method == "PUT" and verb == "_doc":
            self.indices.setdefault(index, {})[rest[0]] = json.loads(body)
            return 201, {"result": "created"}
        assert verb == "_search"
        [(field, match)] = json.loads(body)["query"]["match"].items()
        found = [one for one in self.indices.get(index, {}).values() if one[field] == match["query"]]
        return 200, {"hits": {"hits": [{"_source": one} for one in found]}}


@pytest.fixture
def documents(http_server):
    """Index -> id -> document, of an HTTP server that speaks the API."""
    http_server.answer = Documents()
    return http_server.answer.indices


@pytest.fixture
def log_socket(tmp_path):
    """A socket like /dev/log."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
        log.bind(str(tmp_path / "log"))
        log.settimeout(30)
        yield log


@pytest.fixture
def mail_server():
    """Host and port, and the mails that came."""
    controller = pytest.importorskip("aiosmtpd.controller")

    class Keep:
        def __init__(self):
            self.mails = []

        async def handle_DATA(self, server, session, envelope):  # noqa: N802
            self.mails.append(envelope)
            return "250 OK"

    keep = Keep()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = controller.Controller(keep, hostname="127.0.0.1", port=port)
    server.start()
    yield port, keep.mails
    server.stop()
