"""Which resources a state names, and the state that takes each away again: its inverse. Pure.

A resource is named by what it is on the machine (`file:/etc/motd`, `pkg:htop`, `cron:root:backup`), never by the ID or
the SLS of a state: a state that is renamed or moved names the same resources as before.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from highstate.types import Chunk, Value
from minion.engine.chunk_arguments import GLOBAL

NO_ARGUMENTS: Mapping[str, Value] = MappingProxyType({})
FILE = "file"
"""Kind of all that has a path: files, directories, symlinks."""
WITH_FILES = frozenset(("file", "ini"))
"""State modules of which each path is recorded as it is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Something that a state brings into being."""

    key: str
    """Its kind and name on the machine."""
    inverse: str = ""
    """State function that takes it away; empty: there is none."""
    name: str = ""
    """Name of the inverse state."""
    arguments: Mapping[str, Value] = field(default_factory=lambda: NO_ARGUMENTS)
    """Its arguments."""

    @property
    def is_file(self) -> bool:
        """Whether it has a path."""
        return self.key.startswith("file:")

    @property
    def path(self) -> str:
        """Of a file, directory or symlink."""
        return self.key.removeprefix("file:")


def file_key(path: str) -> str:
    """The resource of a path."""
    return f"{FILE}:{posixpath.normpath(path)}"


_Keys = Callable[[Chunk], Iterable[tuple[str, str]]]
"""Of a state: the part of the key after the module, and the name that the inverse gets."""


def _plain(chunk: Chunk) -> Iterator[tuple[str, str]]:
    yield chunk.name, chunk.name


def _packages(chunk: Chunk) -> Iterator[tuple[str, str]]:
    for argument in ("pkgs", "sources"):
        given = chunk.arguments.get(argument)
        if given:
            break
    listed = list(given) if isinstance(given, list | tuple | Mapping) else [chunk.name]
    for one in listed:
        for name in one if isinstance(one, Mapping) else (one,):
            yield str(name).partition(":")[0], str(name)


def _services(chunk: Chunk) -> Iterator[tuple[str, str]]:
    yield chunk.name.removesuffix(".service"), chunk.name


def _of_user(*identifiers: str) -> _Keys:
    def keys(chunk: Chunk) -> Iterator[tuple[str, str]]:
        user = chunk.arguments.get("user") or "root"
        own = next((str(value) for one in identifiers if (value := chunk.arguments.get(one))), chunk.name)
        yield f"{user}:{own}", chunk.name

    return keys


def _hosts(chunk: Chunk) -> Iterator[tuple[str, str]]:
    given = chunk.arguments.get("ip")
    for address in given if isinstance(given, list | tuple) else (given,):
        yield f"{chunk.name}:{address}", chunk.name


def _with(*arguments: str) -> _Keys:
    def keys(chunk: Chunk) -> Iterator[tuple[str, str]]:
        more = ":".join(str(chunk.arguments.get(one)) for one in arguments if chunk.arguments.get(one) is not None)
        yield f"{more}:{chunk.name}" if more else chunk.name, chunk.name

    return keys


def _mounts(chunk: Chunk) -> Iterator[tuple[str, str]]:
    yield str(chunk.arguments.get("fs_file") or chunk.name), chunk.name


def _pip(chunk: Chunk) -> Iterator[tuple[str, str]]:
    given = chunk.arguments.get("pkgs")
    where = chunk.arguments.get("bin_env") or ""
    for one in given if isinstance(given, list | tuple) and given else (chunk.name,):
        name = str(one)
        for sign in ("[", "=", "<", ">", "!", "~", ";", " "):
            name = name.partition(sign)[0]
        yield f"{where}:{name}", name


_KEYS: dict[str, _Keys] = {
    "pkg": _packages,
    "service": _services,
    "cron": _of_user("identifier"),
    "ssh_auth": _of_user(),
    "ssh_known_hosts": _of_user(),
    "host": _hosts,
    "pip": _pip,
    "mount": _mounts,
    "iptables": _with("family", "table", "chain"),
    "alternatives": _with("path"),
}
"""State module -> how its resources are named, where that is not the name of the state alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inverse:
    fun: str = ""
    carried: tuple[str, ...] = ()
    """Arguments of the state that the inverse gets, too; `*`: all of its own."""
    withheld: tuple[str, ...] = ()
    """Those of `*` that it does not get."""
    fixed: Mapping[str, Value] = field(default_factory=lambda: NO_ARGUMENTS)
    """What it gets where the state does not say it."""
    where: Callable[[Chunk], bool] = lambda chunk: True


_INVERSES: dict[str, tuple[_Inverse, ...]] = {
    "pkg.installed": (_Inverse(fun="pkg.removed"),),
    "pkg.latest": (_Inverse(fun="pkg.removed"),),
    "service.running": (
        _Inverse(fun="service.dead", carried=("sig",)),
        _Inverse(fun="service.disabled", where=lambda chunk: chunk.arguments.get("enable") is True),
    ),
    "service.enabled": (_Inverse(fun="service.disabled"),),
    "service.masked": (_Inverse(fun="service.unmasked", carried=("runtime",)),),
    "user.present": (_Inverse(fun="user.absent"),),
    "group.present": (_Inverse(fun="group.absent"),),
    "cron.present": (_Inverse(fun="cron.absent", carried=("user", "identifier")),),
    "cron.env_present": (_Inverse(fun="cron.env_absent", carried=("user",)),),
    "host.present": (_Inverse(fun="host.absent", carried=("ip",)),),
    "mount.mounted": (_Inverse(fun="mount.unmounted", carried=("config", "persist"), fixed={"persist": True}),),
    "mount.fstab_present": (_Inverse(fun="mount.fstab_absent", carried=("fs_file", "config", "mount_by")),),
    "pkgrepo.managed": (_Inverse(fun="pkgrepo.absent"),),
    "ssh_auth.present": (_Inverse(fun="ssh_auth.absent", carried=("user", "enc", "comment", "config", "options")),),
    "ssh_known_hosts.present": (_Inverse(fun="ssh_known_hosts.absent", carried=("user", "config", "port")),),
    "alias.present": (_Inverse(fun="alias.absent"),),
    "alternatives.install": (_Inverse(fun="alternatives.remove", carried=("path",)),),
    "kmod.present": (_Inverse(fun="kmod.absent", carried=("persist", "mods")),),
    "grains.present": (_Inverse(fun="grains.absent", carried=("delimiter",), fixed={"destructive": True}),),
    "schedule.present": (_Inverse(fun="schedule.absent"),),
    "beacon.present": (_Inverse(fun="beacon.absent"),),
    "pip.installed": (_Inverse(fun="pip.removed", carried=("bin_env", "user", "cwd")),),
    # Given a position, `delete` takes away whatever rule stands there by then.
    "iptables.append": (_Inverse(fun="iptables.delete", carried=("*",), withheld=("position",)),),
    "iptables.insert": (_Inverse(fun="iptables.delete", carried=("*",), withheld=("position",)),),
    "iptables.chain_present": (_Inverse(fun="iptables.chain_absent", carried=("table", "family")),),
    **dict.fromkeys(
        (
            "archive.extracted",
            "cron.file",
            "debconf.set",
            "debconf.set_file",
            "git.cloned",
            "git.detached",
            "git.latest",
            "locale.present",
            "mount.swap",
            "network.system",
            "pkg.group_installed",
            "sysctl.present",
            "virtualenv.manage",
            "virtualenv.managed",
        ),
        (_Inverse(),),
    ),
}
"""State function -> what takes away what it makes. An entry without a function: it is told, and nothing can be done."""

_EACH_ADDRESS = ("host.present",)
_ALL = "*"


def _is_own(argument: str) -> bool:
    return argument not in GLOBAL and not argument.startswith(("__", "require", "watch", "onchanges", "onfail"))


def resources_of(chunk: Chunk) -> tuple[Resource, ...]:
    """What a state brings into being, but for paths: these are recorded one by one as they are made."""
    found = []
    for inverse in _INVERSES.get(f"{chunk.state}.{chunk.fun}", ()):
        if not inverse.where(chunk):
            continue
        for key, name in _keys(chunk):
            own = {one: value for one, value in chunk.arguments.items() if _is_own(one)}
            passed = own.keys() - inverse.withheld if _ALL in inverse.carried else inverse.carried
            carried = {one: value for one, value in own.items() if one in passed}
            if f"{chunk.state}.{chunk.fun}" in _EACH_ADDRESS:
                carried["ip"] = key.partition(":")[2]
            arguments = {**inverse.fixed, **carried}
            resource = Resource(key=f"{chunk.state}:{key}", inverse=inverse.fun, name=name, arguments=arguments)
            found.append(resource)
    return tuple(found)


def keys_of(chunk: Chunk) -> Iterator[str]:
    """The resources that a state names, whatever it does with them."""
    yield from (f"{chunk.state}:{key}" for key, _ in _keys(chunk))


def _keys(chunk: Chunk) -> Iterable[tuple[str, str]]:
    return _KEYS.get(chunk.state, _plain)(chunk)


@dataclass(frozen=True, slots=True)
class Named:
    """What the states of a document name."""

    keys: frozenset[str]
    paths: frozenset[str]
    folders: frozenset[str]
    """Those above the paths."""
    unknown: frozenset[str]
    """State modules with a state whose name is known at run time alone."""

    def has(self, resource: Resource) -> bool:
        """Whether a state names a resource; of a folder also: whether one names something in it."""
        if resource.key.partition(":")[0] in self.unknown:
            return True
        if not resource.is_file:
            return resource.key in self.keys
        return resource.path in self.paths or resource.path in self.folders


def named_by(chunks: Iterable[Chunk], more_paths: Iterable[str] = ()) -> Named:
    """What states name.

    Args:
        chunks: the states.
        more_paths: of the files that `file.recurse` copies.
    """
    keys, paths, unknown = set[str](), set[str](), set[str]()
    for chunk in chunks:
        if chunk.name.startswith("__slot__:"):
            unknown.add(FILE if chunk.state in WITH_FILES else chunk.state)
        keys.update(keys_of(chunk))
        paths.update(_paths_in(chunk))
    paths.update(map(posixpath.normpath, more_paths))
    folders = {folder for path in paths for folder in _above(path)}
    return Named(frozenset(keys), frozenset(paths), frozenset(folders), frozenset(unknown))


def _paths_in(chunk: Chunk) -> Iterator[str]:
    """Each argument that is a path: what somebody else's state uses is not taken away from it."""
    values: list[Value] = [chunk.name, *(value for key, value in chunk.arguments.items() if not key.startswith("__"))]
    for value in values:
        for one in value if isinstance(value, list | tuple) else (value,):
            if isinstance(one, str) and one.startswith("/") and "\n" not in one:
                yield posixpath.normpath(one)


def _above(path: str) -> Iterator[str]:
    while (folder := posixpath.dirname(path)) not in ("", "/", path):
        yield folder
        path = folder
