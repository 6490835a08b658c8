"""The settings of one forge, and the types of its options. Read by `controller.config.forges`.

Secrets are never shown: neither by `repr` nor in a fault.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, TypeAlias
from urllib.parse import urlsplit

from controller.forges.kind_names import ForgeKind
from gitfs.config.credentials import SecretFrom, parse_secret
from options.kinds import Folder, OptionText, Prepare, Seconds, Wanted

ForgeSecret: TypeAlias = str | SecretFrom
"""A secret, or where it stands."""


def _secret(value: Any) -> Any:
    if value == "":
        raise ValueError("no empty text")
    return parse_secret(value)


def _address(value: Any) -> Any:
    """An https address; http on this machine alone, because the token goes with each request."""
    if not isinstance(value, str):
        raise ValueError
    try:
        parts = urlsplit(value)
        port_is_valid = parts.port is None or parts.port > 0
    except ValueError:
        raise ValueError from None
    if (
        not parts.hostname
        or not port_is_valid
        or parts.query
        or parts.fragment
        or parts.scheme not in ("https", "http")
    ):
        raise ValueError
    if parts.username is not None:
        raise ValueError("an address without user and password, which stand in `user` and `token`")
    if parts.scheme == "http" and not is_this_machine(parts.hostname):
        raise ValueError("an https address, because the token goes with each request")
    return value.rstrip("/")


def is_this_machine(host: str) -> bool:
    """Whether a host is this machine by its name or address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _projects(value: Any) -> Any:
    if not isinstance(value, Mapping) or not all(isinstance(each, str) and each.strip("/") for each in value.values()):
        raise ValueError
    return {remote: project.strip("/") for remote, project in value.items()}


SecretText: TypeAlias = Annotated[ForgeSecret, Prepare(_secret)]
ForgeAddress: TypeAlias = Annotated[
    str, Wanted("the https address of the forge's API, like `https://git.example.org/api/v1`"), Prepare(_address)
]
ForgeProjects: TypeAlias = Annotated[
    Mapping[str, str],
    Wanted("a mapping of remotes (name or URL) to the forge's projects, like `states: org/states`"),
    Prepare(_projects),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeOptions:
    """The options that forges of one kind have beside those of all; a kind that has some has a subclass."""

    @property
    def give_access(self) -> bool:
        """Whether they are, and there is no token."""
        return False

    def problems(self) -> Iterator[str]:
        """What of them is missing, or does not go together."""
        yield from ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeSettings:
    """One forge."""

    name: OptionText
    """How commands, logs and metrics call it."""
    kind: ForgeKind
    api: ForgeAddress = ""
    """Address of its API, with the path that the forge needs."""
    token: SecretText = field(default="", repr=False)
    ca_file: Folder = ""
    """Certificates of the authorities that the forge's certificate is checked with; empty: those of the system."""
    projects: ForgeProjects = field(default_factory=dict)
    """Remote (name or URL) -> project, where it does not follow from the remote's URL."""
    poll_interval: Seconds = 60.0
    previews: Mapping[str, Any] = field(default_factory=dict)
    """Those of `PreviewDefaults` (`controller.config.forges`) that are set."""
    own: ForgeOptions = field(default_factory=ForgeOptions)
    """Those of its kind."""
    place: str = field(default="", compare=False)
    """`file:line`."""
