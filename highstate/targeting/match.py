"""Targeting: does an expression match a minion? Used by top files, `match.*` in templates, and the controller.

The matchers are Salt's (https://docs.saltproject.io/en/latest/topics/targeting/): an expression that Salt
cannot make sense of matches nothing. `parse_target` is for people at a command line, who get told instead.
"""

from __future__ import annotations

import fnmatch
import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, get_args

from highstate import bounded_regex
from highstate.traverse import traverse
from highstate.types import Minion, Value

MatcherKind: TypeAlias = Literal[
    "compound",
    "glob",
    "list",
    "pcre",
    "grain",
    "grain_pcre",
    "pillar",
    "pillar_pcre",
    "pillar_exact",
    "ipcidr",
    "nodegroup",
]
KINDS: tuple[str, ...] = get_args(MatcherKind)

Nodegroups: TypeAlias = Mapping[str, str | Sequence[str]]

_ENGINES: Mapping[str, MatcherKind] = {
    "G": "grain",
    "P": "grain_pcre",
    "I": "pillar",
    "J": "pillar_pcre",
    "L": "list",
    "S": "ipcidr",
    "E": "pcre",
}
_WORD = re.compile(r"(?P<engine>[A-Z])(?P<delimiter>(?<=[GPIJ]).)?@(?P<pattern>.+)", re.DOTALL)
_OPERATORS = ("and", "or", "not", "(", ")")


class BadTarget(ValueError):
    """A target expression that cannot match anything as it is written."""


class Subject(Protocol):
    """Whom an expression is asked about."""

    @property
    def grains(self) -> Mapping[str, Value]:
        """Grains of the minion."""

    @property
    def pillar(self) -> Mapping[str, Value]:
        """Pillar of the minion."""

    def matches_id(self, matcher: str, pattern: str) -> bool:
        """Whether the id matches by `glob`, `pcre` or `list`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A minion at hand."""

    minion: Minion
    pillar: Mapping[str, Value]
    grains: Mapping[str, Value] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grains", self.minion.grains)

    def matches_id(self, matcher: str, pattern: str) -> bool:
        return id_matches(matcher, pattern, self.minion.id)


def match_minion(
    expression: str,
    minion: Minion,
    pillar: Mapping[str, Value] | None = None,
    *,
    kind: MatcherKind = "compound",
    nodegroups: Nodegroups | None = None,
    exact_pillar: bool = False,
) -> bool:
    """Whether `expression` matches; False for an empty, unbalanced or unknown one, as in Salt.

    `exact_pillar`: in compound expressions pillar values are compared, and not matched as patterns.
    """
    subject = _Known(minion=minion, pillar=pillar or {})
    return match_subject(expression, subject, kind=kind, nodegroups=nodegroups, exact_pillar=exact_pillar)


def match_subject(
    expression: str,
    subject: Subject,
    *,
    kind: MatcherKind = "compound",
    nodegroups: Nodegroups | None = None,
    delimiter: str = ":",
    exact_pillar: bool = False,
) -> bool:
    """`match_minion` for any subject, one that records what is asked of it included."""
    match kind:
        case "compound":
            return _compound(expression, subject, nodegroups or {}, exact_pillar)
        case "nodegroup":
            return _compound(f"N@{expression}", subject, nodegroups or {}, exact_pillar)
        case "glob" | "pcre" | "list":
            return subject.matches_id(kind, expression)
        case "grain" | "grain_pcre":
            return subdict_match(subject.grains, expression, delimiter, regex=kind == "grain_pcre")
        case "pillar" | "pillar_pcre":
            return subdict_match(subject.pillar, expression, delimiter, regex=kind == "pillar_pcre")
        case "pillar_exact":
            return subdict_match(subject.pillar, expression, delimiter, exact=True)
        case "ipcidr":
            return _ipcidr(expression, subject)


def id_matches(matcher: str, pattern: Value, minion_id: str) -> bool:
    """The matchers that look at nothing but the id: glob, pcre and list (a string with commas, or a sequence)."""
    match matcher:
        case "glob":
            return fnmatch.fnmatch(minion_id, str(pattern))
        case "pcre":
            try:
                return bounded_regex.match(str(pattern), minion_id) is not None
            except re.error:
                return False
        case _:
            names = pattern.split(",") if isinstance(pattern, str) else pattern
            return minion_id in names


def parse_target(expression: str, *, kind: MatcherKind = "compound", nodegroups: Nodegroups | None = None) -> str:
    """`expression` as it is, or BadTarget saying what is wrong with it: for expressions that people type."""
    if not expression.strip():
        raise BadTarget("the target is empty: give a minion id, a glob like 'web*' or a compound expression")
    if kind in ("pcre", "grain_pcre", "pillar_pcre"):
        try:
            re.compile(expression)
        except re.error as error:
            raise BadTarget(f"{expression!r} is no regular expression: {error}") from error
    if kind in ("grain", "grain_pcre", "pillar", "pillar_pcre", "pillar_exact") and ":" not in expression:
        raise BadTarget(f"{expression!r} names no value: write it as 'name:value', for instance 'os:Debian'")
    if kind == "ipcidr" and _network(expression) is None:
        raise BadTarget(f"{expression!r} is no IP address and no network like 10.0.0.0/8")
    if kind == "nodegroup":
        _expand(expression, nodegroups or {}, ())
    if kind == "compound":
        _Expression(words=_words(expression, nodegroups or {})).evaluate(lambda word: _check(word))
    return expression


def broken_regex(expression: str, *, kind: MatcherKind, nodegroups: Nodegroups | None = None) -> str:
    """What is wrong with a regular expression for ids in `expression`, where Salt's matching of it raises; or ''."""
    try:
        words = _words(expression, nodegroups or {}) if kind == "compound" else []
        split = [("pcre", expression)] if kind == "pcre" else [_split(word)[:2] for word in words]
    except BadTarget:
        return ""
    for engine, pattern in split:
        try:
            if engine == "pcre":
                re.compile(pattern)
        except re.error as error:
            return f"{pattern!r} is no regular expression: {error}"
    return ""


def subdict_match(
    data: Mapping[str, Value], expression: str, delimiter: str = ":", *, regex: bool = False, exact: bool = False
) -> bool:
    """Salt's match of `key:nested:value` in nested data; a deeper reading of the key is tried first."""
    compare = _comparison(regex=regex, exact=exact)
    parts = expression.split(delimiter)
    for cut in range(len(parts) - 1, 0, -1):
        key = delimiter.join(parts[:cut])
        if key == "*":
            found, wanted = data, expression
        else:
            found, wanted = traverse(data, key, {}, delimiter=delimiter), delimiter.join(parts[cut:])
        if _matches_value(found, wanted, compare, regex=regex, exact=exact):
            return True
    return False


_Compare: TypeAlias = Callable[[Value, str], bool]


def _matches_value(found: Value, wanted: str, compare: _Compare, *, regex: bool, exact: bool) -> bool:
    if isinstance(found, Mapping):
        return bool(found) and _matches_mapping(found, wanted, compare, regex=regex, exact=exact)
    if isinstance(found, list | tuple):
        return any(
            (isinstance(member, Mapping) and _matches_mapping(member, wanted, compare, regex=regex, exact=exact))
            or compare(member, wanted)
            for member in found
        )
    return compare(found, wanted)


def _matches_mapping(target: Mapping[str, Value], wanted: str, compare: _Compare, *, regex: bool, exact: bool) -> bool:
    below = wanted.startswith("*:")
    pattern = wanted[2:] if below else wanted
    if pattern == "*" or pattern in target or any(compare(key, pattern) for key in target):
        return True
    if subdict_match(target, pattern, regex=regex, exact=exact):
        return True
    if not below:
        return False
    for value in target.values():
        if isinstance(value, Mapping):
            if _matches_mapping(value, pattern, compare, regex=regex, exact=exact):
                return True
        elif any(compare(item, pattern) for item in (value if isinstance(value, list) else [value])):
            return True
    return False


def _comparison(*, regex: bool, exact: bool) -> _Compare:
    def by_regex(target: Value, pattern: str) -> bool:
        try:
            return bounded_regex.match(pattern.lower(), str(target).lower()) is not None
        except re.error:
            return False

    def by_equality(target: Value, pattern: str) -> bool:
        return str(target).lower() == pattern.lower()

    def by_glob(target: Value, pattern: str) -> bool:
        return fnmatch.fnmatch(str(target).lower(), pattern.lower())

    if regex:
        return by_regex
    return by_equality if exact else by_glob


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _ipcidr(expression: str, subject: Subject) -> bool:
    network = _network(expression)
    if network is None:
        return False
    addresses = traverse(subject.grains, f"ipv{network.version}", [])
    if not isinstance(addresses, list | tuple):
        return False
    if "/" not in expression:
        return str(network.network_address) in addresses
    parsed = (_network(str(address)) for address in addresses)
    return any(one is not None and one.version == network.version and one.network_address in network for one in parsed)


def _compound(expression: str, subject: Subject, nodegroups: Nodegroups, exact_pillar: bool = False) -> bool:
    def holds(word: str) -> bool:
        engine, pattern, delimiter = _split(word)
        if exact_pillar and engine in ("pillar", "pillar_pcre"):
            engine = "pillar_exact"
        return match_subject(pattern, subject, kind=engine, delimiter=delimiter)

    try:
        return _Expression(words=_words(expression, nodegroups)).evaluate(holds)
    except BadTarget:
        return False


def _words(expression: str, nodegroups: Nodegroups, inside: tuple[str, ...] = ()) -> list[str]:
    words: list[str] = []
    for word in expression.split():
        words.extend(_expand(word[2:], nodegroups, inside) if word.startswith("N@") else [word])
    return words


def _expand(name: str, nodegroups: Nodegroups, inside: tuple[str, ...]) -> list[str]:
    """The words of a nodegroup, in parentheses; a list is joined, since its items may be words or expressions."""
    if name in inside:
        raise BadTarget(f"nodegroup {name!r} contains itself: {' -> '.join((*inside, name))}")
    if name not in nodegroups:
        known = ", ".join(sorted(nodegroups)) or "there are none"
        raise BadTarget(f"there is no nodegroup {name!r} (nodegroups: {known})")
    definition = nodegroups[name]
    text = definition if isinstance(definition, str) else _joined(definition)
    return ["(", *_words(text, nodegroups, (*inside, name)), ")"]


def _joined(definition: Sequence[str]) -> str:
    """A nodegroup given as a list: an expression in words when it has operators, else a list of ids."""
    words = [str(word) for word in definition]
    if any(word in _OPERATORS or "@" in word for word in words):
        return " ".join(words)
    return "L@" + ",".join(words)


def _split(word: str) -> tuple[MatcherKind, str, str]:
    parsed = _WORD.fullmatch(word)
    if parsed is None:
        return "glob", word, ":"
    engine = _ENGINES.get(parsed["engine"])
    if engine is None:
        raise BadTarget(f"{word!r}: there is no matcher {parsed['engine']}@ (there are {'@ '.join(_ENGINES)}@ N@)")
    return engine, parsed["pattern"], parsed["delimiter"] or ":"


def _check(word: str) -> bool:
    engine, pattern, _ = _split(word)
    parse_target(pattern, kind=engine)
    return True


@dataclass(slots=True, kw_only=True)
class _Expression:
    """A compound expression: `or` of `and` of `not` of words and parentheses.

    Every word is evaluated, though the outcome may be known before: the reads of a top file then
    do not depend on it, and an error in a later word is found too. `a not b` means `a and not b`.
    """

    words: list[str]
    at: int = 0

    def evaluate(self, holds: Callable[[str], bool]) -> bool:
        """Its truth; BadTarget when it is not well-formed."""
        if not self.words:
            raise BadTarget("the target is empty")
        value = self._any(holds)
        if self.at < len(self.words):
            raise BadTarget(f"{self.words[self.at]!r} is not expected after {' '.join(self.words[: self.at])!r}")
        return value

    def _any(self, holds: Callable[[str], bool]) -> bool:
        value = self._all(holds)
        while self._next() == "or":
            self.at += 1
            value = self._all(holds) or value
        return value

    def _all(self, holds: Callable[[str], bool]) -> bool:
        value = self._one(holds)
        while self._next() in ("and", "not"):
            if self._next() == "and":
                self.at += 1
            value = self._one(holds) and value
        return value

    def _one(self, holds: Callable[[str], bool]) -> bool:
        word = self._next()
        self.at += 1
        match word:
            case "not":
                if self._next() == "not":
                    # Salt takes `not not a` for `not and not a`, which is nothing.
                    raise BadTarget("'not' stands twice: leave both out, or put the inner one in parentheses")
                return not self._one(holds)
            case "(":
                value = self._any(holds)
                if self._next() != ")":
                    raise BadTarget("a '(' is never closed")
                self.at += 1
                return value
            case None | "and" | "or" | ")":
                before = " ".join(self.words[: self.at - 1])
                raise BadTarget(f"a matcher is missing after {before!r}" if before else f"nothing stands before {word}")
            case _:
                return holds(word)

    def _next(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None
