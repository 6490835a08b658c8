"""What a state that would change something leaves for the states after it, under test=True.

Called by the engine. Its acts are performed on the planned machine, where one that fails tells that the real one will;
where they are more than is known there, what is known of the state says what it would bring.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple, cast

from highstate.types import Chunk, Value
from minion.machine.failure import ContentUnknown, NotPredicted, StateFailed
from minion.machine.plan import Change, Machine, Plan
from minion.machine.planned.changes import Brought, PlannedPackage, PlannedService
from minion.machine.planned.machine import PlannedActs, PlannedMachine
from minion.machine.umask import MaskedMachine, umask_of

_BRING_NOTHING = frozenset(
    (
        "acl",
        "apache_conf",
        "apache_module",
        "apache_site",
        "at",
        "beacon",
        "blockdev",
        "docker_container",
        "docker_image",
        "docker_network",
        "docker_volume",
        "elasticsearch",
        "environ",
        "event",
        "firewalld",
        "flatpak",
        "grains",
        "group",
        "helm",
        "http",
        "influxdb_continuous_query",
        "influxdb_database",
        "influxdb_retention_policy",
        "influxdb_user",
        "ipset",
        "iptables",
        "keyboard",
        "network",
        "kubernetes",
        "nftables",
        "mongodb_database",
        "mongodb_user",
        "monit",
        "memcached",
        "ntp",
        "mysql_database",
        "mysql_grants",
        "mysql_user",
        "postgres_database",
        "postgres_extension",
        "postgres_group",
        "postgres_language",
        "postgres_privileges",
        "postgres_schema",
        "postgres_tablespace",
        "postgres_user",
        "rabbitmq_cluster",
        "rabbitmq_plugin",
        "rabbitmq_policy",
        "rabbitmq_upstream",
        "rabbitmq_user",
        "rabbitmq_vhost",
        "redis",
        "quota",
        "schedule",
        "selinux",
        "service",
        "snap",
        "slack",
        "smtp",
        "sysctl",
        "syslog_ng",
        "sysrc",
        "test",
        "user",
        "zabbix_action",
        "zabbix_host",
        "zabbix_hostgroup",
        "zabbix_mediatype",
        "zabbix_template",
        "zabbix_user",
        "zabbix_usergroup",
        "zabbix_usermacro",
        "zabbix_valuemap",
    )
)
"""State modules of which no act that is a command brings a path: of users, groups and mounts more is known."""

_FOLDERS = {"archive": "name", "git": "target", "virtualenv": "name", "mount": "name", "rsync": "name"}
"""State module -> the argument that names the folder in which it brings what nobody knows yet."""

_LESS = frozenset(("held", "unheld", "downloaded"))
"""Functions of `pkg` that bring no file of a package."""

_BRING_MORE = frozenset(("kmod", "pkgrepo"))
"""State modules that bring more than their acts tell: parameters of the kernel, packages to be had."""

_UNITS = (
    "/etc/systemd/",
    "/lib/systemd/",
    "/usr/lib/systemd/",
    "/usr/local/lib/systemd/",
    "/etc/init.d/",
    "/run/systemd/",
)

_ABSOLUTE = re.compile(r"""(?<![^\s'"=<>:,(])/[^\s'"<>|&;`$()*?{}\\,:]+""")
_NEVER_CHANGED = ("/dev/", "/proc/", "/sys/", "/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
_FEWEST_PARTS = 2
"""Of a path that a command names and so may change: of `/etc` or `/` it may be anything, and is nothing to warn of."""


def title(chunk: Chunk) -> str:
    """The state as people name it."""
    return f"{chunk.id} ({chunk.state}.{chunk.fun})"


class Foretold(NamedTuple):
    """What came of the acts in memory."""

    failure: str = ""
    """Why the real ones will fail, where that is known."""
    whole: bool = False
    """Whether all of them were performed, and on files alone: the plan after them is that after the real ones."""


def foretell(planned: PlannedMachine, chunk: Chunk, plan: Plan, arguments: Mapping[str, Value]) -> Foretold:
    """Have the states after this one see what it would have done."""
    if chunk.state == "test":
        return Foretold()  # what it pretends leaves nothing
    if chunk.state == "pkg":
        _note_packages(planned, chunk, plan, arguments)
        return Foretold()
    acts = PlannedActs(planned)
    performed = False
    try:
        _perform(acts, chunk, plan)
        performed = True
    except (NotPredicted, ContentUnknown):
        pass
    except (StateFailed, OSError) as error:
        if chunk.state != "service" or not _may_come(planned):
            return Foretold(failure=_why(error))
    except Exception:  # noqa: S110  (an act that looks at what no command has made)
        pass
    if chunk.state == "service":
        _note_service(planned, chunk, arguments)
    elif not performed or chunk.state in _BRING_MORE or chunk.state in _FOLDERS:
        planned.brought.append(_brought(planned, chunk, plan, arguments, performed))
    if chunk.state in _FOLDERS:
        _add_folder(planned, _path(chunk, arguments))
    return Foretold(whole=performed and not acts.ran)


def brings_anything(planned: PlannedMachine, chunk: Chunk) -> Brought:
    """A state of which nothing is known but that it would act."""
    return Brought(by=title(chunk), paths=_own_paths(planned, chunk), anything=True, state=chunk.state, name=chunk.name)


def doubtful(planned: PlannedMachine, chunk: Chunk) -> Brought:
    """A state that may do something else than what is planned, with what stands before it."""
    return Brought(by=title(chunk), paths=_own_paths(planned, chunk), state=chunk.state, name=chunk.name)


def may_have_packages(planned: PlannedMachine, chunk: Chunk) -> str:
    """The state before this one that would change a repository, where this one is about packages; else nothing."""
    if chunk.state != "pkg":
        return ""
    return next((each.by for each in planned.brought if each.state == "pkgrepo"), "")


def _perform(acts: PlannedActs, chunk: Chunk, plan: Plan) -> None:
    machine = cast(Machine, acts)
    if "umask" in chunk.arguments:
        machine = cast(Machine, MaskedMachine(machine, umask_of(chunk.arguments["umask"])))
    for change in plan.changes:
        change.act(machine)


def _may_come(planned: PlannedMachine) -> bool:
    """Whether an earlier state may bring a service that is not there."""
    return any(each.anything for each in planned.brought) or any(
        path.startswith(_UNITS) for path in planned.files.changed()
    )


def _why(error: StateFailed | OSError) -> str:
    if isinstance(error, StateFailed):
        return str(error)
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}"


def _brought(
    planned: PlannedMachine, chunk: Chunk, plan: Plan, arguments: Mapping[str, Value], performed: bool
) -> Brought:
    if chunk.state in _FOLDERS:
        paths: tuple[str, ...] = (f"{_path(chunk, arguments).rstrip('/')}/",)
    else:
        paths = () if performed else _own_paths(planned, chunk)
    unknown = not performed and not plan.each_time
    return Brought(
        by=title(chunk),
        paths=paths,
        anything=chunk.state not in _BRING_NOTHING and chunk.state not in _FOLDERS,
        state=chunk.state if unknown or chunk.state == "pkgrepo" else "",
        name=chunk.name if unknown else "",
    )


def _own_paths(planned: PlannedMachine, chunk: Chunk) -> tuple[str, ...]:
    """The paths that a state names in its arguments: it may change them, and what is below them. It may have to make
    the folders above them."""
    found = (posixpath.normpath(path) for text in _texts(chunk) for path in _ABSOLUTE.findall(text))
    named = [
        path
        for path in dict.fromkeys(found)
        if not path.startswith("//")  # what follows the scheme of a URL
        and len(path.split("/")) > _FEWEST_PARTS
        and not f"{path}/".startswith(_NEVER_CHANGED)
    ]
    above = [f"{folder}/." for path in named for folder in planned.files.may_be_missing(path)]
    return tuple(dict.fromkeys((*named, *above)))


def _texts(chunk: Chunk) -> Iterator[str]:
    yield chunk.name
    for key, value in chunk.arguments.items():
        if key in ("onlyif", "unless", "creates", "check_cmd") or key.startswith("__"):
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str))


def _path(chunk: Chunk, arguments: Mapping[str, Value]) -> str:
    value = arguments.get(_FOLDERS[chunk.state]) or chunk.name
    return posixpath.normpath(str(value))


def _add_folder(planned: PlannedMachine, path: str) -> None:
    if path.startswith("/") and planned.files.stat(path) is None:
        try:
            planned.files.mkdir(path, parents=True)
        except (OSError, StateFailed):
            return


def _note_packages(planned: PlannedMachine, chunk: Chunk, plan: Plan, arguments: Mapping[str, Value]) -> None:
    """The packages that would change, by what the plan shows of them."""
    known, names = planned.planned_packages, []
    for change in plan.changes:
        for name, old, new in _versions(chunk, change):
            have = known.get(name, PlannedPackage(version=None))
            if chunk.fun == "downloaded":
                known[name] = replace(have, downloaded=new)
            elif (old, new) in (("install", "hold"), ("hold", "install")):
                known[name] = replace(have, held=new == "hold")
            else:
                known[name] = replace(have, version=new)
                names.append(name)
    if isinstance(arguments.get("hold"), bool):
        for name, _ in arguments.get("pkgs") or ((chunk.name, None),):
            known[name] = replace(known.get(name, PlannedPackage(version=None)), held=arguments["hold"])
    if chunk.fun not in _LESS:
        planned.brought.append(Brought(by=title(chunk), anything=True, packages=tuple(names)))


def _versions(chunk: Chunk, change: Change) -> Iterator[tuple[str, str, str]]:
    """Name, old and new version of each package in a change of a `pkg` state."""
    if chunk.fun == "purged" and change.key in ("installed", "removed") and isinstance(change.reported, Mapping):
        for name in change.reported:
            yield name, "", ""
    elif change.key and change.reported is None:
        yield change.key, str(change.old or ""), str(change.new or "")


def _note_service(planned: PlannedMachine, chunk: Chunk, arguments: Mapping[str, Value]) -> None:
    """The service as it would be."""
    note = _SERVICES.get(chunk.fun)
    if note is None:
        return
    enable = arguments.get("enable")
    old = planned.planned_services.get(chunk.name, PlannedService())
    wanted = note(enable if isinstance(enable, bool) else None)
    planned.planned_services[chunk.name] = PlannedService(
        running=old.running if wanted.running is None else wanted.running,
        enabled=old.enabled if wanted.enabled is None else wanted.enabled,
    )


_SERVICES: Mapping[str, Callable[[bool | None], PlannedService]] = {
    "running": lambda enable: PlannedService(running=True, enabled=enable),
    "dead": lambda enable: PlannedService(running=False, enabled=enable),
    "enabled": lambda enable: PlannedService(enabled=True),
    "disabled": lambda enable: PlannedService(enabled=False),
}
