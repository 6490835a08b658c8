"""Salt's option `vault`: where the server is, who we are there, what minions are given.

Read for the controller's configuration and the minion's. What Salt has and nobody here acts by is refused by name.
Source: the configuration reference of saltext-vault, https://salt-extensions.github.io/saltext-vault/ref/configuration.html
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

KUBERNETES_TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"  # noqa: S105 - a path
"""Where a pod finds the token of its service account."""

_METHODS = ("approle", "kubernetes", "token")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_KNOWN: Mapping[str, tuple[str, ...]] = {
    "": ("auth", "cache", "client", "config_location", "issue", "metadata", "namespace", "policies", "server"),
    "auth": (
        *("approle_mount", "approle_name", "method", "mount", "role", "role_id", "secret_id", "token"),
        *("token_lifecycle", "token_path"),
    ),
    "auth:token_lifecycle": ("minimum_ttl", "renew_increment"),
    "cache": ("backend", "secret"),
    "client": ("connect_timeout", "read_timeout"),
    "issue": ("allow_minion_override_params", "approle", "block_minion_requests", "token", "type", "wrap"),
    "issue:approle": ("mount", "params"),
    "issue:token": ("params", "role_name"),
    "metadata": ("secret",),
    "policies": ("assign", "cache_time", "refresh_pillar"),
    "server": ("namespace", "url", "verify"),
}
"""What may stand at each place; `issue: … params` are the server's."""
_OLD = {"url": "server", "verify": "server", "namespace": "server", "role_name": "issue:token"}
"""Where options stand today that Salt once had at the top."""


class BadVault(ValueError):
    """The option `vault` cannot be used; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultServer:
    """Where it is."""

    url: str
    namespace: str | None = None
    verify: bool | str = True
    connect_timeout: float = 9.2
    """Seconds."""
    read_timeout: float = 30.0
    """Seconds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultLogin:
    """Who we are there."""

    method: str = "token"
    token: str = field(default="", repr=False)
    role_id: str = field(default="", repr=False)
    secret_id: str = field(default="", repr=False)
    approle_mount: str = "approle"
    role: str = ""
    """Of the method kubernetes."""
    mount: str = "kubernetes"
    """Of the method kubernetes: any backend whose login takes a role and a JWT."""
    token_path: str = KUBERNETES_TOKEN
    minimum_ttl: float = 10.0
    """A token with less time left, in seconds, is not used any more."""
    renew_increment: float | None = None
    """Seconds that a renewal asks for; None: what the token had at first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultIssue:
    """What minions are given."""

    kind: str = "token"
    wrap: str = "30s"
    """How long what goes to a minion may lie in its wrapping; empty: it is not wrapped."""
    block_minion_requests: bool = False
    """Whether the controller alone reads for minions, while it compiles."""
    role_name: str = ""
    token_params: Mapping[str, Any] = field(default_factory=lambda: {"num_uses": 1})
    approle_mount: str = "salt-minions"
    approle_params: Mapping[str, Any] = field(
        default_factory=lambda: {
            "bind_secret_id": True,
            "secret_id_num_uses": 1,
            "secret_id_ttl": 60,
            "token_explicit_max_ttl": 60,
            "token_num_uses": 10,
        }
    )
    policies: tuple[str, ...] = ("saltstack/minions", "saltstack/{minion}")
    """Patterns of the names of policies; lists in pillar or grains make several of one."""
    policies_kept: float = 60.0
    """Seconds for which the policies of a minion are not looked for again."""
    metadata: Mapping[str, str] = field(
        default_factory=lambda: {"saltstack-minion": "{minion}", "saltstack-user": "{user}", "saltstack-jid": "{jid}"}
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultSettings:
    """The option `vault`."""

    server: VaultServer
    login: VaultLogin | None = None
    """None: a minion's, which the controller gives tokens."""
    issue: VaultIssue = field(default_factory=VaultIssue)
    secret_kept: float | None = None
    """Seconds that a secret is kept; None: its lease, or five minutes."""
    is_local: bool | None = None
    """Of a minion: whether it logs in by what stands here (`config_location: local`); None: where no controller is."""

    @classmethod
    def parse(cls, given: Mapping[str, Any]) -> VaultSettings:
        """The option of a controller, which needs `auth`. BadVault."""
        found = cls.parse_of_minion(given)
        if found.login is None:
            raise BadVault("vault needs auth: {token: ...}, or another method (approle, kubernetes)")
        return found

    @classmethod
    def parse_of_minion(cls, given: Mapping[str, Any]) -> VaultSettings:
        """The option as a minion has it, who may do without `auth`. BadVault."""
        options = _checked(given)
        server = options.get("server", {})
        if not isinstance(server.get("url"), str) or not server["url"]:
            raise BadVault("vault needs server: {url: https://...}")
        client = options.get("client", {})
        location = options.get("config_location")
        if location not in (None, "local", "master"):
            raise BadVault(f"vault: config_location is local or master, not {location!r}")
        kept = options.get("cache", {}).get("secret", "ttl")
        return cls(
            server=VaultServer(
                url=server["url"],
                namespace=server.get("namespace"),
                verify=True if server.get("verify") is None else server["verify"],
                connect_timeout=seconds(client.get("connect_timeout", 9.2)),
                read_timeout=seconds(client.get("read_timeout", 30.0)),
            ),
            login=_login(options.get("auth") or {}),
            issue=_issue(options),
            secret_kept=None if kept == "ttl" else seconds(kept),
            is_local=None if location is None else location == "local",
        )


def seconds(given: object) -> float:
    """A number, or a text like `30s`, `5m`, `1h`; BadVault."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd]?)", str(given).strip())
    if found is None:
        raise BadVault(f"vault: {given!r} is no time (a number of seconds, or `30s`, `5m`, `1h`)")
    return float(found[1]) * _SECONDS[found[2]]


def _checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The option in today's shape, of which all is known; BadVault."""
    options = {str(key): value for key, value in given.items()}
    if isinstance(options.get("policies"), list):
        options["policies"] = {"assign": options["policies"]}
    for name, place in _OLD.items():
        if name in options:
            _below(options, place).setdefault(name, options.pop(name))
    for place, known in _KNOWN.items():
        value = _at(options, place)
        if not isinstance(value, Mapping):
            raise BadVault(f"vault: {place} is a mapping")
        for name in value:
            if name not in known:
                where = f"{place}: {name}" if place else str(name)
                raise BadVault(f"vault: {where} is not supported; what is: {', '.join(known)}")
    return options


def _at(options: Mapping[str, Any], place: str) -> Any:
    value: Any = options
    for name in filter(None, place.split(":")):
        value = (value.get(name) if isinstance(value, Mapping) else None) or {}
    return value


def _below(options: dict[str, Any], place: str) -> dict[str, Any]:
    for name in place.split(":"):
        options[name] = dict(options.get(name) or {})
        options = options[name]
    return options


def _login(auth: Mapping[str, Any]) -> VaultLogin | None:
    if not auth:
        return None
    method = auth.get("method", "token")
    if method not in _METHODS:
        raise BadVault(f"vault knows the methods {', '.join(_METHODS[:-1])} and {_METHODS[-1]}, not {method!r}")
    needed = {"token": "token", "approle": "role_id", "kubernetes": "role"}[method]
    if not auth.get(needed):
        raise BadVault(f"vault needs auth: {{{needed}: ...}} for the method {method}")
    for name in ("token", "role_id", "secret_id"):
        if not isinstance(auth.get(name) or "", str):
            raise BadVault(f"vault: auth: {name} is a text; one that is wrapped is not supported")
    life = auth.get("token_lifecycle") or {}
    return VaultLogin(
        method=method,
        token=auth.get("token") or "",
        role_id=auth.get("role_id") or "",
        secret_id=auth.get("secret_id") or "",
        approle_mount=str(auth.get("approle_mount") or "approle"),
        role=str(auth.get("role") or ""),
        mount=str(auth.get("mount") or "kubernetes"),
        token_path=str(auth.get("token_path") or KUBERNETES_TOKEN),
        minimum_ttl=seconds(life.get("minimum_ttl", 10)),
        renew_increment=None if life.get("renew_increment") is None else seconds(life["renew_increment"]),
    )


def _issue(options: Mapping[str, Any]) -> VaultIssue:
    given, policies = options.get("issue", {}), options.get("policies", {})
    default = VaultIssue()
    kind = given.get("type", default.kind)
    if kind not in ("token", "approle"):
        raise BadVault(f"vault: issue: type is token or approle, not {kind!r}")
    if given.get("allow_minion_override_params"):
        raise BadVault("vault: issue: allow_minion_override_params is not supported: the controller alone sets limits")
    if policies.get("refresh_pillar"):
        raise BadVault("vault: policies: refresh_pillar is not supported: the pillar of the last compile counts")
    if options.get("cache", {}).get("backend", "session") != "session":
        raise BadVault("vault: cache: backend is not supported: tokens and secrets stay in memory (session)")
    assign = policies.get("assign", list(default.policies))
    if not isinstance(assign, Sequence) or isinstance(assign, str) or not all(isinstance(one, str) for one in assign):
        raise BadVault("vault: policies: assign is a list of names, which may have {minion} in them")
    token, approle = given.get("token") or {}, given.get("approle") or {}
    wrap = given.get("wrap", default.wrap)
    return VaultIssue(
        kind=kind,
        wrap=f"{seconds(wrap):g}s" if wrap else "",
        block_minion_requests=bool(given.get("block_minion_requests", False)),
        role_name=str(token.get("role_name") or ""),
        token_params={**default.token_params, **(token.get("params") or {})},
        approle_mount=str(approle.get("mount") or default.approle_mount),
        approle_params={**default.approle_params, **(approle.get("params") or {})},
        policies=tuple(assign),
        policies_kept=seconds(policies.get("cache_time", default.policies_kept)),
        metadata={**default.metadata, **(options.get("metadata", {}).get("secret") or {})},
    )
