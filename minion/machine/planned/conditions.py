"""Commands of `onlyif` and `unless` that ask of what a run under test=True would have made by now.

Part of `minion.machine.planned`. Plain commands joined by `&&`, `||` and `;` are read. Those that ask of something
planned (`test -f`, `grep -q`, `id`, `dpkg -s`, `systemctl is-active`, …) are answered here, the others by the machine.
"""

from __future__ import annotations

import operator
import posixpath
import re
import shlex
import stat
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from minion.machine.failure import ContentUnknown
from minion.machine.plan import Completed
from minion.machine.planned.changes import PlannedPackage, PlannedService
from minion.machine.planned.files import PlannedFiles

_NOT_READ = re.compile(r"[$`*?~\\\n(){}#]")
_QUIET = re.compile(r"(?:&|[12])?>>?\s*/dev/null|2>&1")
_JOINTS = ("&&", "||", ";")
_NUMBER = re.compile(r"-?[0-9]{1,18}")
_SPECIAL = re.compile(r"[\\\[\]*+?{}()|^$.]")
"""What means something else in a pattern of grep."""
_COMPARED: Mapping[str, Callable[..., bool]] = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "-eq": operator.eq, "-ne": operator.ne,
    "-lt": operator.lt, "-le": operator.le, "-gt": operator.gt, "-ge": operator.ge,
}  # fmt: skip
_UNARY = frozenset(("-e", "-f", "-d", "-L", "-h", "-s", "-x", "-r", "-w", "-p", "-b", "-c"))
_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


class Planned(Protocol):
    """What is known of the planned machine."""

    files: PlannedFiles
    planned_packages: dict[str, PlannedPackage]
    planned_services: dict[str, PlannedService]

    @property
    def looks_itself(self) -> bool:
        """Whether what is at a path is answered here for any path, and not for planned ones alone."""

    def read(self, path: str) -> bytes:
        """Content of a file; ContentUnknown where nobody knows it."""

    def query(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Completed:
        """A command that only looks."""


def exit_code(planned: Planned, text: str, cwd: str, run: Callable[[str], int]) -> int | None:
    """The exit code of a condition; None when it asks of nothing that is planned, or cannot be read here.

    Args:
        planned: what the run would have made.
        text: the command.
        cwd: where it would run; empty when that is not known.
        run: runs a part that asks of nothing planned, and gives its exit code.
    """
    commands = _parsed(text)
    if commands is None:
        return None
    answers = [_answer(planned, words, cwd) for _, words in commands]
    if all(answer is None for answer in answers):
        return None
    code = 0
    for (joint, words), answer in zip(commands, answers, strict=True):
        if (joint == "&&" and code != 0) or (joint == "||" and code == 0):
            continue
        code = _run(words, run) if answer is None else answer
    return code


def _run(words: Sequence[str], run: Callable[[str], int]) -> int:
    """The exit code of a part that is run; `!` is a word of the shell, which may not be quoted."""
    if words[0] == "!":
        return int(_run(words[1:], run) == 0) if len(words) > 1 else 1
    return run(shlex.join(words))


def path_answer(planned: Planned, fun: str, asked: Sequence[str]) -> bool | None:
    """What an execution function says that asks what is at a path; None where this is not known here."""
    what = _PATH_FUNCTIONS.get(fun)
    path = _planned_path(planned, asked[0], "") if what is not None and len(asked) == 1 else None
    return None if what is None or path is None else _holds(planned.files, what, path)


def _parsed(text: str) -> list[tuple[str, list[str]]] | None:
    """The commands, each with what joins it to those before."""
    text = _QUIET.sub(" ", text)
    if _NOT_READ.search(text):
        return None
    lexer = shlex.shlex(text, posix=True, punctuation_chars="&|;<>")
    vars(lexer).update(whitespace_split=True)  # a setting that is no keyword of it
    try:
        words = list(lexer)
    except ValueError:
        return None
    commands: list[tuple[str, list[str]]] = [("", [])]
    for word in words:
        if word in _JOINTS:
            commands.append((word, []))
        elif word and set(word) <= set("&|;<>"):
            return None
        else:
            commands[-1][1].append(word)
    return commands if all(words for _, words in commands) else None


def _answer(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    """The exit code of a command that asks of something planned."""
    if words[0] == "!":
        code = _answer(planned, words[1:], cwd) if len(words) > 1 else None
        return None if code is None else int(code == 0)
    known = _ANSWERS.get(posixpath.basename(words[0]))
    return None if known is None else known(planned, [word for word in words[1:] if word != "--"], cwd)


def _test(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    words = words[:-1] if words and words[-1] == "]" else words
    if len(words) == 3 and words[1] in _COMPARED:
        return _compared(*words)
    if words and words[0] == "!":
        code = _test(planned, words[1:], cwd)
        return None if code is None else int(code == 0)
    if len(words) != 2 or words[0] not in _UNARY:
        return None
    path = _planned_path(planned, words[1], cwd)
    return None if path is None else int(not _holds(planned.files, words[0], path))


def _compared(one: str, how: str, other: str) -> int | None:
    """`test` of two texts or numbers."""
    if how.startswith("-"):
        if not (_NUMBER.fullmatch(one) and _NUMBER.fullmatch(other)):
            return None
        return int(not _COMPARED[how](int(one), int(other)))
    return int(not _COMPARED[how](one, other))


def _holds(files: PlannedFiles, what: str, path: str) -> bool:
    if what in ("-L", "-h"):
        link = files.stat(path)
        return link is not None and link.kind == "symlink"
    found = files.behind(path)
    if found is None:
        return False
    mode = found.found.st_mode
    kinds = {"-f": stat.S_ISREG, "-d": stat.S_ISDIR, "-p": stat.S_ISFIFO, "-b": stat.S_ISBLK, "-c": stat.S_ISCHR}
    if what in kinds:
        return kinds[what](mode)
    if what == "-s":
        return found.size > 0 or stat.S_ISDIR(mode)
    return what != "-x" or stat.S_ISDIR(mode) or bool(mode & 0o111)


def _listed(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    """`ls` of one path, which shows a link that leads nowhere, and not one that leads in a circle."""
    path = _only_path(planned, words, cwd)
    if path is None:
        return None
    return 2 if planned.files.stat(path) is None or planned.files.is_circle(path) else 0


def _shown(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    """`stat` of one path."""
    path = _only_path(planned, words, cwd)
    return None if path is None else int(planned.files.stat(path) is None)


def _read(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    """`cat` of one path."""
    path = _only_path(planned, words, cwd)
    if path is None:
        return None
    found = planned.files.behind(path)
    return int(found is None or found.kind == "directory")


def _only_path(planned: Planned, words: Sequence[str], cwd: str) -> str | None:
    paths = [word for word in words if not word.startswith("-")]
    return _planned_path(planned, paths[0], cwd) if len(paths) == 1 else None


def _grep(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    paths = [word for word in words if not word.startswith("-")]
    path = _planned_path(planned, paths[1], cwd) if len(paths) == 2 else None
    if path is None:
        return None
    found = planned.files.behind(path)
    if found is None or found.kind != "file":
        return 2
    text = planned.read(path).decode("utf-8", "surrogateescape")
    code = _plain_grep(words, paths[0], text)
    if code is not None:
        return code
    options = [word for word in words if word.startswith("-")]
    return planned.query(["grep", *options, "-e", paths[0]], stdin=text).returncode


def _plain_grep(words: Sequence[str], pattern: str, text: str) -> int | None:
    """What grep says of a pattern that stands for itself; None for others."""
    options = {letter for word in words if word.startswith("-") for letter in word[1:]}
    plain = pattern.removeprefix("^") if "F" not in options else pattern
    if not options <= set("qsFEx") or not plain or _SPECIAL.search(plain):
        return None
    lines = text.splitlines()
    if "x" in options:
        found = any(line == plain for line in lines)
    elif plain != pattern:
        found = any(line.startswith(plain) for line in lines)
    else:
        found = any(plain in line for line in lines)
    return int(not found)


def _account(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    names = [word for word in words if not word.startswith("-")]
    return planned.query(["getent", "passwd", names[0]]).returncode and 1 if len(names) == 1 else None


def _entry(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    return planned.query(["getent", *words]).returncode if len(words) == 2 else None


def _program(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    names = [word for word in words if not word.startswith("-")]
    if len(names) != 1 or "/" in names[0]:
        return None
    places = [f"{folder}/{names[0]}" for folder in _PATH]
    if not any(planned.files.touches(place) for place in places):
        return None
    return int(not any(_holds(planned.files, "-x", place) for place in places))


def _package(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    names = [word for word in words if not word.startswith("-")]
    package = planned.planned_packages.get(names[0]) if len(names) == 1 else None
    return None if package is None or package.version is None else int(not package.version)


def _service(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    """`systemctl is-active NAME`, `is-enabled NAME`, or `service NAME status`."""
    names = [word for word in words if not word.startswith("-")]
    if len(names) != 2:
        return None
    verb, name = names if names[0].startswith("is-") else reversed(names)
    service = planned.planned_services.get(name.removesuffix(".service"))
    if service is None:
        return None
    answer = {"is-active": service.running, "status": service.running, "is-enabled": service.enabled}.get(verb)
    if answer is None:
        raise ContentUnknown(f"how the service {name} would be, which an earlier state of this run would change")
    return 0 if answer else 3


def _mountpoint(planned: Planned, words: Sequence[str], cwd: str) -> int | None:
    table = "/proc/self/mountinfo"
    paths = [word for word in words if word.startswith("/")]
    if len(paths) != 1 or not planned.files.touches(table):
        return None
    points = (line.split()[4] for line in planned.read(table).decode("utf-8", "surrogateescape").splitlines())
    return int(posixpath.normpath(paths[0]) not in points)


def _planned_path(planned: Planned, path: str, cwd: str) -> str | None:
    """The whole path, if anything planned decides what is there."""
    if not path.startswith("/"):
        if not cwd:
            return None
        path = posixpath.join(cwd, path)
    return path if planned.looks_itself or planned.files.touches(path) else None


_PATH_FUNCTIONS = {"file.file_exists": "-f", "file.directory_exists": "-d", "file.is_link": "-L"}
"""Execution function -> the question of `test` that it asks of its path."""
_ANSWERS: Mapping[str, Callable[[Planned, Sequence[str], str], int | None]] = {
    "true": lambda *_: 0, "false": lambda *_: 1,
    "test": _test, "[": _test, "ls": _listed, "stat": _shown, "cat": _read, "grep": _grep, "id": _account,
    "getent": _entry, "which": _program, "command": _program, "dpkg": _package, "dpkg-query": _package,
    "rpm": _package, "systemctl": _service, "service": _service, "mountpoint": _mountpoint,
}  # fmt: skip
