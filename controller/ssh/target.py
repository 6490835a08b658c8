"""A machine that is reached over ssh, as an entry of a roster says it. Pure.

Names are those of Salt's rosters (https://docs.saltproject.io/en/latest/topics/ssh/roster.html).
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from options.near_names import did_you_mean
from wire.keys import valid_minion_id

_TEXTS = ("host", "user", "passwd", "priv", "priv_passwd", "sudo_user", "thin_dir", "set_path", "cmd_umask",
          "ssh_pre_flight")  # fmt: skip
_NOT_BUILT = {"ssh_pre_hook": "run the command on the controller yourself, before `saltern ssh`"}

_KNOWN = frozenset(
    {
        *_TEXTS,
        *_NOT_BUILT,
        *("port", "timeout", "sudo", "identities_only", "ssh_options", "minion_opts", "tty", "ssh_pre_flight_args"),
    }
)


class BadRoster(Exception):
    """A roster cannot be used; the text says which and why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SshTarget:
    """One machine."""

    id: str
    host: str
    user: str = "root"
    port: int = 22
    passwd: str = field(default="", repr=False)
    priv: str = ""
    """Path of a private key on the controller; empty: the controller's own."""
    priv_passwd: str = field(default="", repr=False)
    sudo: bool = False
    sudo_user: str = ""
    timeout: float = 60.0
    """Seconds until a connection counts as not coming about."""
    identities_only: bool = False
    ssh_options: tuple[str, ...] = ()
    minion_opts: Mapping[str, Any] = field(default_factory=dict)
    """Of the minion's configuration there."""
    thin_dir: str = ""
    """Folder of the worker and of the minion's files; empty: `/var/lib/saltern-ssh`, or below the user's home."""
    set_path: str = ""
    cmd_umask: str = ""
    tty: bool = False
    """Whether the session has a terminal, as sudo wants it with `requiretty`."""
    ssh_pre_flight: str = ""
    """Path of a script on the controller, that prepares the machine."""
    ssh_pre_flight_args: tuple[str, ...] = ()

    def with_given(self, given: Mapping[str, Any]) -> SshTarget:
        """It with what somebody who asks gives in place of the roster's."""
        return replace(self, **given)


def target_of(minion: str, entry: Any, defaults: Mapping[str, Any], place: str) -> SshTarget:
    """The target of an entry.

    Args:
        minion: the id.
        entry: the host's name, or a mapping.
        defaults: what counts where it says nothing.
        place: where it is written, for errors.

    Raises:
        BadRoster: what of it cannot be used.
    """
    where = f"{place}: {minion}"
    if not valid_minion_id(minion):
        raise BadRoster(f"{where!r} is no id of a minion")
    said = {"host": entry} if isinstance(entry, str) else entry
    if not isinstance(said, Mapping):
        raise BadRoster(f"{where}: an entry is a host, or a mapping with `host`")
    given = {**defaults, **{str(key): value for key, value in said.items() if value is not None}}
    for name in given.keys() - _KNOWN:
        if hint := did_you_mean(name, _KNOWN):  # others are for other programs, and pass as in Salt
            raise BadRoster(f"{where}: `{name}` is no key of an entry: {hint}")
    for name, hint in _NOT_BUILT.items():
        if given.pop(name, None):
            raise BadRoster(f"{where}: {name} is not supported: {hint}")
    if not given.get("host"):
        raise BadRoster(f"{where}: there is no `host`, the name or address of the machine")
    return _checked(minion, given, where)


def _checked(minion: str, given: Mapping[str, Any], where: str) -> SshTarget:
    texts = {name: str(given[name]) for name in _TEXTS if given.get(name) not in (None, "")}
    for name, text in texts.items():
        if "\0" in text or "\n" in text:
            raise BadRoster(f"{where}: {name}: this is no value of one line")
    if texts["host"].startswith("-") or texts.get("user", "").startswith("-"):
        raise BadRoster(f"{where}: a host or user does not begin with a dash")
    options = given.get("ssh_options") or ()
    options = [options] if isinstance(options, str) else options
    minion_opts = given.get("minion_opts") or {}
    try:
        port, timeout = int(given.get("port") or 22), float(given.get("timeout") or 60)
    except (TypeError, ValueError):
        raise BadRoster(f"{where}: port and timeout are numbers") from None
    if not 0 < port < 65536 or not 0 < timeout < 10**6:
        raise BadRoster(f"{where}: port or timeout is out of its range")
    if not isinstance(options, list | tuple) or not isinstance(minion_opts, Mapping):
        raise BadRoster(f"{where}: ssh_options is a list, and minion_opts a mapping")
    if not texts.get("ssh_pre_flight", "/").startswith("/"):
        raise BadRoster(f"{where}: ssh_pre_flight is the whole path of a script on the controller")
    return SshTarget(
        id=minion,
        port=port,
        timeout=timeout,
        sudo=bool(given.get("sudo")),
        identities_only=bool(given.get("identities_only")),
        ssh_options=tuple(str(each) for each in options),
        minion_opts=dict(minion_opts),
        tty=bool(given.get("tty")),
        ssh_pre_flight_args=_words(given.get("ssh_pre_flight_args"), where),
        **texts,
    )


def _words(given: Any, where: str) -> tuple[str, ...]:
    """Of a list, or of one text as a shell splits it."""
    if isinstance(given, list | tuple):
        return tuple(str(each) for each in given)
    try:
        return tuple(shlex.split(str(given))) if given else ()
    except ValueError as error:
        raise BadRoster(f"{where}: ssh_pre_flight_args: {error}") from error
