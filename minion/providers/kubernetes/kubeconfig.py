"""Kubeconfig files: the cluster and the user of a context.

Behaviour: https://kubernetes.io/docs/reference/config-api/kubeconfig.v1. A program that hands out credentials (`exec`)
is run when they are needed.
"""

from __future__ import annotations

import base64
import binascii
import functools
import json
import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterAccess:
    """An API server, and what to show it."""

    server: str
    """Its URL."""
    authority: str = ""
    """Certificates of those that may vouch for it, as PEM; empty: the system's."""
    verify: bool = True
    authorization: str = field(default="", repr=False)
    """The header; empty: none is sent."""
    identity: str = field(default="", repr=False)
    """A client's certificate and its key, as PEM."""
    proxy: str = ""
    no_proxy: str = ""
    namespace: str = "default"
    """The one of the context."""

    def changed(self, **values: Any) -> ClusterAccess:
        """The same with other values."""
        return replace(self, **values)


def of_kubeconfig(machine: Reader, files: Sequence[tuple[bytes, str]], context: str) -> ClusterAccess:
    """The access of a context; without a name that of the current one.

    Args:
        files: content and path of each; of what two have, the first's counts.

    Raises:
        StateFailed: there is no such context, or it names what is not there.
    """
    known = _Known(files)
    name = context or known.current
    if not name:
        raise StateFailed("The kubeconfig has no current context: give kubernetes.context")
    chosen, _ = known.entry("context", name)
    cluster, folder = known.entry("cluster", str(chosen.get("cluster", "")))
    if not cluster.get("server"):
        raise StateFailed(f"The cluster {chosen.get('cluster')} of the kubeconfig has no server")
    if cluster.get("tls-server-name"):
        raise StateFailed("tls-server-name of a kubeconfig is not supported: have the server's name in its URL")
    access = ClusterAccess(
        server=str(cluster["server"]),
        authority=_pem(machine, cluster, "certificate-authority", folder),
        verify=not cluster.get("insecure-skip-tls-verify"),
        proxy=str(cluster.get("proxy-url") or ""),
        namespace=str(chosen.get("namespace") or "default"),
    )
    if not chosen.get("user"):
        return access
    user, folder = known.entry("user", str(chosen["user"]))
    return _let_in(machine, access, user, folder)


class _Known:
    """What several files have."""

    def __init__(self, files: Sequence[tuple[bytes, str]]) -> None:
        self.current = ""
        self._entries: dict[tuple[str, str], tuple[Mapping[str, Any], str]] = {}
        for content, path in files:
            read = _parsed(content, path)
            if not isinstance(read, Mapping):
                raise StateFailed(f"The kubeconfig {path} is no mapping")
            self.current = self.current or str(read.get("current-context") or "")
            for kind in ("cluster", "context", "user"):
                for one in read.get(f"{kind}s") or ():
                    self._entries.setdefault((kind, str(one.get("name"))), (one.get(kind) or {}, path))

    def entry(self, kind: str, name: str) -> tuple[Mapping[str, Any], str]:
        """An entry, and the folder that its paths are relative to."""
        if (kind, name) not in self._entries:
            there = ", ".join(sorted(other for of, other in self._entries if of == kind)) or "none"
            raise StateFailed(f"The kubeconfig has no {kind} {name!r}; there are: {there}")
        found, path = self._entries[kind, name]
        return found, posixpath.dirname(path)


@functools.lru_cache(maxsize=8)
def _parsed(content: bytes, path: str) -> Any:
    """A file as it is read for each state of a run. StateFailed: it is no YAML."""
    import yaml

    try:
        return yaml.safe_load(content)
    except yaml.YAMLError as error:
        raise StateFailed(f"The kubeconfig {path} is no YAML: {' '.join(str(error).split())}") from None


def _let_in(machine: Reader, access: ClusterAccess, user: Mapping[str, Any], folder: str) -> ClusterAccess:
    """By the first kind of credentials that the user has; a certificate may come with another."""
    identity = _pem(machine, user, "client-certificate", folder)
    if identity:
        access = access.changed(identity=identity + _pem(machine, user, "client-key", folder))
    if user.get("tokenFile"):
        return access.changed(
            authorization=f"Bearer {pem_of(machine, _joined(folder, str(user['tokenFile']))).strip()}"
        )
    if user.get("token"):
        return access.changed(authorization=f"Bearer {user['token']}")
    if user.get("username"):
        pair = base64.b64encode(f"{user['username']}:{user.get('password') or ''}".encode()).decode()
        return access.changed(authorization=f"Basic {pair}")
    if user.get("exec"):
        return access_by_exec(machine, access, user["exec"])
    if user.get("auth-provider"):
        raise StateFailed("auth-provider of a kubeconfig is not supported: clusters have `exec` in its place")
    return access


def access_by_exec(machine: Reader, access: ClusterAccess, plugin: Mapping[str, Any]) -> ClusterAccess:
    """With the credentials that a program prints. StateFailed: it prints none."""
    if not plugin.get("command"):
        raise StateFailed("exec: there is no command")
    version = str(plugin.get("apiVersion") or "client.authentication.k8s.io/v1")
    asked = {"apiVersion": version, "kind": "ExecCredential", "spec": {"interactive": False}}
    variables = {str(one["name"]): str(one["value"]) for one in plugin.get("env") or ()}
    argv = [str(plugin["command"]), *map(str, plugin.get("args") or ())]
    done = machine.query(argv, env={**variables, "KUBERNETES_EXEC_INFO": json.dumps(asked)})
    if done.returncode != 0:
        hint = plugin.get("installHint") or plugin.get("install_hint") or ""
        said = " ".join(filter(None, [done.stderr.strip()[-300:], str(hint)])) or f"exit code {done.returncode}"
        raise StateFailed(f"{argv[0]} gave no credentials: {said}")
    try:
        status = json.loads(done.stdout)["status"]
    except (ValueError, KeyError, TypeError):
        raise StateFailed(f"{argv[0]} printed no ExecCredential") from None
    identity = f"{status.get('clientCertificateData') or ''}{status.get('clientKeyData') or ''}"
    token = status.get("token")
    return access.changed(
        identity=identity or access.identity, authorization=f"Bearer {token}" if token else access.authorization
    )


def _pem(machine: Reader, entry: Mapping[str, Any], key: str, folder: str) -> str:
    """A certificate or key that an entry holds, or names."""
    data = entry.get(f"{key}-data")
    if data:
        try:
            return base64.b64decode(str(data)).decode() + "\n"
        except (binascii.Error, UnicodeDecodeError):
            raise StateFailed(f"{key}-data of the kubeconfig is not in base64") from None
    return pem_of(machine, _joined(folder, str(entry[key]))) if entry.get(key) else ""


def _joined(folder: str, path: str) -> str:
    return posixpath.join(folder or "/", path)


def pem_of(machine: Reader, path: str) -> str:
    """The text of a file that a configuration names."""
    try:
        return machine.read(path).decode() + "\n"
    except OSError as error:
        raise StateFailed(f"{path} cannot be read: {error.strerror}") from None
