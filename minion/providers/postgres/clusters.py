"""Data directories of PostgreSQL, and Debian's clusters (pg_createcluster, pg_lsclusters, pg_dropcluster)."""

from __future__ import annotations

import os
import posixpath
import pwd
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.postgres.session import SYSTEM_USER, fault, program

_WITH_PASSWORD = ("md5", "password", "scram-sha-256")
"""Methods of authentication for which initdb wants a password."""


class DatadirOptions(NamedTuple):
    """What initdb is told."""

    auth: str = "password"
    user: str | None = None
    password: str | None = None
    encoding: str = "UTF8"
    locale: str | None = None
    waldir: str | None = None
    checksums: bool = False
    runas: str | None = None


def has_datadir(machine: Reader, path: str) -> bool:
    """Whether a directory holds the data of a server."""
    return all(machine.stat(posixpath.join(path, name)) is not None for name in ("PG_VERSION", "postgresql.conf"))


def check_datadir_options(machine: Reader, options: DatadirOptions) -> None:
    """StateFailed where initdb is going to refuse them, or is not there."""
    if options.auth in _WITH_PASSWORD and not options.password:
        raise StateFailed(f"auth: {options.auth} needs a password for the superuser")
    if options.password and ("\n" in options.password or "\0" in options.password):
        raise StateFailed("The password of the superuser must be a single line")
    if program(machine, "initdb") is None:
        raise StateFailed("initdb is not there: install PostgreSQL's server, or name its folder by postgres.bins_dir")


def make_datadir(machine: Machine, path: str, options: DatadirOptions) -> None:
    """Have initdb make a directory; StateFailed with what it says."""
    owner = options.runas or SYSTEM_USER
    argv = [
        program(machine, "initdb") or "initdb",
        f"--pgdata={path}",
        f"--username={options.user or owner}",
        f"--auth={options.auth}",
        f"--encoding={options.encoding}",
        *([f"--locale={options.locale}"] if options.locale else []),
        *(["-X", options.waldir] if options.waldir else []),
        *(["--data-checksums"] if options.checksums else []),
    ]
    if options.password:
        # By a pipe of initdb's own user: one of root's could not be opened.
        argv = ["/bin/sh", "-c", 'cat | "$@" --pwfile=/dev/stdin', "sh", *argv]
    same = _uid(owner) == os.geteuid()
    done = machine.run(argv, runas=None if same else owner, stdin=f"{options.password}\n" if options.password else None)
    if done.returncode != 0:
        raise StateFailed(f"Postgres data directory {path} initialization failed: {fault(done)}")


def _uid(user: str) -> int:
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise StateFailed(f"User '{user}' is not available") from None


@dataclass(frozen=True, slots=True, kw_only=True)
class DebianCluster:
    """A cluster, as pg_lsclusters tells it."""

    port: int
    status: str
    user: str
    datadir: str
    log: str

    def as_salt(self) -> dict[str, Any]:
        """As postgres.cluster_list has it."""
        names = ("port", "status", "user", "datadir", "log")
        return {name: getattr(self, name) for name in names}


def clusters(machine: Reader) -> dict[str, DebianCluster]:
    """`version/name` → cluster; StateFailed where there is no pg_lsclusters."""
    done = machine.query(["pg_lsclusters", "--no-header"])
    if done.returncode != 0:
        raise StateFailed(
            "pg_lsclusters is not there: clusters are those of Debian's postgresql-common"
            if done.returncode == 127
            else f"pg_lsclusters: {fault(done)}"
        )
    found = {}
    for line in done.stdout.splitlines():
        version, name, port, status, user, datadir, log = line.split(None, 6)
        found[f"{version}/{name}"] = DebianCluster(
            port=int(port), status=status, user=user, datadir=datadir, log=log.strip()
        )
    return found


class ClusterOptions(NamedTuple):
    """What pg_createcluster is told."""

    port: int | None = None
    locale: str | None = None
    encoding: str | None = None
    datadir: str | None = None
    allow_group_access: bool = False
    data_checksums: bool = False
    wal_segsize: int | None = None


def make_cluster(machine: Machine, version: str, name: str, options: ClusterOptions) -> None:
    """Make a cluster; StateFailed with what pg_createcluster says."""
    given = {
        "--port": options.port,
        "--locale": options.locale,
        "--encoding": options.encoding,
        "--datadir": options.datadir,
    }
    words = [word for option, value in given.items() if value for word in (option, str(value))]
    for_initdb = [
        *(["--allow-group-access"] if options.allow_group_access else []),
        *(["--data-checksums"] if options.data_checksums else []),
        *([f"--wal-segsize={options.wal_segsize}"] if options.wal_segsize else []),
    ]
    rest = ["--", *for_initdb] if for_initdb else []
    _run(machine, ["pg_createcluster", *words, version, name, *rest], f"Failed to create cluster {version}/{name}")


def drop_cluster(machine: Machine, version: str, name: str, *, stop: bool) -> None:
    """Take a cluster away, with its data; StateFailed with what pg_dropcluster says."""
    words = ["pg_dropcluster", *(["--stop"] if stop else []), version, name]
    _run(machine, words, f"Failed to remove cluster {version}/{name}")


def check_cluster_name(version: str, name: str) -> None:
    """StateFailed for what could be taken for an option."""
    if any(not word or word.startswith("-") or "/" in word or " " in word for word in (version, name)):
        raise StateFailed(f"Invalid cluster {version}/{name}")


def _run(machine: Machine, argv: Sequence[str], failed: str) -> None:
    done = machine.run(argv)
    if done.returncode != 0:
        raise StateFailed(f"{failed}: {fault(done)}")
