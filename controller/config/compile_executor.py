"""The options `compile_executor…`: where compiles are done, beside this machine. Called by `settings`.

A cluster sees pillars with their secrets, so that its connection is encrypted, or stays on this machine.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeAlias

from options.kinds import Prepare, Wanted

LOCAL = "local"
_ADDRESS = re.compile(r"(dask|tls)://(?P<host>\[[0-9a-fA-F:]+\]|[A-Za-z0-9._-]+):(?P<port>[0-9]{1,5})")
_FORMS = "`local`, dask://HOST:PORT (of this machine) or tls://HOST:PORT"


def _executor(value: Any) -> Any:
    if value in (LOCAL, "", None):
        return LOCAL
    found = _ADDRESS.fullmatch(value) if isinstance(value, str) else None
    if found is None or not 0 < int(found["port"]) < 65536:
        raise ValueError
    return value


CompileExecutor: TypeAlias = Annotated[str, Wanted(_FORMS), Prepare(_executor)]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutorOptions:
    """Where a cluster is, and by which certificates its machines know each other."""

    address: str = LOCAL
    tls_ca: Path | None = None
    tls_cert: Path | None = None
    tls_key: Path | None = None

    @property
    def is_local(self) -> bool:
        """Whether there is no cluster."""
        return self.address == LOCAL

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection is by TLS."""
        return self.address.startswith("tls://")

    @property
    def scheduler(self) -> str:
        """The address as Dask writes it."""
        return self.address if self.is_encrypted else "tcp://" + self.address.partition("://")[2]

    def may_use(self, worker: str) -> bool:
        """Whether trees and pillars may be sent to a worker with this address of Dask's."""
        scheme, _, place = worker.partition("://")
        return scheme == "tls" if self.is_encrypted else _is_loopback(place.rpartition(":")[0])

    def faults(self) -> list[tuple[str, str, str]]:
        """(option, what is wrong, what to do) of what cannot be used."""
        if self.is_local:
            return []
        given = {"ca": self.tls_ca, "cert": self.tls_cert, "key": self.tls_key}
        lacking = [f"compile_executor_tls_{name}" for name, path in given.items() if path is None]
        if self.is_encrypted and lacking:
            return [(lacking[0], f"{self.address} needs {', '.join(lacking)}", "see docs/compile-workers.md")]
        if not self.is_encrypted and not _on_this_machine(self.address):
            hint = f"write {self.address.replace('dask://', 'tls://')}, with compile_executor_tls_ca, _cert and _key"
            text = f"{self.address} is another machine, and pillars would go there in plain text"
            return [("compile_executor", text, hint)]
        if not self.is_encrypted and len(lacking) < len(given):
            text = f"{self.address} is not encrypted: certificates are for tls://HOST:PORT"
            return [("compile_executor", text, "write tls:// or remove them")]
        return []

    def missing(self) -> list[tuple[str, str, str]]:
        """The same of what this machine lacks for it: files, and Dask. Looks at the disk."""
        if self.is_local:
            return []
        given = {"ca": self.tls_ca, "cert": self.tls_cert, "key": self.tls_key}
        unread = [(name, path) for name, path in given.items() if path is not None and not path.is_file()]
        faults = [
            (f"compile_executor_tls_{name}", f"there is no file {path}", "name the PEM file") for name, path in unread
        ]
        if importlib.util.find_spec("distributed") is None:
            text = f"{self.address} needs Dask, which is not installed"
            faults.append(("compile_executor", text, "pip install 'saltern[dask]'"))
        return faults


def _on_this_machine(address: str) -> bool:
    found = _ADDRESS.fullmatch(address)
    return found is not None and _is_loopback(found["host"])


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"
