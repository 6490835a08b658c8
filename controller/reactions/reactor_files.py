"""SLS of reactors as the option `reactor` names them -> files that can be rendered.

`salt://PATH` is a file of the tree. An absolute path is a file of this machine, and may have globs; it is rendered
beside the tree, so that what it imports comes from there, as in Salt.
"""

from __future__ import annotations

import glob
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from highstate.files import FilesBeside
from highstate.types import Files, Pos, Problem, Stage

MOST_BYTES = 1024 * 1024
"""Of a file of this machine."""
MOST_FILES = 1000
"""That one glob gives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorFile:
    """One SLS to render."""

    sls: str
    """As it is shown."""
    path: str
    """In the tree."""
    saltenv: str = "base"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorFiles:
    """What the SLS of one event are rendered from."""

    tree: Files
    files: tuple[ReactorFile, ...]
    problems: tuple[Problem, ...] = ()
    """SLS that are not there or cannot be read."""


def find_files(sls: Sequence[str], tree: Files, *, beside: Path | None = None) -> ReactorFiles:
    """The files that these SLS mean, in their order; a file that is named twice is there twice.

    Args:
        sls: as the option names them.
        tree: of `salt://`.
        beside: folder that relative paths are in; None: there are none.
    """
    files: list[ReactorFile] = []
    problems: list[Problem] = []
    contents: dict[str, bytes] = {}
    for name in sls:
        if name.startswith("salt://"):
            path, _, query = name.removeprefix("salt://").partition("?saltenv=")
            saltenv = query or "base"
            if tree.oid(path, saltenv) is None:
                problems.append(_problem(name, f"there is no {path} in saltenv {saltenv}"))
            else:
                files.append(ReactorFile(sls=name, path=path, saltenv=saltenv))
            continue
        found = _on_disk(name, beside, contents)
        files += [ReactorFile(sls=path, path=path) for path in found.paths]
        problems += found.problems
    return ReactorFiles(tree=FilesBeside(tree, contents), files=tuple(files), problems=tuple(problems))


@dataclass(frozen=True, slots=True)
class _Found:
    paths: list[str]
    problems: list[Problem]


def _on_disk(name: str, beside: Path | None, contents: dict[str, bytes]) -> _Found:
    if not name.startswith("/"):
        if beside is None:
            hint = "write an absolute path, or salt://PATH for a file of the tree"
            return _Found([], [_problem(name, "is no absolute path", hint)])
        name = str(beside / name)
    paths = sorted(glob.glob(name))  # noqa: PTH207 - Salt's globs; Path.glob takes no absolute ones
    if not paths:
        return _Found([], [_problem(name, "there is no such file")])
    if len(paths) > MOST_FILES:
        return _Found([], [_problem(name, f"stands for {len(paths)} files; {MOST_FILES} may be")])
    problems: list[Problem] = []
    for path in paths:
        try:
            with Path(path).open("rb") as file:
                contents[path] = file.read(MOST_BYTES + 1)
        except OSError as error:
            problems.append(_problem(path, f"cannot be read: {error.strerror}"))
            contents.pop(path, None)
            continue
        if len(contents[path]) > MOST_BYTES:
            problems.append(_problem(path, f"has more than {MOST_BYTES} bytes"))
            del contents[path]
    return _Found([path for path in paths if path in contents], problems)


def _problem(sls: str, message: str, hint: str = "") -> Problem:
    return Problem(message=f"reactor SLS {sls}: {message}", pos=Pos(file=sls, stage=Stage.RENDER), hint=hint)
