"""Where blanks may stand in the SLS of a compile, and what must hold of the values that are filled in there.

An argument that a compile only carries along gets a `Placeholder`, which notices when someone looks at it all the same.
IDs, names and requisites are looked at: they are compared with one another, so that filled in they must be different
where they were different. A blank anywhere else is refused. Called by `blank_compile`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from highstate.compile.high import REQUISITE_ARGUMENTS
from highstate.compile.shapes import Placeholder, carried
from highstate.memo.blanks import BlankRefused, Filled, NotAlike, form_of, has_blanks
from highstate.types import Chunk, Value

_WHOLE = ("include", "extend", "exclude")
_REQUISITES = frozenset(
    (
        *REQUISITE_ARGUMENTS,
        "require_in",
        "watch_in",
        "onfail_in",
        "onchanges_in",
        "prereq_in",
        "listen_in",
        "use",
        "use_in",
    )
)
_PATTERN = frozenset("*?[]")


@dataclass(slots=True, eq=False)
class Placed:
    """What blanks are in the SLS of a compile."""

    placeholders: list[Placeholder] = field(default_factory=list)
    compared: set[str] = field(default_factory=set)
    """Texts that a compile compares with one another."""
    wanted: set[str] = field(default_factory=set)
    """Those that requisites name."""

    def place(self, data: Mapping[Value, Value], step: int) -> dict[Value, Value]:
        """The data of an SLS with placeholders; BlankRefused where a blank is in a place that a compile looks at."""
        made: dict[Value, Value] = {}
        for id_, declaration in data.items():
            if id_ in _WHOLE or not isinstance(declaration, dict):
                _refuse(declaration)
                self._compare(id_)
                self.compared.update(_texts(declaration))
                made[id_] = declaration
                continue
            self._compare(id_)
            made[id_] = {state: self._run(state, run, (step, id_)) for state, run in declaration.items()}
        return made

    def _run(self, state: Value, run: Value, location: tuple[int, Value]) -> Value:
        _refuse(state)
        if not isinstance(run, list):
            _refuse(run)
            return run
        return [self._argument(argument, location) for argument in run]

    def _argument(self, argument: Value, location: tuple[int, Value]) -> Value:
        if not isinstance(argument, dict) or len(argument) != 1:
            _refuse(argument)
            self.compared.update(_texts(argument))
            return argument
        [(key, value)] = argument.items()
        _refuse(key)
        if carried(argument):
            if form_of(value) is None:
                if isinstance(value, str):
                    self.compared.add(value)  # a requisite may name a state by any of its arguments
                return argument
            placeholder = Placeholder(location, len(self.placeholders), value)
            self.placeholders.append(placeholder)
            return {key: placeholder}
        if key == "name":
            self._compare(value)
        elif key == "names" and isinstance(value, list):
            for name in value:
                self._compare(name)
        elif key in _REQUISITES and isinstance(value, list):
            for requisite in value:
                self._requisite(requisite)
        else:
            _refuse(value)
            self.compared.update(_texts(value))
        return argument

    def _requisite(self, requisite: Value) -> None:
        if isinstance(requisite, dict) and len(requisite) == 1:
            [(state, requisite)] = requisite.items()
            _refuse(state)
        self._compare(requisite)
        if isinstance(requisite, str):
            self.wanted.add(requisite)

    def _compare(self, value: Value) -> None:
        if isinstance(value, str):
            self.compared.add(value)
        else:
            _refuse(value)
            self.compared.update(_texts(value))


def _refuse(value: Value) -> None:
    if form_of(value) is not None:
        raise BlankRefused


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _texts(key)
            yield from _texts(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner)


@dataclass(frozen=True, slots=True)
class ComparedTexts:
    """Texts that a compile compares, of which some have blanks."""

    fixed: frozenset[str]
    forms: tuple[Filled, ...]
    tags: bool = False
    """Whether tags of chunks could be the same although IDs and names are not: signs of theirs are in a text."""

    def check(self, texts: Sequence[str]) -> None:
        """NotAlike where two of them are the same, filled in with these texts."""
        made = {form(texts) for form in self.forms}
        if len(made) < len(self.forms) or not self.fixed.isdisjoint(made):
            raise NotAlike


def compared_texts(placed: Placed, chunks: Sequence[Chunk]) -> ComparedTexts:
    """What must differ; BlankRefused where more than whether they differ matters: the order of names, and patterns."""
    if any(has_blanks(each) for chunk in chunks for each in (chunk.state, chunk.fun, chunk.sls, chunk.saltenv)):
        raise BlankRefused
    blank = {text for text in placed.compared if has_blanks(text)}
    if len({chunk.tag for chunk in chunks}) < len(chunks):
        raise BlankRefused
    if not blank:
        return ComparedTexts(frozenset(), ())
    if any(not _PATTERN.isdisjoint(wanted) for wanted in placed.wanted):
        raise BlankRefused
    if len({chunk.order for chunk in chunks}) < len(chunks):
        raise BlankRefused
    forms = tuple(form for text in blank if (form := form_of(text)) is not None)
    tags = any("|" in text for text in blank)
    return ComparedTexts(frozenset((placed.compared - blank) | set(_WHOLE)), forms, tags)
