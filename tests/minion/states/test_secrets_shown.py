"""Passwords that states are given, where whatever the state asks repeats all that it is told: no result, no log and no
list of processes has them.

Programs are ones that print their arguments, their environment and their input as an error; servers answer so, too.
"""

from __future__ import annotations

import base64
import contextlib
import datetime
import http.server
import json
import logging
import os
import re
import socketserver
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, PrivateFormat
from cryptography.x509.oid import NameOID

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.config.group_rules import options_of
from minion.engine.registry import find, names
from minion.engine.results import failed_result
from minion.execution import Context
from minion.execution.state_engine import engine_of
from minion.machine.machine import LocalMachine
from tools.bench.noops import apis, databases

SECRET = re.compile(r"passwd$|password$|password_hash|passphrase|_pass$|api_key$|credentials$|(?:^|_)private_key$")
NONE = frozenset(
    {
        "allow_passwordless",
        "refresh_password",
        "hash_password",
        "enforce_password",
        "empty_password",
        "password_lock",
        "password_reset",
        "private_key",
        "signing_private_key",
        "dns_plugin_credentials",
    }
)
"""No secrets: whether and how, and keys that are named by their path in these cases."""

MORE: Mapping[str, Mapping[str, Any]] = {
    "archive.extracted": {
        "name": "{top}/out",
        "source": "{top}/archive.zip",
        "skip_verify": True,
        "enforce_toplevel": False,
    },
    "git.cloned": {"name": "https{url}/x.git", "target": "{top}/clone", "https_user": "joe"},
    "git.detached": {"name": "https{url}/x.git", "target": "{top}/clone", "rev": "main", "https_user": "joe"},
    "git.latest": {"name": "https{url}/x.git", "target": "{top}/clone", "https_user": "joe"},
    "http.query": {"name": "{url}/x", "username": "joe", "status": 200, "match": "never"},
    "http.wait_for_successful_query": {
        "name": "{url}/x",
        "username": "joe",
        "status": 299,
        "wait_for": 1,
        "request_interval": 1,
    },
    "influxdb_continuous_query.present": {"database": "db", "query": "SELECT 1"},
    "influxdb_continuous_query.absent": {"database": "db"},
    "influxdb_retention_policy.present": {"database": "db"},
    "influxdb_retention_policy.absent": {"database": "db"},
    "kubernetes.configmap_present": {"data": {"a": "b"}},
    "kubernetes.deployment_present": {"metadata": {}, "spec": {}},
    "kubernetes.manifest": {"source": "{top}/manifest.yaml"},
    "kubernetes.manifest_absent": {"source": "{top}/manifest.yaml"},
    "kubernetes.manifest_present": {"source": "{top}/manifest.yaml"},
    "kubernetes.node_annotation_absent": {"node": "n"},
    "kubernetes.node_annotation_folder_absent": {"node": "n"},
    "kubernetes.node_annotation_present": {"node": "n", "value": "a"},
    "kubernetes.node_label_absent": {"node": "n"},
    "kubernetes.node_label_folder_absent": {"node": "n"},
    "kubernetes.node_label_present": {"node": "n", "value": "a"},
    "kubernetes.pod_present": {"spec": {"containers": []}},
    "kubernetes.secret_present": {"data": {"a": "s3cr3t-of-data"}},
    "kubernetes.service_present": {"spec": {"ports": [80]}},
    "mysql_grants.present": {"grant": "select", "database": "d.*", "user": "u"},
    "mysql_grants.absent": {"grant": "select", "database": "d.*", "user": "u"},
    "mysql_query.run": {"database": "d", "query": "SELECT 1"},
    "mysql_query.run_file": {"database": "d", "query_file": "{top}/query.sql"},
    "postgres_initdb.present": {"name": "{top}/data", "auth": "md5"},
    "postgres_language.absent": {"maintenance_db": "d"},
    "postgres_language.present": {"maintenance_db": "d"},
    "postgres_schema.absent": {"dbname": "d"},
    "postgres_schema.present": {"dbname": "d"},
    "postgres_privileges.absent": {"object_name": "t", "object_type": "table", "privileges": ["SELECT"]},
    "postgres_privileges.present": {"object_name": "t", "object_type": "table", "privileges": ["SELECT"]},
    "postgres_tablespace.present": {"directory": "{top}/space"},
    "redis.string": {"value": "v"},
    "redis.slaveof": {"sentinel_host": "127.0.0.1", "sentinel_port": "{port}"},
    "rsync.synchronized": {"name": "{top}", "source": "rsync://joe@127.0.0.1/x"},
    "slack.post_message": {"name": "x", "channel": "#c", "from_name": "n", "message": "m"},
    "user.present": {"name": "saltern-none", "hash_password": True},
    "vault_secret.present": {"name": "secret/x", "values": {"a": "s3cr3t-of-values"}},
    "x509.certificate_managed": {
        "name": "{top}/cert",
        "private_key": "{top}/key",
        "signing_private_key": "{top}/signing",
        "CN": "x",
        "encoding": "pkcs12",
        "signing_cert": "{top}/ca",
    },
    "x509.crl_managed": {
        "name": "{top}/crl",
        "signing_private_key": "{top}/signing",
        "signing_cert": "{top}/ca",
        "revoked": [],
    },
    "x509.csr_managed": {"name": "{top}/csr", "private_key": "{top}/key", "CN": "x"},
    "x509.private_key_managed": {"name": "{top}/new"},
    "zabbix_user.present": {"alias": "joe", "usrgrps": ["7"], "medias": []},
}
"""What else a function wants."""

IN_ARGUMENTS = frozenset({"git.cloned", "git.detached", "git.latest"})
"""docs/limitations.md says so: git itself hands addresses to its own programs as arguments."""

IN_ENVIRONMENT = frozenset({"PGPASSWORD", "MYSQL_PWD", "RSYNC_PASSWORD"})
"""Variables by which programs are told a password: their user and root alone may read them (proc(5), environ)."""

PROGRAMS = [
    "psql",
    "mysql",
    "mariadb",
    "rabbitmqctl",
    "rabbitmq-plugins",
    "redis-cli",
    "influx",
    "rsync",
    "certbot",
    "git",
    "initdb",
    "createdb",
    "unzip",
    "useradd",
    "usermod",
    "chpasswd",
    "passwd",
    "runuser",
    "su",
    "kubectl",
    "helm",
    "docker",
]
REPEATS = """#!/bin/sh
echo "ERROR: arguments: $*" >&2
case "$0" in *psql|*mysql|*mariadb|*rabbitmq*|*initdb|*chpasswd|*runuser) echo "LINE 1: $(timeout 5 cat)" >&2 ;; esac
exit 1
"""


class Repeating(http.server.BaseHTTPRequestHandler):
    """Answers each request by an error that has all of it."""

    def answer(self) -> None:
        sent = self.rfile.read(int(self.headers.get("content-length") or 0)).decode("utf-8", "replace")
        told = f"{self.path} {self.headers} {sent}"
        kinds = {"error": told, "message": told, "errors": [told], "reason": told, "ok": False, "status": "Failure"}
        body = json.dumps(kinds).encode()
        self.send_response(400, "Bad")
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_LIST = answer  # noqa: N815  (as the server's class has them)

    def log_message(self, *_: object) -> None:
        pass


class Lines(socketserver.StreamRequestHandler):
    """Answers each command of Redis by an error that has it."""

    def handle(self) -> None:
        while data := self.request.recv(65536):
            self.request.sendall(b"-ERR " + data.replace(b"\r\n", b" ") + b"\r\n")


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[int, int]]:
    """Ports: of HTTP, and of lines."""
    with (
        http.server.ThreadingHTTPServer(("127.0.0.1", 0), Repeating) as web,
        socketserver.ThreadingTCPServer(("127.0.0.1", 0), Lines) as lines,
    ):
        lines.daemon_threads = True
        for one in (web, lines):
            threading.Thread(target=one.serve_forever, daemon=True).start()
        yield web.server_port, lines.server_address[1]
        web.shutdown()
        lines.shutdown()


@pytest.fixture
def repeating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs of the names that states run."""
    for name in PROGRAMS:
        path = tmp_path / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(REPEATS)
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    monkeypatch.setenv("no_proxy", "127.0.0.1")


STARTED: list[tuple[str, Mapping[str, str]]] = []
"""Arguments and variables of each process that was started."""


def _audit(event: str, given: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        STARTED.append((str(given[1]), {str(name): str(one) for name, one in (given[3] or {}).items()}))


@pytest.fixture(scope="module", autouse=True)
def audited() -> None:
    """From here on each process that this one starts is noted."""
    sys.addaudithook(_audit)


def secrets_of(fun: str) -> dict[str, str]:
    state, _, name = fun.partition(".")
    found = [one for one in find(state, name, "").spec.parameters if SECRET.search(one) and one not in NONE]
    return {one: f"s3cr3t-of-{one}" for one in found}


SAME = frozenset({"mongodb_database.absent", "mongodb_user.absent"})
"""Connect as `mongodb_user.present` does, and wait for long where nothing answers."""

FUNCTIONS = [fun for fun in names() if (secrets_of(fun) or "s3cr3t" in str(MORE.get(fun))) and fun not in SAME]


def placed(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, Mapping):
        return {key: placed(one, words) for key, one in value.items()}
    return [placed(one, words) for one in value] if isinstance(value, list) else value


def applied(fun: str, arguments: Mapping[str, Any], opts: Mapping[str, Any], *, test: bool) -> Any:
    state, _, name = fun.partition(".")
    given = dict(arguments)
    chunk = Chunk(
        state=state,
        fun=name,
        id="x",
        name=given.pop("name", "x"),
        sls="s",
        order=1,
        arguments=given,
    )
    context = Context(
        minion_id="m",
        opts={"id": "m", **opts},
        make_grains=lambda: {"id": "m"},
        make_files=lambda: MemoryFiles({"base": {}}),
        options=options_of(dict(opts)),
    )
    machine = LocalMachine(
        sources_port=MemoryFiles({"base": {}}),
        minion_id="m",
        grains=context.grains,
        opts=context.opts,
        functions=context.functions,
    )
    [result] = run({"x": chunk}, engine_of(context, machine, test=test), test=test, clock=time.time).values()
    return result


def authority(folder: Path) -> None:
    """A key, and an authority with its own; both encrypted by what the arguments say."""
    for name, of in (("key", "private_key"), ("signing", "signing_private_key")):
        key = ec.generate_private_key(ec.SECP256R1())
        locked = BestAvailableEncryption(f"s3cr3t-of-{of}_passphrase".encode())
        (folder / name).write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, locked))
    called = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "ca")])
    now = datetime.datetime.now(datetime.UTC)
    made = x509.CertificateBuilder().subject_name(called).issuer_name(called).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now).not_valid_after(now + datetime.timedelta(9))
    made = made.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    (folder / "ca").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM))


def shown_nowhere(text: str) -> None:
    for word in ["s3cr3t", *re.findall(r"[A-Za-z0-9+/]{12,}={0,2}", text)]:
        with contextlib.suppress(ValueError):
            assert "s3cr3t" not in base64.b64decode(word).decode("utf-8", "replace")
    assert "s3cr3t" not in text


@pytest.mark.usefixtures("repeating")
@pytest.mark.parametrize("fun", FUNCTIONS)
def test_a_password_is_repeated_by_nobody(
    fun: str, tmp_path: Path, servers: tuple[int, int], caplog: pytest.LogCaptureFixture
) -> None:
    web, lines = servers
    words = {
        "{top}": str(tmp_path),
        "https{url}": f"https://127.0.0.1:{web}",
        "{url}": f"http://127.0.0.1:{web}",
        "{port}": str(lines),
    }
    if fun.startswith("x509"):
        authority(tmp_path)
    for name in ("archive.zip", "query.sql", "manifest.yaml"):
        (tmp_path / name).write_text(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n" if "yaml" in name else "x"
        )
    state = find(fun.partition(".")[0], fun.partition(".")[2], "")
    reached = {
        "host": "127.0.0.1",
        "port": lines,
        "db_host": "127.0.0.1",
        "connection_host": "127.0.0.1",
        "influxdb_host": "127.0.0.1",
        "influxdb_port": web,
        "kubeconfig": None,
        "user": "nobody",
        "db_user": "joe",
    }
    arguments = {key: one for key, one in reached.items() if key in state.spec.parameters and one is not None}
    if fun.startswith(("mysql_user", "rabbitmq", "user", "zabbix", "slack", "postgres_initdb")):
        arguments = {key: one for key, one in arguments.items() if key not in ("host", "port", "user")}
    if fun.startswith("kubernetes"):
        arguments["host"] = f"http://127.0.0.1:{web}"
    arguments |= {**secrets_of(fun), **placed(MORE.get(fun, {}), words)}
    opts = {
        "kubernetes.host": f"http://127.0.0.1:{web}",
        "vault": {
            "server": {"url": f"http://127.0.0.1:{web}"},
            "auth": {"token": "s3cr3t-of-vault"},
            "config_location": "local",
        },
        "zabbix.url": f"http://127.0.0.1:{web}",
        "zabbix.password": "s3cr3t-of-zabbix",
        "zabbix.user": "Admin",
        "rabbitmq.node": "x@y",
        "slack.api_key": "s3cr3t-of-slack",
    }
    caplog.set_level(logging.DEBUG)
    STARTED.clear()
    for test in (True, False):
        with mock.patch.dict(os.environ, {"SLACK_URL": f"http://127.0.0.1:{web}"}):
            result = applied(fun, arguments, opts, test=test)
        shown_nowhere(f"{result.comment} {result.changes} {result.name}")
        if fun.startswith("x509"):
            assert result.result is (None if test else True), result
    shown_nowhere(caplog.text)
    assert any("s3cr3t" in argv for argv, _ in STARTED) == (fun in IN_ARGUMENTS), STARTED
    told = {name for _, variables in STARTED for name, one in variables.items() if "s3cr3t" in one}
    assert told <= IN_ENVIRONMENT


FAMILIES = {"postgres": databases.postgres, "mysql": databases.mysql, "rabbitmq": apis.rabbitmq}
"""Real servers."""


@pytest.mark.skipif(os.geteuid() != 0, reason="it starts servers as their own users")
@pytest.mark.timeout(300)
@pytest.mark.parametrize("family", FAMILIES)
def test_a_password_that_is_set_is_shown_nowhere(family: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    tried = []
    with FAMILIES[family]() as states:
        for one in states:
            if not any(SECRET.search(key) and key not in NONE for key in one.arguments):
                continue
            STARTED.clear()
            for secret in ("s3cr3t-of-now", "s3cr3t-of-then", "s3cr3t-of-then"):
                given = {key: secret if key in ("password", "passwd") else each for key, each in one.arguments.items()}
                for test in (True, False):
                    result = applied(one.fun, {"name": one.name, **given}, one.opts, test=test)
                    assert result.result is not False, result
                    shown_nowhere(f"{result.comment} {result.changes}")
            assert result.changes == {}
            tried.append(one.fun)
            assert [argv for argv, _ in STARTED if "s3cr3t" in argv] == []
            told = {name for _, variables in STARTED for name, each in variables.items() if "s3cr3t" in each}
            assert told <= IN_ENVIRONMENT
    shown_nowhere(caplog.text)
    assert tried == [f"{family}_user.present"]


def test_what_a_failure_repeats_is_taken_out() -> None:
    chunk = Chunk(
        state="postgres_user",
        fun="present",
        id="x",
        name="joe",
        sls="s",
        order=1,
        arguments={"password": "s3cr3t-1", "db_password": "postgres", "db_user": "postgres", "private_key": "/etc/key"},
    )
    said = "LINE 1: ALTER ROLE postgres PASSWORD 's3cr3t-1'; /etc/key"
    assert failed_result(chunk, said).comment == "LINE 1: ALTER ROLE postgres PASSWORD '<secret>'; /etc/key"
    vault = Chunk(
        state="vault_secret",
        fun="present",
        id="x",
        name="a",
        sls="s",
        order=1,
        arguments={"values": {"b": ["s3cr3t-2"]}},
    )
    assert failed_result(vault, "no s3cr3t-2").comment == "no <secret>"
