"""Blanks: texts that stand for a value of a minion, so that one compile serves all minions whose value is another text.

A `Blank` is text: joined, formatted and printed, it carries its mark into what comes out, where `form_of` finds it to
fill in the value of each minion. Who asks for the value itself asks a question that can be put to each minion
(`startswith`, `==`: the answer is a read like any other), or gets `BlankRefused`, and the value is no blank any more.
Law (property-tested): filled in = compiled afresh. Source: docs/adr/0026-blanks.md.
"""

from __future__ import annotations

import marshal
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

from highstate.types import Value

Leaf: TypeAlias = tuple[str, tuple[Any, ...]]
"""`grains` or `pillar`, and the keys and indexes below it."""
TextPiece: TypeAlias = "str | Leaf"
Question: TypeAlias = "Callable[[tuple[TextPiece, ...], str, tuple[Any, ...]], Any]"

_MARK = "qzjxk"
_MARK_BYTES = _MARK.encode()
"""Begins with a letter that no escape of YAML has; is nothing but text in any scalar."""
TOKEN = re.compile(_MARK + r"(\d{4})kxjzq")
"""The mark of a blank; the group is its number."""
MOST_BLANKS = 2000
_FILLABLE = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,98}[A-Za-z0-9_])?")
"""Values that may be filled in: one word, which means the same wherever it stands in YAML, JSON and quotes, unless it
is a number, a date or a word like `yes` (`always_text`, `BlankScalars`)."""
LONGEST = 100
_ALWAYS_TEXT = re.compile("[ghjkmpqvwGHJKMPQVW]")
"""Letters that are in no scalar of YAML but text."""
ASKED = frozenset(
    [
        "startswith",
        "endswith",
        "split",
        "rsplit",
        "lower",
        "upper",
        "title",
        "capitalize",
        "find",
        "rfind",
        "count",
        "isdigit",
        "isalpha",
        "isnumeric",
        "isalnum",
        "isdecimal",
        "islower",
        "isupper",
        "strip",
        "lstrip",
        "rstrip",
        "replace",
        "partition",
        "rpartition",
        "removeprefix",
        "removesuffix",
    ]
)
"""Methods of text that are questions."""
QUESTIONS = frozenset(("__len__", "__contains__", "__getitem__", "__eq__", "__lt__", "__le__", "__gt__", "__ge__"))
_WITHIN = "within"
_SLICE = "slice"


class BlankRefused(BaseException):
    """A template looks into a blank in a way that is no question. No Exception: filters and Jinja catch those."""

    def __init__(self, leaves: Iterable[Leaf] = ()) -> None:
        super().__init__()
        self.leaves = frozenset(leaves)
        """The blanks; none: all of them."""


def fillable(value: Value) -> bool:
    """Whether a value may be a blank's."""
    return type(value) is str and _FILLABLE.fullmatch(value) is not None and _MARK not in value


def token(number: int) -> str:
    """The mark of a blank."""
    return f"{_MARK}{number:04d}kxjzq"


def has_blanks(text: str) -> bool:
    """Whether a text has the mark of a blank in it."""
    return _MARK in text


def may_have_blanks(value: Value) -> bool:
    """Whether marks of blanks may be in a value; nearly all values have none, and this finds that out quickly."""
    try:
        return _MARK_BYTES in marshal.dumps(value, 2)
    except ValueError:  # no plain data
        return True


def pieces_of(text: str, leaves: Sequence[Leaf]) -> tuple[TextPiece, ...]:
    """A text as what stands in it and the blanks between."""
    found = TOKEN.split(text)
    pieces: list[TextPiece] = []
    for at, part in enumerate(found):
        if at % 2:
            pieces.append(leaves[int(part)])
        elif part:
            pieces.append(part)
    return tuple(pieces)


def answer(text: str, question: str, arguments: tuple[Any, ...]) -> Any:
    """What a text answers."""
    if question == _WITHIN:
        return text in arguments[0]
    if question == _SLICE:
        return text[slice(*arguments)]
    if question in QUESTIONS or question in ASKED:
        return getattr(text, question)(*arguments)
    raise ValueError(f"no such question: {question!r}")


class Blank(str):
    """Text with the marks of blanks in it."""

    __slots__ = ("ask", "pieces")

    ask: Question
    pieces: tuple[TextPiece, ...]

    def __new__(cls, text: str, pieces: tuple[TextPiece, ...], ask: Question) -> Blank:
        """`pieces`: what the text is made of; `ask` answers questions about it."""
        made = super().__new__(cls, text)
        made.pieces, made.ask = pieces, ask
        return made

    @property
    def leaves(self) -> frozenset[Leaf]:
        """The values that it stands for."""
        return frozenset(piece for piece in self.pieces if not isinstance(piece, str))

    def question(self, asked: str, *arguments: Any, **named: Any) -> Any:
        """What the text of this minion answers."""
        plain = all(isinstance(one, str | int | None) and type(one) is not Blank for one in _flat(arguments))
        if named or not plain:
            raise BlankRefused(self.leaves)
        return self.ask(self.pieces, asked, arguments)

    def within(self, text: str) -> Any:
        """Whether it is a part of a text."""
        return self.question(_WITHIN, str(text)) if type(text) is not Blank else self._refuse()

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise BlankRefused(self.leaves)

    def __str__(self) -> str:
        return str.__str__(self)

    def __repr__(self) -> str:
        return repr(str.__str__(self))  # a value that is filled in has nothing that is escaped or ends the quotes

    def __format__(self, how: str) -> str:
        return str.__str__(self) if not how else self._refuse()

    def __bool__(self) -> bool:
        return True  # a value that is filled in is not empty

    def __len__(self) -> int:
        return int(self.question("__len__"))

    def __contains__(self, part: object) -> bool:
        return bool(self.question("__contains__", part))

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return self.question(_SLICE, at.start, at.stop, at.step)
        return self.question("__getitem__", at) if isinstance(at, int) else self._refuse()

    def __eq__(self, other: object) -> bool:
        if type(other) is Blank:
            return True if str.__eq__(self, other) else self._refuse()
        if type(other) is str:
            return bool(self.question("__eq__", other))
        return bool(self._refuse()) if isinstance(other, str) else False

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __copy__(self) -> Blank:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Blank:
        return self

    __hash__ = __iter__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __add__ = __radd__ = __mul__ = __rmul__ = __mod__ = __rmod__ = _refuse
    __int__ = __float__ = __index__ = __reduce_ex__ = __reduce__ = _refuse


def _asking(name: str) -> Any:
    def ask(self: Blank, *arguments: Any, **named: Any) -> Any:
        return self.question(name, *arguments, **named)

    return ask


for _name in dir(str):
    if not _name.startswith("_"):
        setattr(Blank, _name, _asking(_name) if _name in ASKED else Blank._refuse)


def _flat(arguments: tuple[Any, ...]) -> Iterable[Any]:
    for one in arguments:
        if isinstance(one, tuple):
            yield from one
        else:
            yield one


def without_blanks(value: Value, made: dict[int, tuple[Value, Value]] | None = None) -> Value:
    """Plain data with marks as plain text in the place of blanks; what stands in it twice still is one object.

    `made`: by identity, what was gone through by now, and what became of it.
    """
    if type(value) is Blank:
        return str.__str__(value)
    if not isinstance(value, dict) and type(value) not in (list, tuple):
        return value
    made = {} if made is None else made
    if id(value) not in made:
        if isinstance(value, dict):
            copied: Value = {key: without_blanks(inner, made) for key, inner in value.items()}
        else:
            copied = type(value)(without_blanks(inner, made) for inner in value)
        made[id(value)] = value, copied
    return made[id(value)][1]


Filled: TypeAlias = "Callable[[Sequence[str]], Value]"


def form_of(value: Value) -> Filled | None:
    """What gives the value with texts in the place of the marks in it; None when there are none. Keys have none."""
    if isinstance(value, str):
        return partial(_filled_text, tuple(TOKEN.split(value)[::2]), numbers_in(value)) if _MARK in value else None
    if isinstance(value, dict):
        parts = {key: form for key, inner in value.items() if (form := form_of(inner)) is not None}
        if any(isinstance(key, str) and _MARK in key for key in value):
            return partial(_filled_keys, value)
        return partial(_filled_mapping, value, parts) if parts else None
    if type(value) in (list, tuple):
        places = [(at, form) for at, inner in enumerate(value) if (form := form_of(inner)) is not None]
        return partial(_filled_list, value, places) if places else None
    return None


def numbers_in(text: str) -> tuple[int, ...]:
    """The numbers of the blanks in a text."""
    return tuple(map(int, TOKEN.findall(text)))


def _filled_text(between: tuple[str, ...], numbers: tuple[int, ...], texts: Sequence[str]) -> str:
    if len(numbers) == 1:
        return between[0] + texts[numbers[0]] + between[1]
    parts = [between[0]]
    for number, after in zip(numbers, between[1:], strict=True):
        parts += texts[number], after
    return "".join(parts)


def _filled_mapping(value: Mapping[Any, Value], parts: Mapping[Any, Filled], texts: Sequence[str]) -> dict[Any, Value]:
    made = dict(value)
    for key, form in parts.items():
        made[key] = form(texts)
    return made


def _filled_keys(value: Mapping[Any, Value], texts: Sequence[str]) -> dict[Any, Value]:
    made = {fill(key, texts): fill(inner, texts) for key, inner in value.items()}
    if len(made) < len(value):
        raise NotAlike
    return made


def _filled_list(value: Sequence[Value], places: Sequence[tuple[int, Filled]], texts: Sequence[str]) -> Sequence[Value]:
    made = list(value)
    for at, form in places:
        made[at] = form(texts)
    return made if isinstance(value, list) else tuple(made)


def fill(value: Value, texts: Sequence[str]) -> Value:
    """The value with texts in the place of the marks in it; the same object when there are none."""
    form = form_of(value)
    return value if form is None else form(texts)


class NotAlike(Exception):
    """With these values a compile does something else: two texts that differed are one now, or a text is a number."""


def always_text(texts: Iterable[str]) -> bool:
    """Whether each text makes text of whatever scalar it is in."""
    return all(map(_ALWAYS_TEXT.search, texts))
