"""Functions of `postgres` about data directories, and Debian's clusters."""

from __future__ import annotations

from typing import Any

from minion.execution.context import Context
from minion.providers.postgres import clusters
from minion.providers.postgres.clusters import ClusterOptions, DatadirOptions


def datadir_exists(context: Context, name: str) -> bool:
    """Whether a directory holds the data of a server."""
    return clusters.has_datadir(context.machine, name)


def datadir_init(
    context: Context, name: str, auth: str = "password", user: str | None = None, password: str | None = None,
    encoding: str = "UTF8", locale: str | None = None, waldir: str | None = None, checksums: bool = False,
    runas: str | None = None,
) -> bool:  # fmt: skip
    """Make a data directory by initdb; false when it is one."""
    if clusters.has_datadir(context.machine, name):
        return False
    options = DatadirOptions(auth, user, password, encoding, locale, waldir, checksums, runas)
    clusters.check_datadir_options(context.machine, options)
    clusters.make_datadir(context.machine, name, options)
    return True


def cluster_list(context: Context, verbose: bool = False) -> Any:
    """Names of Debian's clusters, as `15/main`; with `verbose` port, status, user, directory and log of each."""
    found = clusters.clusters(context.machine)
    return {name: one.as_salt() for name, one in found.items()} if verbose else list(found)


def cluster_exists(context: Context, version: str, name: str = "main") -> bool:
    """Whether there is a cluster."""
    return f"{version}/{name}" in clusters.clusters(context.machine)


def cluster_create(
    context: Context, version: str, name: str = "main", port: int | None = None, locale: str | None = None,
    encoding: str | None = None, datadir: str | None = None, allow_group_access: bool = False,
    data_checksums: bool = False, wal_segsize: int | None = None,
) -> bool:  # fmt: skip
    """Make a cluster by pg_createcluster."""
    clusters.check_cluster_name(version, name)
    options = ClusterOptions(port, locale, encoding, datadir, allow_group_access, data_checksums, wal_segsize)
    clusters.make_cluster(context.machine, version, name, options)
    return True


def cluster_remove(context: Context, version: str, name: str = "main", stop: bool = False) -> bool:
    """Take a cluster away, with its data; one that runs has to be stopped (`stop`)."""
    clusters.check_cluster_name(version, name)
    clusters.drop_cluster(context.machine, version, name, stop=stop)
    return True
