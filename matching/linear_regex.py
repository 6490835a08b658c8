"""Regular expressions in linear time: whether a text matches, with Python's meaning, on the engine RE2.

Called by `matcher`. Python's own parser reads a pattern, so that what is no pattern is Python's error, and each node of
what was parsed is written in RE2's syntax, so that no notation can mean two things. What RE2 cannot do, or does
otherwise, is refused with the reason: lookaround, references to groups, atomic groups, and for text that is not ASCII
word boundaries and letters of either case. It gives no groups, for which the two engines differ.
Source: https://github.com/google/re2/wiki/Syntax (docs/adr/0016).
"""

from __future__ import annotations

import functools
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from re import _parser  # type: ignore[attr-defined]  # the parser of `re`: typeshed does not know it
from typing import Any, TypeAlias

from matching.limits import TREE_PATTERNS, PatternLimits

_Ranges: TypeAlias = Sequence[tuple[int, int]]
"""Code points from and to, both included."""

_TOO_LARGE = ("pattern too large", "invalid repetition size", "bad repetition operator")
"""Errors of RE2 that depend on the size of a pattern, and not on how it is written."""
_MOST_REPEATED = 1000
"""What RE2 takes as a count of repetitions."""
_CASES = ({0x69, 0x49, 0x130, 0x131}, {0x73, 0x53, 0x17F}, {0x6B, 0x4B, 0x212A})
"""ASCII letters that are the same as letters outside of ASCII when case is ignored: Python's table."""
_ASCII_CLASSES: dict[str, _Ranges] = {
    "DIGIT": ((0x30, 0x39),),
    "SPACE": ((0x09, 0x0D), (0x20, 0x20)),
    "WORD": ((0x30, 0x39), (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)),
}
_ASCII_SPACE: _Ranges = ((0x09, 0x0D), (0x1C, 0x20))
"""Of `\\s` without the flag ASCII."""
_EMPTY_IS_NO_BOUNDARY = re.search(r"\B", "") is not None
"""Before Python 3.14 `\\B` does not match in an empty text."""
_OTHERWISE = "write it without, or as two matchers with 'and not' between them"
_UNKNOWN: dict[str, str] = {
    "ASSERT": "looks ahead or behind ((?=, (?<=)",
    "ASSERT_NOT": "looks ahead or behind ((?!, (?<!)",
    "GROUPREF": r"refers to a group (\1, (?P=name))",
    "GROUPREF_EXISTS": "depends on a group ((?(1)...))",
    "ATOMIC_GROUP": "has an atomic group ((?>...))",
    "POSSESSIVE_REPEAT": "has a possessive repetition (*+, ++, ?+)",
}


class PatternRefused(ValueError):
    """A pattern or target that is not run. `limit`: the field of `PatternLimits`, or `linear-time`."""

    def __init__(self, message: str, limit: str) -> None:
        super().__init__(message)
        self.limit = limit


class NotLinear(PatternRefused):
    """The linear engine cannot run the pattern."""

    def __init__(self, pattern: str, what: str, instead: str = _OTHERWISE) -> None:
        self.what = what
        shown = shortened(pattern)
        super().__init__(f"{shown} {what}, which cannot be run in bounded time here: {instead}", "linear-time")


class TextRefused(PatternRefused):
    """The pattern cannot be compared with this one text; with others it can."""


def shortened(pattern: str) -> str:
    """A pattern for a message."""
    return f"the pattern {pattern if len(pattern) <= 80 else pattern[:77] + '...'!r}"


def compile_linear(pattern: str, limits: PatternLimits) -> LinearRegex:
    """A pattern to match with; re.error for what is no pattern, PatternRefused for one that is not run."""
    kept = _kept_of_trees if limits is TREE_PATTERNS else _kept_of_outsiders
    found = kept(pattern, limits)
    if isinstance(found, Exception):
        raise found.with_traceback(None)
    return found


def _compiled(pattern: str, limits: PatternLimits) -> LinearRegex | re.error | PatternRefused:
    """The pattern, or its error: both cost time to find out, and are kept."""
    if len(pattern) > limits.pattern_characters:
        message = f"{shortened(pattern)} is longer than {limits.pattern_characters} characters: use shorter ones"
        return PatternRefused(message, "pattern-characters")
    try:
        parsed = _parser.parse(pattern)
        made = LinearRegex(pattern=pattern, limits=limits, parsed=parsed, flags=parsed.state.flags)
        made.compile_for(ascii_only=True, empty=False)
    except (re.error, PatternRefused) as error:
        return error
    except RecursionError:
        return PatternRefused(f"{shortened(pattern)} has too many groups within groups", "pattern-characters")
    except (OverflowError, ValueError) as error:  # of counts: a{99999999999}
        return re.error(str(error), pattern)
    return made


_kept_of_trees = functools.lru_cache(maxsize=1024)(_compiled)
_kept_of_outsiders = functools.lru_cache(maxsize=128)(_compiled)
"""Each takes up to `program_bytes` for ASCII text and as much for other text: 64 MiB together by default."""


@dataclass(slots=True, kw_only=True)
class LinearRegex:
    """A pattern, with a program for each kind of text that it has met."""

    pattern: str
    limits: PatternLimits
    parsed: Any
    flags: int
    _programs: dict[tuple[bool, bool], _Program | TextRefused] = field(default_factory=dict)

    def cost(self, text: str) -> int:
        """Steps that a comparison with this text may take; TextRefused when there is none."""
        return self._program(text).size * (len(text) + 1)

    def match(self, text: str) -> bool:
        """Whether the text begins with a match; TextRefused as `cost`."""
        return self._program(text).compiled.match(text.encode()) is not None

    def search(self, text: str) -> bool:
        """Whether there is a match anywhere; TextRefused as `cost`."""
        return self._program(text).compiled.search(text.encode()) is not None

    def compile_for(self, *, ascii_only: bool, empty: bool) -> _Program:
        """The program for a kind of text; PatternRefused when RE2 has none."""
        writer = _Writer(pattern=self.pattern, ascii_only=ascii_only, empty=empty)
        text = writer.sequence(self.parsed, self.flags, last=True)
        compiled = _compile_re2(self.pattern, text, ascii_only, self.limits.program_bytes)
        return _Program(compiled=compiled, size=compiled.programsize, inner_end=writer.inner_end)

    def _program(self, text: str) -> _Program:
        if len(text) > self.limits.text_characters:
            message = f"{shortened(self.pattern)} is compared with text of more than {self.limits.text_characters}"
            raise TextRefused(f"{message} characters, which is not done", "text-characters")
        key = (text.isascii(), not text)
        program = self._programs.get(key)
        if program is None:
            program = self._programs[key] = self._first(text)
        if isinstance(program, TextRefused):
            raise program.with_traceback(None)
        if program.inner_end and text.endswith("\n"):
            message = f"{shortened(self.pattern)} has a '$' before its end, and the text ends with a newline"
            raise TextRefused(f"{message}: write \\Z", "linear-time")
        return program

    def _first(self, text: str) -> _Program | TextRefused:
        try:
            return self.compile_for(ascii_only=text.isascii(), empty=not text)
        except PatternRefused as error:
            return TextRefused(f"{error} (the text is not ASCII)", error.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Program:
    compiled: Any
    size: int
    inner_end: bool
    """A `$` stands where something may follow: right only for text without a newline at its end."""


def _compile_re2(pattern: str, written: str, ascii_only: bool, program_bytes: int) -> Any:
    import re2  # type: ignore[import-untyped]  # deferred: an agent that is idle matches nothing

    options = re2.Options()
    encoding = re2.Options.Encoding.LATIN1 if ascii_only else re2.Options.Encoding.UTF8
    given = {"log_errors": False, "never_capture": True, "max_mem": program_bytes, "encoding": encoding}
    for name, value in given.items():
        setattr(options, name, value)
    try:
        return re2.compile(written.encode("ascii"), options)
    except re2.error as error:
        if not any(size in str(error) for size in _TOO_LARGE):
            raise RuntimeError(f"{shortened(pattern)} was written for RE2 as {written!r}: {error}") from error
        message = f"{shortened(pattern)} repeats too much for its memory ({program_bytes} bytes): use smaller counts"
        raise PatternRefused(message, "program-bytes") from None


@dataclass(slots=True, kw_only=True)
class _Writer:
    """Writes what Python parsed in RE2's syntax, for one kind of text."""

    pattern: str
    ascii_only: bool
    empty: bool
    inner_end: bool = False

    def sequence(self, nodes: Iterable[Any], flags: int, *, last: bool) -> str:
        """Nodes after each other. `last`: nothing follows them in the pattern."""
        listed = list(nodes)
        ends = len(listed) - 1
        return "".join(self._node(str(op), given, flags, last and at == ends) for at, (op, given) in enumerate(listed))

    def _node(self, op: str, given: Any, flags: int, last: bool) -> str:
        match op:
            case "LITERAL":
                return self._class(self._cases(given, given, flags))
            case "NOT_LITERAL":
                return self._class(self._without(self._cases(given, given, flags)))
            case "ANY":
                return self._class(self._without(() if flags & re.DOTALL else ((0x0A, 0x0A),)))
            case "IN":
                return self._class(self._set(given, flags))
            case "AT":
                return self._at(str(given), flags, last)
            case "BRANCH":
                return f"(?:{'|'.join(self.sequence(each, flags, last=last) for each in given[1])})"
            case "SUBPATTERN":
                _, added, removed, inner = given
                if added & re.ASCII:  # Python's search takes such a part for Unicode here and there
                    raise NotLinear(self.pattern, "sets the flag 'a' for a part", "set it for all: (?a) at the start")
                return f"(?:{self.sequence(inner, (flags | added) & ~removed, last=last)})"
            case "MAX_REPEAT" | "MIN_REPEAT":
                least, most, inner = given
                return self._repeat(least, most, inner, flags)
            case "FAILURE":
                return self._class(())
            case _:
                raise NotLinear(self.pattern, _UNKNOWN.get(op, f"has {op}"))

    def _repeat(self, least: int, most: Any, inner: Any, flags: int) -> str:
        unbounded = most is _parser.MAXREPEAT
        if least > _MOST_REPEATED or (not unbounded and most > _MOST_REPEATED):
            message = f"{shortened(self.pattern)} repeats something more than {_MOST_REPEATED} times: use * or +"
            raise PatternRefused(message, "program-bytes")
        body = f"(?:{self.sequence(inner, flags, last=False)})"
        if unbounded and least < 2:
            return body + ("+" if least else "*")
        return f"{body}{{{least},{'' if unbounded else int(most)}}}"

    def _at(self, place: str, flags: int, last: bool) -> str:
        match place:
            case "AT_BEGINNING":
                return "(?m:^)" if flags & re.MULTILINE else r"\A"
            case "AT_BEGINNING_STRING":
                return r"\A"
            case "AT_END_STRING":
                return r"\z"
            case "AT_END" if flags & re.MULTILINE:
                return "(?m:$)"
            case "AT_END" if last:
                return r"(?:\n?\z)"
            case "AT_END":
                self.inner_end = True
                return r"\z"
        boundary = place == "AT_BOUNDARY"
        if not self.ascii_only and not (boundary and flags & re.ASCII):
            # RE2 knows the boundaries of ASCII words alone, and finds \\B between the bytes of one character.
            name = r"\b" if boundary else r"\B"
            message = f"{shortened(self.pattern)} has {name}, which is not run here"
            raise PatternRefused(message, "linear-time")
        if boundary:
            return r"\b"
        return self._class(()) if self.empty and not _EMPTY_IS_NO_BOUNDARY else r"\B"

    def _set(self, members: Iterable[Any], flags: int) -> _Ranges:
        found: list[tuple[int, int]] = []
        negated = False
        for op, given in members:
            match str(op):
                case "NEGATE":
                    negated = True
                case "LITERAL":
                    found += self._cases(given, given, flags)
                case "RANGE":
                    first, end = given
                    found += self._cases(first, end, flags)
                case "CATEGORY":
                    found += self._category(str(given), flags)
                case other:
                    raise NotLinear(self.pattern, f"has {other}")
        return self._without(found) if negated else found

    def _category(self, name: str, flags: int) -> _Ranges:
        kind = name.rpartition("_")[2]
        if flags & re.ASCII:
            ranges = _ASCII_CLASSES[kind]
        elif self.ascii_only:
            ranges = _ASCII_SPACE if kind == "SPACE" else _ASCII_CLASSES[kind]
        else:
            ranges = _unicode_class(kind)
        return self._without(ranges) if "_NOT_" in name else ranges

    def _cases(self, first: int, end: int, flags: int) -> _Ranges:
        """A range, with letters of the other case where case is ignored."""
        if not flags & re.IGNORECASE:
            return ((first, end),)
        found = [(first, end)]
        for code in range(first, min(end, 0x7F) + 1):
            if chr(code).isalpha():
                found.append((code ^ 0x20, code ^ 0x20))
        if flags & re.ASCII:
            return found
        if self._has_cases(max(first, 0x80), end):
            raise NotLinear(self.pattern, "ignores the case of letters that are not ASCII", "write both cases: [Ää]")
        for same in _CASES:
            if any(first <= code <= end for code in same):
                found += [(code, code) for code in same]
        return found

    def _has_cases(self, first: int, end: int) -> bool:
        """Whether letters other than those of `_CASES` are among these, and may be in the text."""
        if self.ascii_only or first > end:
            return False
        if first == end and any(first in same for same in _CASES):
            return False
        return end - first > 64 or any(chr(code).lower() != chr(code).upper() for code in range(first, end + 1))

    def _without(self, ranges: _Ranges) -> _Ranges:
        """All characters but these."""
        found, at = [], 0
        for first, end in sorted(ranges):
            if first > at:
                found.append((at, first - 1))
            at = max(at, end + 1)
        return [*found, (at, sys.maxunicode)] if at <= sys.maxunicode else found

    def _class(self, ranges: _Ranges) -> str:
        top = 0x7F if self.ascii_only else sys.maxunicode
        kept = [(first, min(end, top)) for first, end in ranges if first <= top]
        if not kept:
            return r"[^\x00-\xff]" if self.ascii_only else r"[^\x00-\x{10FFFF}]"
        return "[" + "".join(f"\\x{{{first:x}}}-\\x{{{end:x}}}" for first, end in kept) + "]"


@functools.cache
def _unicode_class(kind: str) -> _Ranges:
    """The characters of `\\d`, `\\s` or `\\w`, as this Python knows them."""
    pattern = re.compile({"DIGIT": r"\d+", "SPACE": r"\s+", "WORD": r"\w+"}[kind])
    return tuple((found.start(), found.end() - 1) for found in pattern.finditer("".join(map(chr, range(0x110000)))))
