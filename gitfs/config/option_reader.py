"""Salt's lists of options, converted to declared types; every fault is collected with the path of its value.

Called by `gitfs.config.remotes`, which knows which options there are. A path leads from the name of an option through
keys and indexes to a value in it, and the reader of the files finds its file and line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from gitfs.config.urls import redact
from gitfs.errors import BadRemoteSettings, OptionPath
from options.convert import Unwanted, convert_value

_ENTRY_STEPS = {"gitfs_remotes": 2, "ext_pillar": 4}
"""Option -> steps that lead to one remote in its list; the next is the remote's text."""
_AS_A_LIST = "write options as a list of `- option: value`"


@dataclass(frozen=True, slots=True)
class GivenOption:
    """A value, and where it was set."""

    value: Any
    path: OptionPath


def path_text(path: OptionPath) -> str:
    """A path as people read it: `ext_pillar[0].git[1]: root`; without the places of options in their lists."""
    steps = _ENTRY_STEPS.get(str(path[0]), 0)
    text = str(path[0])
    for step in path[1:steps]:
        text += f"[{step}]" if isinstance(step, int) else f".{step}"
    rest = path[steps + 1 :] if steps else path[1:]
    return ": ".join((text, *(step for step in rest if isinstance(step, str))))


class OptionReader:
    """Collects what is wrong with the options that it reads."""

    def __init__(self) -> None:
        self.faults: list[BadRemoteSettings] = []

    @contextmanager
    def collecting(self, path: OptionPath) -> Iterator[None]:
        """Collect BadRemoteSettings; one without a path is taken to be about `path`."""
        try:
            yield
        except BadRemoteSettings as error:
            self.faults += [fault if fault.path else BadRemoteSettings(str(fault), path) for fault in error.faults]

    def finish(self) -> None:
        """Raise what was collected."""
        if len(self.faults) == 1:
            raise self.faults[0]
        if self.faults:
            raise BadRemoteSettings("\n".join(map(str, self.faults)), faults=self.faults)

    def pairs(self, given: GivenOption, wanted: str = _AS_A_LIST) -> list[tuple[str, GivenOption]]:
        """(key, value) of Salt's list of one-key mappings, or of one mapping.

        Args:
            given: the list or mapping.
            wanted: what the fault says when it is neither.
        """
        found: dict[str, GivenOption] = {}
        parts = [given.value] if isinstance(given.value, Mapping) else given.value
        if not isinstance(parts, Sequence) or isinstance(parts, str | bytes):
            parts = [None]
        for number, part in enumerate(parts):
            path = given.path if part is given.value else (*given.path, number)
            if not isinstance(part, Mapping):
                self.refuse(path, f"{path_text(given.path)}: {wanted}")
                continue
            for key, value in part.items():
                inside = (*path, str(key))
                if str(key) in found:
                    self.refuse(inside, f"{path_text(given.path)}: the option {str(key)!r} is given twice")
                found.setdefault(str(key), GivenOption(value, inside))
        return list(found.items())

    def items(self, given: GivenOption) -> list[GivenOption]:
        """The values of a list; null counts as an empty one."""
        if given.value is None:
            return []
        if isinstance(given.value, Sequence) and not isinstance(given.value, str | bytes):
            return [GivenOption(value, (*given.path, number)) for number, value in enumerate(given.value)]
        self.refuse(given.path, f"{path_text(given.path)} must be a list, not a {type(given.value).__name__}")
        return []

    def entries(self, given: GivenOption) -> Iterator[tuple[str, GivenOption]]:
        """(text, options) of each entry of a list of `text` or `{text: [{option: value}, ...]}`."""
        for item in self.items(given):
            entry, path = item.value, item.path
            if isinstance(entry, str):
                yield entry, GivenOption((), path)
            elif isinstance(entry, Mapping) and len(entry) == 1:
                text, options = next(iter(entry.items()))
                if options is None:
                    message = f"nothing stands below {redact(str(text))}; remove the colon after it"
                    self.refuse(path, f"{path_text(path)}: {message}")
                else:
                    yield str(text), GivenOption(options, (*path, str(text)))
            else:
                self.refuse(path, f"{path_text(path)}: write a URL, or one URL with its options below it")

    def convert(self, given: GivenOption, kind: Any) -> GivenOption | None:
        """The value as its type has it; None when it cannot be."""
        try:
            return GivenOption(convert_value(given.value, kind), given.path)
        except Unwanted as error:
            what = f"{path_text(given.path)} must be {error.wanted}, not a {type(given.value).__name__}"
            self.refuse((*given.path, *error.inside), what)
        return None

    def refuse(self, path: OptionPath, message: str) -> None:
        """Collect a fault."""
        self.faults.append(BadRemoteSettings(message, path))
