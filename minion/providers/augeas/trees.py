"""Files read into Augeas's tree, changed there, and written as text again: all in memory.

Called by the state and the execution module `augeas`. libaugeas is given the content of a file and gives the new one
(aug_text_store, aug_text_retrieve), so that a plan reads with its Reader alone and knows the new content to the byte.
The library is imported where a state or function needs it.
"""

from __future__ import annotations

import functools
import os
import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import FileStat, Machine, Reader
from minion.providers.augeas.commands import AugeasCommand
from minion.providers.augeas.paths import FILES, Transform, first_taking, is_below, node_of, prefixes

Behind = Callable[[Reader, str], tuple[str, FileStat | None]]
"""Says where a path ends up behind symlinks, and what is there."""

_BRINGING = frozenset(("archive", "cmd", "file", "module", "pip", "pkg", "pkgrepo"))
"""State modules that may bring what the library lacks: itself, and lenses."""
_LENSES = ("/usr/share/augeas/lenses", "/usr/share/augeas/lenses/dist")
_TEXT, _TREE, _NEW = "/saltern/old", "/saltern/tree", "/saltern/new"
_ERROR = f"/augeas/text{_TREE}/error"


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """What would become of a file."""

    name: str
    place: str
    """Where it stands, behind symlinks."""
    old: bytes | None
    """None where there is none."""
    new: bytes | None
    """None where it goes."""

    def make(self, machine: Machine) -> None:
        """Make it so."""
        if self.new is None:
            machine.remove(self.place)
        else:
            machine.write(self.place, self.new)


@dataclass(slots=True, kw_only=True)
class _Loaded:
    lens: str
    place: str
    old: bytes | None
    text: str


class AugeasTrees:
    """The files that commands lead into. `replacing`: contents that stand for those of the machine."""

    def __init__(
        self, machine: Reader, behind: Behind, lens: str | None = None, load_path: Sequence[str] = (),
        to_come: Collection[tuple[str, str]] = (), replacing: Mapping[str, bytes | None] | None = None,
    ) -> None:  # fmt: skip
        """Raises StateFailed where the library is missing; ContentUnknown where the run may bring it."""
        self._machine, self._behind, self._lens, self._replacing = machine, behind, lens, replacing or {}
        self._to_come = to_come
        self._folders = tuple(one for one in load_path if posixpath.isabs(one) and Path(one).is_dir())
        self._loaded: dict[str, _Loaded] = {}
        self._transforms: tuple[Transform, ...] = ()
        try:
            if lens:
                self._augeas = _library()(loadpath=_joined(self._folders), flags=_NO_LOAD | _NO_AUTOLOAD)
            else:
                self._augeas, self._transforms = _autoloaded(self._folders, _stamp(self._folders))
        except ImportError:
            raise self._lacking("the library for Python is not installed: install saltern[augeas]") from None
        except OSError:
            raise self._lacking("libaugeas is not installed: install the package libaugeas0") from None
        for node in (FILES, "/saltern", "/augeas/text"):  # of an earlier use
            self._augeas.remove(node)

    def file_of(self, expression: str, *, new: bool = False) -> str | None:
        """The file that a path leads into; with `new` one that is not there, too."""
        if not expression.startswith(f"{FILES}/"):
            return None
        paths = list(prefixes(expression))
        for path in paths:
            if path in self._loaded or path in self._replacing or self._is_file(path):
                return path
        if new and not self._lens:
            return next((path for path in paths if first_taking(self._transforms, path)), None)
        return None

    def load(self, path: str) -> None:
        """Read a file into the tree. Raises StateFailed where there is no lens for it, or the lens does not fit."""
        if path in self._loaded:
            return
        lens = self._lens_for(path)
        place, old = self._content(path)
        try:
            text = "" if old is None else old.decode()
        except UnicodeDecodeError as error:
            raise StateFailed(f"Error: {path} is not in UTF-8, which is all that Augeas is given") from error
        if "\0" in text:
            raise StateFailed(f"Error: {path} holds NUL characters")
        if text and not text.endswith("\n"):
            text += "\n"  # as libaugeas itself reads files
        self._loaded[path] = _Loaded(lens=lens, place=place, old=old, text=text)
        if text:
            self._asked("set", _TEXT, text)
            self._transformed("text_store", path, lens, _TEXT, _TREE)
            self._asked("move", _TREE, node_of(path))  # text_store itself takes no names with blanks

    def loaded(self) -> list[str]:
        """The files that were read."""
        return list(self._loaded)

    def perform(self, command: AugeasCommand) -> None:
        """Do a command. Raises StateFailed."""
        for number in command.paths:
            expression = command.words[number]
            path = self.file_of(expression, new=True)
            if path is None:
                raise StateFailed(f"Error: {command.text}: there is no lens for a file that {expression} leads into")
            self.load(path)
        words: list[Any] = list(command.words)
        match command.method:
            case "set" if len(words) == 1:
                words.append("")
            case "setm" if len(words) == 2:
                words.append("")
            case "insert":
                label, where, path = words
                words = [path, label, where == "before"]
        self._asked(command.method, *words)

    def set(self, expression: str, value: str) -> None:
        """Set the value of a node."""
        self.perform(AugeasCommand(f"set {expression}", "set", (expression, value), (0,)))

    def remove(self, expression: str) -> int:
        """Remove nodes; how many there were."""
        path = self.file_of(expression)
        if path is None:
            return 0
        self.load(path)
        return int(self._asked("remove", expression))

    def values(self, expression: str) -> dict[str, str | None]:
        """The nodes that an expression leads to, with their values. Files are read that it leads into."""
        path = self.file_of(expression)
        if path is not None:
            self.load(path)
        return {node: value_of(self._augeas, node) for node in self._asked("match", expression)}

    def changes(self) -> list[FileChange]:
        """What would become of the files."""
        self._refuse_strays()
        found = [(path, each, self._new_text(path, each)) for path, each in self._loaded.items()]
        return [
            FileChange(name=path, place=each.place, old=each.old, new=None if new is None else new.encode())
            for path, each, new in found
            if new != (None if each.old is None else each.text)
        ]

    def _new_text(self, path: str, loaded: _Loaded) -> str | None:
        node = node_of(path)
        if not self._asked("match", node):
            return None if loaded.old is None or loaded.text else ""
        self._asked("set", _TEXT, loaded.text)
        self._asked("copy", node, _TREE)
        self._transformed("text_retrieve", path, loaded.lens, _TEXT, _TREE, _NEW)
        return value_of(self._augeas, _NEW) or ""

    def _refuse_strays(self) -> None:
        """Nodes that belong to no file that was read would be lost without a word."""
        known = [node_of(path) for path in self._loaded]
        above = [FILES]
        while above:
            for node in self._asked("match", f"{above.pop()}/*"):
                if any(is_below(one, node) and one != node for one in known):
                    above.append(node)
                elif node not in known:
                    raise StateFailed(f"Error: {node} is in no file that is read: nothing would be written of it")

    def _lens_for(self, path: str) -> str:
        if self._lens:
            return self._lens
        found = first_taking(self._transforms, path)
        if found is None:
            raise StateFailed(f"Error: there is no lens for {path}: name one by `lens` and `context`")
        return found.lens

    def _is_file(self, path: str) -> bool:
        _, found = self._behind(self._machine, path)
        return found is not None and found.kind == "file"

    def _content(self, path: str) -> tuple[str, bytes | None]:
        place, found = self._behind(self._machine, path)
        if path in self._replacing:
            return place, self._replacing[path]
        if found is not None and found.kind != "file":
            raise StateFailed(f"Error: {path} is no file")
        return place, None if found is None else self._machine.read(place)

    def _asked(self, method: str, *words: Any) -> Any:
        try:
            value = getattr(self._augeas, method)(*words)
        except (ValueError, RuntimeError) as error:
            raise StateFailed(f"Error: {error}") from error
        if value == -1:
            raise StateFailed(f"Error: Invalid path expression: {words[0]}")
        return value

    def _transformed(self, method: str, path: str, *words: str) -> None:
        try:
            getattr(self._augeas, method)(*words)
        except ValueError as error:
            raise self._why(method, path, words[0], str(error)) from error

    def _why(self, method: str, path: str, lens: str, said: str) -> Exception:
        if not self._asked("match", _ERROR):
            hint = f'\nLenses are normally configured as "name.lns". Did you mean "{lens}.lns"?'
            hint = "" if lens.endswith(".lns") else hint
            return self._lacking(f"{said.rpartition(': ')[2]}{hint}")
        line = value_of(self._augeas, f"{_ERROR}/line")
        message = (
            str(value_of(self._augeas, f"{_ERROR}/message")).partition("\n with pattern")[0].strip().replace(_TREE, "")
        )
        done = "cannot be read" if method == "text_store" else "cannot be written with these changes"
        return StateFailed(f"Error: {path} {done} by the lens {lens}{f', line {line}' if line else ''}: {message}")

    def _lacking(self, why: str) -> Exception:
        if any(state in _BRINGING for state, _ in self._to_come):
            return ContentUnknown(f"what Augeas would make of the file: {why}")
        return StateFailed(f"Error: {why}")


def value_of(augeas: Any, node: str) -> str | None:
    """The value of a node; None where it has none. The library has empty ones as bytes."""
    value = augeas.get(node)
    return "" if value == b"" else value


def whole_tree(load_path: Sequence[str]) -> Any:
    """All files that there are lenses for, as libaugeas reads them itself. Raises StateFailed."""
    try:
        return _library()(loadpath=_joined(load_path))
    except ImportError:
        raise StateFailed("the library for Python is not installed: install saltern[augeas]") from None
    except OSError:
        raise StateFailed("libaugeas is not installed: install the package libaugeas0") from None


_NO_LOAD, _NO_AUTOLOAD = 1 << 5, 1 << 6
"""AUG_NO_LOAD and AUG_NO_MODL_AUTOLOAD of augeas.h."""


def _library() -> Any:
    from augeas import Augeas  # it opens libaugeas

    return Augeas


def _joined(folders: Sequence[str]) -> str | None:
    return ":".join(folders) or None


def _stamp(folders: Sequence[str]) -> tuple[int, ...]:
    """When modules were last added."""
    own = os.environ.get("AUGEAS_LENS_LIB", "").split(":")
    return tuple(Path(one).stat().st_mtime_ns for one in (*folders, *own, *_LENSES) if one and Path(one).is_dir())


@functools.lru_cache(maxsize=1)
def _autoloaded(folders: tuple[str, ...], stamp: tuple[int, ...]) -> tuple[Any, tuple[Transform, ...]]:
    """All lenses; kept for the states of a run, since reading them takes a second."""
    augeas = _library()(loadpath=_joined(folders), flags=_NO_LOAD)
    return augeas, tuple(
        Transform(
            lens=str(augeas.get(f"{each}/lens")),
            includes=tuple(str(augeas.get(one)) for one in augeas.match(f"{each}/incl")),
            excludes=tuple(str(augeas.get(one)) for one in augeas.match(f"{each}/excl")),
        )
        for each in augeas.match("/augeas/load/*")
    )
