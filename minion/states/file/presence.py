"""file.exists, missing, touch, tidied, pruned and accumulated: states about paths rather than about content.

Behaviour: doc/ref/states/all/salt.states.file.
"""

from __future__ import annotations

import posixpath
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from minion.arguments.types import Days, Each, Seconds, Size, Texts
from minion.machine.failure import StateFailed
from minion.machine.plan import Accumulator, Change, FileStat, Machine, Plan, Reader
from minion.states.file.paths import behind, below, checked, make_parents, missing_parents
from minion.states.file.perms import Perms

_DAY = 86400


def exists(machine: Reader, name: str) -> Plan:
    """Fails when nothing is there."""
    if behind(machine, checked(name, "exists"))[1] is None:
        raise StateFailed(f"Specified path {name} does not exist")
    return Plan(comment=f"Path {name} exists")


def missing(machine: Reader, name: str) -> Plan:
    """Fails when something is there."""
    if behind(machine, checked(name, "missing"))[1] is not None:
        raise StateFailed(f"Specified path {name} exists")
    return Plan(comment=f"Path {name} is missing")


def touch(
    machine: Reader, name: str, *, atime: Seconds | None = None, mtime: Seconds | None = None, makedirs: bool = False
) -> Plan:
    """A file that is not there is made; of one that is, the times that are given are set.

    Times are whole seconds since the epoch. Without any, a file that is there is left alone (as Salt's test run says).
    """
    path, found = behind(machine, checked(name, "touch"))
    wanted = (atime, mtime)
    if found is None:
        if missing_parents(machine, path) and not makedirs:
            raise StateFailed(f"Directory not present to touch file {name}")

        def make(machine: Machine) -> None:
            make_parents(machine, path, Perms())
            machine.write(path, b"")
            if wanted != (None, None):
                machine.utime(path, *wanted)

        return Plan(
            changes=(Change(key="new", reported=name, act=make),),
            pending=f"File {name} is set to be created",
            done=f"Created empty file {name}",
        )
    if all(one is None or int(one) == int(found.times[index]) for index, one in enumerate(wanted)):
        return Plan(comment=f"File {name} exists and has the correct times")
    times = tuple(found.times[index] if one is None else one for index, one in enumerate(wanted))
    kind = "directory" if found.kind == "directory" else "file"
    return Plan(
        changes=(Change(key="touched", reported=name, act=lambda machine: machine.utime(path, *times)),),
        pending=f"Times set to be updated on file {name}",
        done=f"Updated times on {kind} {name}",
    )


def tidied(
    machine: Reader,
    name: str,
    *,
    age: Days = 0,
    matches: Texts = (),
    rmdirs: bool = False,
    size: Size = 0,
    exclude: Texts = (),
    full_path_match: bool = False,
    time_comparison: str = "atime",
    age_size_logical_operator: str = "OR",
    age_size_only: str | None = None,
    rmlinks: bool = True,
    followlinks: bool = False,
) -> Plan:
    """What is old or large below a directory is removed. `age` is in days, `size` in bytes or as `10m`."""
    path = checked(name, "tidied")
    if followlinks:
        raise StateFailed("followlinks is not supported: what a link points to is not below the directory")
    found = machine.stat(path)
    if found is None or found.kind != "directory":
        raise StateFailed(f"{name} does not exist or is not a directory.")
    rule = _Tidy(
        age=age,
        size=size,
        matches=_patterns(matches or (".*",), "matches"),
        exclude=_patterns(exclude, "exclude"),
        whole=full_path_match,
        clock={"atime": 0, "mtime": 1, "ctime": 2}.get(time_comparison.lower(), 0),
        both=age_size_logical_operator.upper() == "AND",
        only=None if age_size_only is None else age_size_only.lower(),
        rmdirs=rmdirs,
        rmlinks=rmlinks,
    )
    now = time.time()
    gone = [inner for inner, stat in _inside_first(machine, path) if rule.takes(inner, stat, now)]
    if not gone:
        return Plan(comment=f"Nothing to remove from directory {name}")

    def act(machine: Machine) -> None:
        for inner in gone:
            machine.remove(inner)

    return Plan(
        changes=(Change(key="removed", reported=gone, act=act),),
        pending=f"{name} is set for tidy",
        done=f"Removed {len(gone)} files or directories from directory {name}",
    )


def pruned(
    machine: Reader,
    name: str,
    *,
    recurse: bool = False,
    ignore_errors: bool = False,
    older_than: Days | None = None,
) -> Plan:
    """An empty directory is removed; with `recurse`, empty directories below it too. `older_than` is in days."""
    path = checked(name, "pruned")
    found = machine.stat(path)
    if found is None:
        return Plan(comment=f"Directory {name} is not present")
    if found.kind != "directory":
        raise StateFailed(f"{name} is not a directory")
    limit = None if older_than is None else time.time() - older_than * _DAY
    empty = _empty(machine, path, limit) if recurse or ignore_errors else []
    if not empty and not (recurse or ignore_errors) and not machine.listdir(path):
        empty = [path] if limit is None or found.times[1] < limit else []
    if not empty:
        full = bool(machine.listdir(path)) and not (recurse or ignore_errors)
        if full:
            errors = [[path, "Directory not empty"]]
            raise StateFailed(f"Failed to remove directory {name}", {"deleted": [], "errors": errors})
        return Plan(comment=f"Nothing to remove from directory {name}")

    def act(machine: Machine) -> None:
        for folder in empty:
            if machine.listdir(folder):
                raise StateFailed(f"Failed to remove directory {folder}: it is not empty any more")
            machine.remove(folder)

    return Plan(
        changes=(Change(key="deleted", reported=empty if recurse or ignore_errors else name, act=act),),
        pending=f"Directory {name} is set for removal",
        done=f"Recursively removed empty directories under {name}"
        if recurse or ignore_errors
        else f"Removed directory {name}",
    )


def accumulated(
    machine: Reader,
    name: str,
    *,
    filename: str,
    text: Each | None,
    require_in: Each | None = None,
    watch_in: Each | None = None,
) -> Plan:
    """Lines that another file state of this run gets as `accumulator`. Nothing on the machine changes."""
    if text is None:
        raise StateFailed("No text supplied for accumulator")
    gathered = machine.accumulated.setdefault(filename, {}).setdefault(name, Accumulator())
    for one in [*(require_in or ()), *(watch_in or ())]:
        gathered.consumers.update(map(str, one.values()) if isinstance(one, Mapping) else [str(one)])
    for one in text:
        if one not in gathered.lines:
            gathered.lines.append(one)
    return Plan(comment=f"Accumulator {name} for file {filename} was charged by text")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Tidy:
    age: float
    size: int
    matches: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]
    whole: bool
    clock: int
    both: bool
    only: str | None
    rmdirs: bool
    rmlinks: bool

    def takes(self, path: str, found: FileStat, now: float) -> bool:
        """Whether this is to go."""
        if (found.kind == "directory" and not self.rmdirs) or (found.kind == "symlink" and not self.rmlinks):
            return False
        name = path if self.whole else posixpath.basename(path)
        if not any(one.match(name) for one in self.matches) or any(one.match(name) for one in self.exclude):
            return False
        is_old = (now - found.times[self.clock]) / _DAY >= self.age
        is_large = (found.size if found.kind == "file" else 0) >= self.size
        verdicts: Mapping[str | None, Callable[[], bool]] = {"age": lambda: is_old, "size": lambda: is_large}
        if self.only in verdicts:
            return verdicts[self.only]()
        return (is_old and is_large) if self.both else (is_old or is_large)


def _inside_first(machine: Reader, top: str) -> Iterator[tuple[str, FileStat]]:
    yield from reversed(list(below(machine, top)))


def _empty(machine: Reader, top: str, limit: float | None) -> list[str]:
    """Directories that are empty, or would be once the empty ones in them are gone; the deepest first."""
    gone: list[str] = []
    inner = [*((path, found) for path, found in below(machine, top) if found.kind == "directory")][::-1]
    for path, found in [*inner, (top, machine.stat(top))]:
        left = [name for name in machine.listdir(path) if posixpath.join(path, name) not in gone]
        if not left and found is not None and (limit is None or found.times[1] < limit):
            gone.append(path)
    return gone


def _patterns(texts: Sequence[str], what: str) -> tuple[re.Pattern[str], ...]:
    try:
        return tuple(map(re.compile, texts))
    except re.error as error:
        raise StateFailed(f"{what} has a text that is no regular expression: {error}") from None
