"""The pillar as templates of strangers see it: its shape, with a dummy for each value that is not public. Pure.

Called by compile between the pillar, whose templates are trusted or the stranger's own, and the top file and states,
which strangers wrote. A template can make anything of what it sees: names of states, errors, lengths, the time that
it takes. So a dummy tells the type of a value, and whether it is the same as in another place of this preview where
the same key stands: in the other side, or on another minion. It tells neither length nor content.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from highstate.types import Pos, Problem, Stage, Value
from matching.matcher import prepared_glob

_SMALLEST, _NUMBERS = 10_000, 20_000
"""Dummies of numbers are also numbers of ports, and few enough times for a loop."""
_UNSEEN = "the pillar does not compile, and what is wrong with it is not shown to strangers"
_WHO_SEES = "whoever has write access sees it after the command `/saltern preview`"


@dataclass(frozen=True, kw_only=True)
class DummyPillar:
    """Puts dummies into a pillar."""

    key: bytes
    """With it, guesses of a value can be tested."""
    public: tuple[str, ...] = ()
    """Paths of keys with `:` between them, each a glob, that are shown with all below them."""
    own: bool = False
    """Whether strangers can read all of the pillar's trees, so that errors about them tell nothing."""

    def seen(self, pillar: Mapping[str, Value]) -> dict[str, Value]:
        """The pillar with dummies."""
        return {name: self._seen(value, (str(name),)) for name, value in pillar.items()}

    def problems(self, problems: Sequence[Problem]) -> tuple[Problem, ...]:
        """What is said of a pillar that does not compile: texts of it stand in its errors."""
        if self.own or not problems:
            return tuple(problems)
        return (Problem(message=_UNSEEN, pos=Pos(file="pillar", stage=Stage.PILLAR), hint=_WHO_SEES),)

    def _seen(self, value: Value, path: tuple[str, ...]) -> Value:
        if self._is_public(path):
            return value
        if isinstance(value, Mapping):
            return {name: self._seen(each, (*path, str(name))) for name, each in value.items()}
        if isinstance(value, list | tuple):
            return [self._seen(each, (*path, str(place))) for place, each in enumerate(value)]
        return self._dummy(value, path)

    def _dummy(self, value: Value, path: tuple[str, ...]) -> Value:
        if value is None or isinstance(value, bool):
            return value if value is None else True
        text = "\0".join((*path, "", type(value).__name__, str(value)))
        digest = hmac.new(self.key, text.encode("utf-8", "surrogatepass"), hashlib.sha256).hexdigest()[:12]
        if isinstance(value, int | float):
            return type(value)(_SMALLEST + int(digest, 16) % _NUMBERS)
        return f"dummy-{digest}".encode() if isinstance(value, bytes) else f"dummy-{digest}"

    def _is_public(self, path: Sequence[str]) -> bool:
        """Whether a glob is of this path; of what lies below a public one nobody asks."""
        return any(
            len(globs) == len(path) and all(glob(name) for glob, name in zip(globs, path, strict=True))
            for globs in self._globs
        )

    @cached_property
    def _globs(self) -> tuple[tuple[Callable[[str], bool], ...], ...]:
        return tuple(tuple(map(prepared_glob, each.split(":"))) for each in self.public)
