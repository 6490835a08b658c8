"""file.find: what lies below a directory, chosen by its name, kind, size, age, owner or content.

Behaviour: the function of Salt's file module and its small language; as there, symlinks are followed to judge them and
are not walked into.
"""

from __future__ import annotations

import fnmatch
import os
import re
import stat as modes
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.timed_regex import TimedRegex
from minion.modules.file.look import expanded

_KINDS: Mapping[str, Callable[[int], bool]] = {
    "b": modes.S_ISBLK, "c": modes.S_ISCHR, "d": modes.S_ISDIR, "f": modes.S_ISREG, "l": modes.S_ISLNK,
    "p": modes.S_ISFIFO, "s": modes.S_ISSOCK,
}  # fmt: skip
_SIZES = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
_AGES = {"w": 604_800, "d": 86_400, "h": 3_600, "m": 60, "s": 1}
_SHOWN = ("group", "md5", "mode", "mtime", "name", "owner", "path", "size", "type", "user")

Test = Callable[[str, os.stat_result], bool]


def find(context: Context, path: str, *args: Any, **kwargs: Any) -> Any:
    """What is below a directory. Chosen by name, iname, regex, iregex, type, owner, group, size, mtime, grep, empty,
    mindepth, maxdepth; `print` says what is shown of each, `delete` removes it, `exec` runs a command for it.
    """
    options = {key: value for key, value in kwargs.items() if not key.startswith("_")}
    options |= {str(one): True for one in args if str(one) in ("delete", "print", "empty")}
    try:
        tests = [_test(key, value) for key, value in options.items() if key not in _ACTS]
        depths = [int(options[key]) if key in options else None for key in ("mindepth", "maxdepth")]
    except ValueError as error:
        return f"error: {error}"
    found = [place for place in _walk(str(expanded(path)), *depths) if _fits(place, tests)]
    shown = options.get("print")
    names = [one.strip() for one in str(shown).split(",")] if shown and shown is not True else ["path"]
    rows = {place: _shown(place, names) for place in found}
    if "delete" in options:
        found = _deleted(context, found, str(options["delete"]))
    if "exec" in options:
        for place in found:
            context.machine.run([word.replace("{}", place) for word in str(options["exec"]).split()])
    return [rows[place][0] if len(names) == 1 else rows[place] for place in found]


_ACTS = ("delete", "print", "exec", "mindepth", "maxdepth")


def _walk(top: str, mindepth: int | None, maxdepth: int | None) -> Iterator[str]:
    if not os.path.lexists(top):
        return
    if not mindepth:
        yield top
    todo = [(top, 1)]
    while todo:
        folder, depth = todo.pop(0)
        if maxdepth is not None and depth > maxdepth:
            continue
        try:
            names = sorted(os.listdir(folder))  # noqa: PTH208
        except OSError:
            continue
        for name in names:
            place = os.path.join(folder, name)  # noqa: PTH118
            if mindepth is None or depth >= mindepth:
                yield place
            if os.path.isdir(place) and not os.path.islink(place):  # noqa: PTH112, PTH114
                todo.append((place, depth + 1))


def _fits(place: str, tests: list[Test]) -> bool:
    try:
        found = os.stat(place)  # noqa: PTH116
    except OSError:
        try:
            found = os.lstat(place)
        except OSError:
            return False
    return all(test(place, found) for test in tests)


def _test(key: str, value: Any) -> Test:
    """What an option asks of a path; ValueError with what to tell when there is no such option."""
    text = str(value)
    match key:
        case "name":
            return lambda place, _: fnmatch.fnmatchcase(os.path.basename(place), text)  # noqa: PTH119
        case "iname":
            return lambda place, _: fnmatch.fnmatchcase(os.path.basename(place).lower(), text.lower())  # noqa: PTH119
        case "regex" | "iregex":
            compiled = _compiled(text, re.IGNORECASE if key == "iregex" else 0)
            return lambda place, _: compiled.match(os.path.basename(place)) is not None  # noqa: PTH119
        case "type":
            unknown = [one for one in text.replace(",", "") if one not in _KINDS]
            if unknown:
                raise ValueError(f'invalid type "{unknown[0]}"')
            return lambda _, found: any(_KINDS[one](found.st_mode) for one in text.replace(",", ""))
        case "owner" | "user":
            uids = {_id("user", one) for one in text.split(",")}
            return lambda _, found: found.st_uid in uids
        case "group":
            gids = {_id("group", one) for one in text.split(",")}
            return lambda _, found: found.st_gid in gids
        case "size":
            low, high = _range(text, _SIZES, 0)
            return lambda _, found: low <= found.st_size <= high
        case "mtime":
            low, high = _range(text, _AGES, 86_400)
            now = time.time()
            return lambda _, found: low <= now - found.st_mtime <= high
        case "grep":
            pattern = _compiled(text, 0)
            return lambda place, found: modes.S_ISREG(found.st_mode) and _holds(place, pattern)
        case "empty":
            return lambda place, found: _is_empty(place, found)
    raise ValueError(f'invalid option "{key}"')


def _compiled(text: str, flags: int) -> TimedRegex[str]:
    try:
        return TimedRegex(text, flags)
    except re.error:
        raise ValueError(f'invalid regular expression: "{text}"') from None


def _range(text: str, units: Mapping[str, int], slack: int) -> tuple[float, float]:
    """`10k` (that, or within `slack` of it), `+10k` (at least), `-10k` (at most)."""
    found = re.fullmatch(r"([+-]?)(\d+(?:\.\d+)?)([a-zA-Z]?)", text.strip())
    if found is None or (found[3] and found[3].lower() not in units):
        raise ValueError(f'invalid size or time: "{text}"')
    number = float(found[2]) * (units[found[3].lower()] if found[3] else units.get("d", 1))
    if found[1] == "+":
        return number, float("inf")
    return (0.0, number) if found[1] == "-" else (number, number + slack)


def _holds(place: str, pattern: TimedRegex[str]) -> bool:
    try:
        with open(place, encoding="utf-8", errors="replace") as lines:  # noqa: PTH123
            return any(pattern.search(line) for line in lines)
    except OSError:
        return False


def _is_empty(place: str, found: os.stat_result) -> bool:
    if modes.S_ISDIR(found.st_mode):
        return not os.listdir(place)  # noqa: PTH208
    return modes.S_ISREG(found.st_mode) and found.st_size == 0


def _id(kind: str, name: str) -> int:
    import grp
    import pwd

    if name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid if kind == "user" else grp.getgrnam(name).gr_gid
    except KeyError:
        raise ValueError(f'no such {kind} "{name}"') from None


def _deleted(context: Context, found: list[str], kinds: str) -> list[str]:
    """Those that were removed: files and the like, directories only where `delete=d` names them."""
    wanted = "fls" if kinds == "True" else kinds
    gone = []
    for place in found:
        mode = os.lstat(place).st_mode if os.path.lexists(place) else 0
        if mode and any(_KINDS[one](mode) for one in wanted if one in _KINDS):
            context.machine.remove(place)
            gone.append(place)
    return gone


def _shown(place: str, names: list[str]) -> list[Any]:
    from minion.modules.file.look import _name

    unknown = [one for one in names if one not in _SHOWN]
    if unknown:
        raise CallFailed(f"print can have {', '.join(_SHOWN)}, not {unknown[0]}")
    found = os.stat(place) if os.path.exists(place) else os.lstat(place)  # noqa: PTH110, PTH116
    kind = next((key for key, is_it in _KINDS.items() if is_it(found.st_mode)), "f")
    values: Mapping[str, Callable[[], Any]] = {
        "group": lambda: _name("group", found.st_gid),
        "md5": lambda: _md5(place) if kind == "f" else "",
        "mode": lambda: modes.S_IMODE(found.st_mode),
        "mtime": lambda: int(found.st_mtime),
        "name": lambda: os.path.basename(place),  # noqa: PTH119
        "owner": lambda: _name("user", found.st_uid),
        "path": lambda: place,
        "size": lambda: found.st_size,
        "type": lambda: kind,
        "user": lambda: _name("user", found.st_uid),
    }
    return [values[one]() for one in names]


def _md5(place: str) -> str:
    import hashlib

    with open(place, "rb") as file:  # noqa: PTH123
        return hashlib.file_digest(file, "md5").hexdigest()


FUNCTIONS: Mapping[str, Any] = {"find": find}
