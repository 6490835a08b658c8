"""The configuration of a Salt master or minion, read from its files with places. Called by `check` and `compare`.

Files are read as Salt puts them together: the main file, then `default_include`, then `include`. Only what lies in the
folder itself is read: a link or an `include` that leads out of it is told, and not followed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from controller.migration.limits import CONFIG_FILES
from highstate.data_limits import unbounded
from options.bounded_files import CONFIG_BYTES, FileRefused, read_bounded
from options.document import Option, UnreadableDocument, merge_options, parse_document

ConfigurationKind: TypeAlias = Literal["master", "minion"]

_DEEPEST = 20
"""Files that include each other."""


@dataclass(slots=True)
class SaltFolder:
    """A folder like /etc/salt."""

    path: Path
    root: Path = Path("/")
    """Stands before absolute paths that it names, for a copy of a machine."""
    not_read: list[str] = field(default_factory=list)
    """Files that were not read, each with the reason."""
    files: int = 0
    """That were read."""

    def text(self, path: Path) -> str:
        """The text of a file in the folder. Raises FileRefused."""
        found = self._inside(path)
        self.files += 1
        if self.files > CONFIG_FILES:
            raise FileRefused(f"{path}: there are more than {CONFIG_FILES} files")
        data = read_bounded(found, CONFIG_BYTES)
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError:
            raise FileRefused(f"{path} is not UTF-8") from None

    def has(self, name: str) -> bool:
        """Whether there is a file or folder of this name that is not empty."""
        path = self.path / name
        try:
            return bool(next(path.iterdir(), None)) if path.is_dir() else path.is_file() and path.stat().st_size > 0
        except OSError:
            return False

    def options(self, kind: ConfigurationKind) -> dict[str, Option]:
        """The options of a configuration; none where there is no such file."""
        main = self.path / kind
        options = self._parsed(main) if main.exists() else {}
        default = Option(f"{kind}.d/*.conf", "")
        for include in (options.get("default_include", default), options.get("include")):
            found: dict[str, Option] = {}
            for path in self._included(include):
                for name, option in self._with_includes(path, _DEEPEST).items():
                    found[name] = merge_options(found[name], option, join_lists=True) if name in found else option
            for name, option in found.items():
                both = kind == "master" and name in options
                options[name] = merge_options(options[name], option) if both else option
        return options

    def _inside(self, path: Path) -> Path:
        """Where a path leads, which must be in the folder."""
        try:
            found = path.resolve()
        except (OSError, RuntimeError) as error:
            raise FileRefused(f"{path} cannot be read: {error}") from None
        if not found.is_relative_to(self.path.resolve()):
            raise FileRefused(f"{path} leads out of {self.path}, and is not followed")
        return found

    def _parsed(self, path: Path) -> dict[str, Option]:
        try:
            options = parse_document(self.text(path), str(path))
        except FileRefused as refused:
            self.not_read.append(str(refused))
            return {}
        except UnreadableDocument as error:
            self.not_read.append(str(error.fault))
            return {}
        return {name: option for name, option in options.items() if self._is_bounded(name, option)}

    def _is_bounded(self, name: str, option: Option) -> bool:
        why = unbounded(option.value)
        if why:
            self.not_read.append(f"{option.place}: {name} {why}")
        return not why

    def _with_includes(self, path: Path, deepest: int) -> dict[str, Option]:
        if not deepest:
            self.not_read.append(f"{path}: files that include each other")
            return {}
        options = self._parsed(path)
        for inner in self._included(options.get("include")):
            options |= self._with_includes(inner, deepest - 1)
        return options

    def _included(self, include: Option | None) -> Iterator[Path]:
        if include is None or not include.value:
            return
        for pattern in include.value if isinstance(include.value, list) else [include.value]:
            inside = self._pattern_inside(pattern)
            if not inside:
                self.not_read.append(f"{include.place}: include: {pattern!r} is not in {self.path}")
                continue
            yield from sorted(path for path in self.path.glob(inside) if path.exists() and not path.is_dir())

    def _pattern_inside(self, pattern: object) -> str:
        """A pattern relative to the folder; empty where it is none, or leads out of it."""
        if not isinstance(pattern, str) or ".." in Path(pattern).parts:
            return ""
        if not pattern.startswith("/"):
            return pattern
        whole = self.root / pattern.lstrip("/")
        return str(whole.relative_to(self.path)) if whole.is_relative_to(self.path) and whole != self.path else ""


def is_set(option: Option) -> bool:
    """Whether an option says anything."""
    return option.value not in (None, "", [], {})


def values(options: Mapping[str, Option]) -> dict[str, object]:
    """The options without their places."""
    return {name: option.value for name, option in options.items()}
