"""A render with blanks: what templates are given in place of a minion's own values, and what they read of it.

`BlankRecorder` is the `Recorder` of such a render. What it records holds for every minion whose values may be filled
in. `blank_plans` says which values are worth a blank.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from highstate.memo.blanks import (
    MOST_BLANKS,
    Blank,
    BlankRefused,
    Leaf,
    TextPiece,
    answer,
    fillable,
    has_blanks,
    pieces_of,
    token,
)
from highstate.memo.handed_out import HandedOut
from highstate.memo.sources import Read, ReadSources, with_places
from highstate.memo.tracked import Recorder
from highstate.types import Value

_LONGEST = 500_000
"""Characters of a text with blanks: far from what any limit of templates allows, so that no value makes it too long."""
_ROOTS = ("grains", "pillar")


class BlankInputs:
    """One minion's inputs with blanks in them, for one compile."""

    def __init__(self, real: ReadSources, leaves: Sequence[Leaf]) -> None:
        self.real = real
        """The minion's own."""
        self.leaves = tuple(leaves[:MOST_BLANKS])
        """What is blank; the number of a blank is its place here."""
        self.scalars: set[str] = set()
        """Texts with blanks in them that YAML has read."""
        self.sources = replace(real, roots=self._roots(), handed_out=HandedOut(), _digests={})
        """The inputs with blanks."""
        self.exact = frozenset(self.leaves)
        self.below: dict[Leaf, tuple[tuple[Any, ...], ...]] = {}
        """Root and path -> the places of blanks below it."""
        for root, path in self.leaves:
            for at in range(len(path)):
                self.below[root, path[:at]] = (*self.below.get((root, path[:at]), ()), path[at:])
        self._asks: Recorder | None = None

    def recorder(self) -> BlankRecorder:
        """What records one render; questions of blanks are recorded there from now on."""
        self._asks = made = BlankRecorder(self)
        return made

    def text(self, text: str) -> str:
        """A text that was made of others: a blank where one is in it."""
        if type(text) is Blank or not has_blanks(text):
            return text
        if len(text) > _LONGEST:
            raise BlankRefused
        return Blank(str.__str__(text), pieces_of(text, self.leaves), self._ask)

    def translated(self, read: Read) -> Read:
        """What is read of the minion's own inputs where a render with blanks reads this."""
        kind = read[0]
        if kind not in ("peek", "value"):
            return read
        leaf = read[1], read[2]
        if leaf in self.exact:
            return ("blank", *leaf)
        places = self.below.get(leaf, ())
        if places and (kind == "value" or any(isinstance(place[0], int) for place in places)):
            return ("blanks", *leaf, places)
        return read

    def leaves_alone(self, reads: Iterable[Read]) -> bool:
        """Whether none of these is another one with blanks."""
        return all(self.translated(read) is read for read in reads)

    def _ask(self, pieces: tuple[TextPiece, ...], question: str, arguments: tuple[Any, ...]) -> Any:
        """What the text of this minion answers, recorded."""
        assert self._asks is not None  # noqa: S101  (nothing but a render has blanks)
        self._asks.record(("asked", pieces, question, arguments))
        return answer(self.real.text_of(pieces), question, arguments)

    def _roots(self) -> Mapping[str, Mapping[str, Value]]:
        roots = dict(self.real.roots)
        for root in _ROOTS:
            numbers = {path: number for number, (of, path) in enumerate(self.leaves) if of == root}

            def put(path: tuple[Any, ...], value: Value, root: str = root, numbers: Any = numbers) -> Value:
                return Blank(token(numbers[path]), ((root, path),), self._ask) if fillable(value) else value

            roots[root] = with_places(roots[root], list(numbers), put)
        return roots


class BlankRecorder(Recorder):
    """Notes what a render with blanks reads: of a blank that is only printed, that it is one."""

    def __init__(self, blanks: BlankInputs) -> None:
        super().__init__(blanks.sources)
        self.blanks = blanks
        self.plain_values = Recorder(replace(blanks.real, handed_out=HandedOut()))
        """For functions that may look into what they read: the minion's own values, in the same record."""
        self.plain_values.reads, self.plain_values.live = self.reads, self.live

    def record(self, read: Read) -> bytes:
        """Note a read; returns its digest."""
        read = self.blanks.translated(read)
        found = self.reads.get(read)
        if found is None:
            found = self.reads[read] = self.blanks.real.digest(read)
        return found

    def end(self) -> None:
        """BlankRefused where the template has changed what others see after it."""
        handed_out = self.plain_values.sources.handed_out
        if handed_out.settle() or self.sources.handed_out.settle() or self.changed() or self.plain_values.changed():
            raise BlankRefused
