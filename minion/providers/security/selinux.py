"""SELinux as its programs tell and set it: the mode, booleans, modules of the policy.

Called by the states and the execution module `selinux`. The programs are Debian's policycoreutils, selinux-utils and
policycoreutils-python-utils, or those of the Red Hat family.
"""

from __future__ import annotations

import bz2
import posixpath
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from highstate.salt_urls import split_salt_url
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.commands import complaint

CONFIG = "/etc/selinux/config"
_STORES = ("/var/lib/selinux", "/etc/selinux")
_OWN_PRIORITY = 400
"""Of modules that `semodule --install` brings; those of the policy have a lower one."""
_MODE = re.compile(r"^SELINUX=(.*)$", re.MULTILINE)
_TYPE = re.compile(r"^SELINUXTYPE=\s*(\S+)", re.MULTILINE)
_BOOLEAN = re.compile(r"(\S+)\s+\((\w+)\s*,\s*(\w+)\)\s*(.*)")
_BRINGING = frozenset(("cmd", "module", "pkg", "selinux"))


class SelinuxBoolean(NamedTuple):
    """A switch of the policy."""

    state: str
    """Now: `on` or `off`."""
    default: str
    """After the next boot."""
    description: str


class SelinuxModule(NamedTuple):
    """A part of the policy."""

    priorities: tuple[int, ...]
    enabled: bool


class ModuleFile(NamedTuple):
    """A module as a file."""

    name: str
    """That the policy gives it: of the file, without its ending."""
    file_name: str
    data: bytes


def asked(machine: Reader, *argv: str) -> str:
    """What a program says that only looks; StateFailed with its complaint."""
    return _need(machine.query(argv), argv[0]).stdout


def told(machine: Machine, *argv: str) -> None:
    """Have a program change something; StateFailed with its complaint."""
    _need(machine.run(argv), argv[0])


def lacking(text: str, to_come: Collection[tuple[str, str]]) -> Exception:
    """What to raise where something is not there: it may come in a run under test=True."""
    if by := next((f"{module} {name}" for module, name in sorted(to_come) if module in _BRINGING), ""):
        return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
    return StateFailed(text)


def current_mode(machine: Reader) -> str:
    """`Enforcing`, `Permissive` or `Disabled`."""
    return asked(machine, "getenforce").strip()


def configured_mode(machine: Reader) -> str | None:
    """The mode of the next boot; None where there is no configuration."""
    found = _MODE.search(_config(machine))
    return found[1].strip().capitalize() if found else None


def set_mode(machine: Machine, mode: str) -> None:
    """Set the mode of now, as far as it can change, and that of the next boot."""
    if current_mode(machine) != "Disabled":
        told(machine, "setenforce", "1" if mode == "Enforcing" else "0")
    text, line = _config(machine), f"SELINUX={mode.lower()}"
    text = _MODE.sub(line, text) if _MODE.search(text) else f"{text.rstrip()}\n{line}\n".lstrip()
    machine.write(CONFIG, text.encode())


def booleans(machine: Reader) -> dict[str, SelinuxBoolean]:
    """All of the policy."""
    found = (_BOOLEAN.fullmatch(line.strip()) for line in asked(machine, "semanage", "boolean", "--list").splitlines())
    return {one[1]: SelinuxBoolean(one[2], one[3], one[4]) for one in found if one}


def set_booleans(machine: Machine, values: Mapping[str, str], *, persist: bool) -> None:
    """Set them, for the next boot, too, when `persist`."""
    told(machine, "setsebool", *(["-P"] if persist else []), *(f"{name}={value}" for name, value in values.items()))


def modules(machine: Reader) -> dict[str, SelinuxModule]:
    """All of the policy; the copy of the highest priority counts."""
    found: dict[str, SelinuxModule] = {}
    for line in asked(machine, "semodule", "--list-modules=full").splitlines():
        priority, name, *more = line.split()
        before = found.get(name)
        of_all = (*(before.priorities if before else ()), int(priority))
        found[name] = SelinuxModule(of_all, "disabled" not in more[1:])
    return found


def own_module(found: SelinuxModule | None) -> bool:
    """Whether a module was installed by somebody, over that of the policy or beside it."""
    return found is not None and _OWN_PRIORITY in found.priorities


def module_file(machine: Reader, source: str, saltenv: str = "base") -> ModuleFile:
    """A module of the tree or of the machine. StateFailed when it is not there, or its name can be none."""
    path, env = split_salt_url(source, saltenv) if source.startswith("salt://") else (source, "")
    try:
        data = machine.source(path, env) if env else machine.read(source)
    except OSError:
        raise StateFailed(f"Failed to install module {source}: there is no such file") from None
    file_name = posixpath.basename(path)
    name, ending = posixpath.splitext(file_name)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]*", name) or ending not in (".pp", ".cil"):
        raise StateFailed(f"{source} cannot be a module: its name ends in .pp or .cil, as in mine.pp")
    return ModuleFile(name, file_name, data)


def is_installed(machine: Reader, module: ModuleFile) -> bool:
    """Whether the policy has just this, as the store keeps it."""
    kind = _TYPE.search(_config(machine))
    kept = "cil" if module.file_name.endswith(".cil") else "hll"
    for store in _STORES:
        path = f"{store}/{kind[1] if kind else 'targeted'}/active/modules/{_OWN_PRIORITY}/{module.name}/{kept}"
        if machine.stat(path) is not None:
            return _plain(machine.read(path)) == module.data
    return False


def install_module(machine: Machine, module: ModuleFile) -> None:
    """Put a module into the policy, which then is built anew."""
    folder = f"/run/saltern-selinux-{module.name}"
    if machine.stat(folder) is not None:
        machine.remove(folder)
    machine.mkdir(folder, mode="0700")
    try:
        machine.write(f"{folder}/{module.file_name}", module.data)
        told(machine, "semodule", "--install", f"{folder}/{module.file_name}")
    finally:
        machine.remove(folder)


def _plain(data: bytes) -> bytes:
    return bz2.decompress(data) if data.startswith(b"BZh") else data


def _config(machine: Reader) -> str:
    return machine.read(CONFIG).decode() if machine.stat(CONFIG) is not None else ""


def _need(done: Completed, program: str) -> Completed:
    if done.returncode == 127:
        raise StateFailed(f"There is no {program} program: install the tools of SELinux that have it")
    if done.returncode != 0:
        raise StateFailed(complaint(done))
    return done


def words(option: str, value: str | None) -> Sequence[str]:
    """An option and its value, nothing where there is none; StateFailed for one that could be taken for an option."""
    if value and value.startswith("-"):
        raise StateFailed(f"{value!r} cannot be a value of {option}")
    return [option, value] if value else []
