"""A Zabbix frontend: Debian's, with PHP's own web server and a PostgreSQL server of its own.

What watches hosts is not started: the API keeps what it is told in the database.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path
from typing import Any

from postgres_server import PROGRAMS, USER, PostgresServer
from rig import free_ports

FRONTEND, SCHEMA = Path("/usr/share/zabbix"), Path("/usr/share/zabbix-server-pgsql")
_PARTS = ("schema", "images", "data")
_COPIED = ("app", "include", "vendor", "local", "api_jsonrpc.php")


def missing() -> str:
    """What lacks for it; empty where nothing does."""
    if PROGRAMS is None:
        return "there is no PostgreSQL in /usr/lib/postgresql"
    there = (FRONTEND / "api_jsonrpc.php").exists() and (SCHEMA / "schema.sql.gz").exists() and shutil.which("php")
    return "" if there else "zabbix-frontend-php and zabbix-server-pgsql are not installed"


class ZabbixFrontend:
    """It, until `close`."""

    def __init__(self) -> None:
        self._database = PostgresServer()
        self._folder = Path(tempfile.mkdtemp(prefix="saltern-zabbix-"))
        self._psql("postgres", "create database zabbix")
        parts = [gzip.decompress((SCHEMA / f"{part}.sql.gz").read_bytes()).decode() for part in _PARTS]
        self._psql("zabbix", "\n".join(["SET client_min_messages = warning;", *parts]))
        self._psql("zabbix", "analyze")  # without it the frontend's joins take minutes
        for name in _COPIED:
            source = FRONTEND / name
            (shutil.copytree if source.is_dir() else shutil.copy)(source, self._folder / name)
        (self._folder / "conf").mkdir()
        shutil.copy(FRONTEND / "conf/maintenance.inc.php", self._folder / "conf")
        self._configure()
        port = free_ports(1)[0]
        self.url = f"http://127.0.0.1:{port}/api_jsonrpc.php"
        settings = ("-d", "max_execution_time=300", "-d", "memory_limit=256M", "-d", "post_max_size=16M")
        self._php = subprocess.Popen(
            ["php", *settings, "-S", f"127.0.0.1:{port}", "-t", str(self._folder)],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self._token = ""
        end = time.monotonic() + 60
        while not self._token:
            try:
                self._token = self.call("user.login", {"username": "Admin", "password": "zabbix"})
            except OSError:
                assert time.monotonic() < end
                time.sleep(0.2)

    def call(self, method: str, params: Any) -> Any:
        """The result of a method, asked as Admin."""
        body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        if self._token:
            body["auth"] = self._token
        headers = {"Content-Type": "application/json-rpc"}
        request = urllib.request.Request(self.url, data=json.dumps(body).encode(), headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)["result"]

    def close(self) -> None:
        """End it."""
        self._php.terminate()
        self._php.wait()
        self._database.close()
        shutil.rmtree(self._folder)

    def _psql(self, database: str, statements: str) -> None:
        assert PROGRAMS is not None
        command = [str(PROGRAMS / "psql"), "-q", "-h", str(self._database.folder), "-U", USER, "-d", database]
        subprocess.run(
            [*command, "-v", "ON_ERROR_STOP=1"], input=statements, text=True, check=True, stdout=subprocess.DEVNULL,
            env={**os.environ, "PGOPTIONS": "-c synchronous_commit=off"},
        )  # fmt: skip

    def _configure(self) -> None:
        conf = self._folder / "zabbix.conf.php"
        database = {
            "TYPE": "POSTGRESQL", "SERVER": str(self._database.folder), "PORT": "5432", "DATABASE": "zabbix",
            "USER": USER,
            **dict.fromkeys(("PASSWORD", "SCHEMA", "KEY_FILE", "CERT_FILE", "CA_FILE", "CIPHER_LIST"), ""),
            **dict.fromkeys(("VAULT_URL", "VAULT_DB_PATH", "VAULT_TOKEN"), ""),
        }  # fmt: skip
        lines = [f"$DB['{key}'] = '{value}';" for key, value in database.items()]
        lines += ["$DB['ENCRYPTION'] = false;", "$DB['VERIFY_HOST'] = false;", "$DB['DOUBLE_IEEE754'] = true;"]
        lines += ["$ZBX_SERVER_NAME = '';", "$IMAGE_FORMAT_DEFAULT = IMAGE_FORMAT_PNG;"]
        conf.write_text("\n".join(["<?php", *lines, ""]))
        source = self._folder / "include/classes/core/CConfigFile.php"
        source.write_text(re.sub(r"(CONFIG_FILE_PATH = )'[^']*'", rf"\1'{conf}'", source.read_text()))
