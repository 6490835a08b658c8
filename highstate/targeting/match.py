"""Targeting: does an expression match a minion? Used by top files, `match.*` in templates, and the controller.

The matchers are Salt's (https://docs.saltproject.io/en/latest/topics/targeting/): an expression that Salt
cannot make sense of matches nothing. `parse_target` is for people at a command line, who get an error instead.
Ranges (`R@%web`) are names of a server that is asked elsewhere: they match where `ranges` has its answers alone.
Patterns are compared by a `Matcher`, which is the caller's: one for each question, so that all minions together cost
no more than its limits; without one those for outsiders hold.
"""

from __future__ import annotations

import functools
import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias, get_args

from highstate.targeting.data_match import DataMatch
from highstate.traverse import traverse
from highstate.types import Minion, Value
from matching.linear_regex import PatternRefused
from matching.matcher import CHARACTERS_A_STEP, STEPS_A_LOOK, Matcher, person_matcher

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
    "range",
]
_RANGE: MatcherKind = "range"
KINDS: tuple[str, ...] = tuple(kind for kind in get_args(MatcherKind) if kind != _RANGE)
"""Those that can be told without a server."""

Ranges: TypeAlias = Mapping[str, Set[str]]
"""Hosts by range: what a range server answers."""
Nodegroups: TypeAlias = Mapping[str, str | Sequence[str]]

_ENGINES: Mapping[str, MatcherKind] = {
    "G": "grain",
    "P": "grain_pcre",
    "I": "pillar",
    "J": "pillar_pcre",
    "L": "list",
    "S": "ipcidr",
    "E": "pcre",
    "R": "range",
}
_WORD = re.compile(r"(?P<engine>[A-Z])(?P<delimiter>(?<=[GPIJ]).)?@(?P<pattern>.+)", re.DOTALL)
_OF_PILLAR = re.compile("[IJ].?@", re.DOTALL)
_NO_RANGES = (
    "ranges (R@) are asked of a server, which only commands, orchestrations, reactors and schedules of the controller"
    " can do: name the hosts as a list or a regular expression"
)
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

    def matches_id(self, kind: str, pattern: str) -> bool:
        """Whether the id matches by `glob`, `pcre` or `list`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Known:
    """A minion at hand."""

    minion: Minion
    pillar: Mapping[str, Value]
    matcher: Matcher
    ranges: Ranges
    grains: Mapping[str, Value] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "grains", self.minion.grains)

    def matches_id(self, kind: str, pattern: str) -> bool:
        if kind == _RANGE:
            return self.minion.id in self.ranges[pattern]
        return id_matches(kind, pattern, self.minion.id, self.matcher)


def may_ask_pillar(kind: str, expression: str, nodegroups: Mapping[str, str | Sequence[str]] = {}) -> bool:
    """Whether an expression may look at pillar, also with another delimiter (`I/@tier/front`) or in a nodegroup."""
    texts = (expression, *(one if isinstance(one, str) else " ".join(one) for one in nodegroups.values()))
    return kind.startswith("pillar") or any(_OF_PILLAR.search(text) for text in texts)


def match_minion(
    expression: str,
    minion: Minion,
    pillar: Mapping[str, Value] | None = None,
    *,
    kind: MatcherKind = "compound",
    nodegroups: Nodegroups | None = None,
    exact_pillar: bool = False,
    matcher: Matcher | None = None,
    ranges: Ranges | None = None,
) -> bool:
    """Whether `expression` matches; False for an empty, unbalanced or unknown one, as in Salt.

    `exact_pillar`: in compound expressions pillar values are compared, and not matched as patterns.
    `ranges`: of all that `asked_ranges` names; without them a range matches nothing.
    PatternRefused for an expression or pattern that is over the limits of the matcher.
    """
    matcher = matcher or Matcher()
    subject = _Known(minion=minion, pillar=pillar or {}, matcher=matcher, ranges=ranges or {})
    return match_subject(
        expression,
        subject,
        kind=kind,
        nodegroups=nodegroups,
        exact_pillar=exact_pillar,
        matcher=matcher,
        ranges=ranges is not None,
    )


def match_subject(
    expression: str,
    subject: Subject,
    *,
    kind: MatcherKind = "compound",
    nodegroups: Nodegroups | None = None,
    delimiter: str = ":",
    exact_pillar: bool = False,
    matcher: Matcher | None = None,
    ranges: bool = False,
) -> bool:
    """`match_minion` for any subject, one that records what is asked of it included.

    `ranges`: whether the subject knows the ranges.
    """
    matcher = matcher or Matcher()
    match kind:
        case "compound":
            return _compound(expression, subject, nodegroups or {}, matcher, exact_pillar, ranges)
        case "nodegroup":
            return _compound(f"N@{expression}", subject, nodegroups or {}, matcher, exact_pillar, ranges)
        case "range":
            return ranges and subject.matches_id(kind, expression)
        case "glob" | "pcre" | "list":
            return subject.matches_id(kind, expression)
        case "grain" | "grain_pcre":
            data = DataMatch(matcher=matcher, regex=kind == "grain_pcre")
            return data.matches(subject.grains, expression, delimiter)
        case "pillar" | "pillar_pcre" | "pillar_exact":
            data = DataMatch(matcher=matcher, regex=kind == "pillar_pcre", exact=kind == "pillar_exact")
            return data.matches(subject.pillar, expression, delimiter)
        case "ipcidr":
            return _ipcidr(expression, subject, matcher)


def id_matches(kind: str, pattern: Value, minion_id: str, matcher: Matcher) -> bool:
    """The kinds that look at nothing but the id: glob, pcre and list (a string with commas, or a sequence)."""
    match kind:
        case "glob":
            return matcher.glob(str(pattern), minion_id)
        case "pcre":
            try:
                return matcher.matches(str(pattern), minion_id)
            except re.error:
                return False
        case _:
            _check_size(pattern, matcher)
            return minion_id in (_listed(pattern) if isinstance(pattern, str) else pattern)


@functools.lru_cache(maxsize=8)
def _listed(names: str) -> frozenset[str]:
    """The names of a list, which is asked about each minion."""
    return frozenset(names.split(","))


def _check_size(expression: Value, matcher: Matcher) -> None:
    """Count what it costs to look through an expression; PatternRefused for one that is too long."""
    most = matcher.limits.expression_characters
    if len(expression) > most:
        raise PatternRefused(f"the target is longer than {most} characters: use a nodegroup", "expression-characters")
    matcher.spend(len(expression) // CHARACTERS_A_STEP + 1)


def parse_target(
    expression: str,
    *,
    kind: MatcherKind = "compound",
    nodegroups: Nodegroups | None = None,
    delimiter: str = ":",
    matcher: Matcher | None = None,
    ranges: bool = False,
) -> str:
    """`expression` as it is, or BadTarget saying what is wrong with it: for expressions that people type.

    `ranges`: whether somebody asks the range server.
    """
    matcher = matcher or person_matcher()
    if not expression.strip():
        raise BadTarget("the target is empty: give a minion id, a glob like 'web*' or a compound expression")
    if kind in ("pcre", "grain_pcre", "pillar_pcre"):
        try:
            matcher.check(expression)
        except re.error as error:
            raise BadTarget(f"{expression!r} is no regular expression: {error}") from error
        except PatternRefused as error:
            raise BadTarget(str(error)) from error
    if kind in ("grain", "grain_pcre", "pillar", "pillar_pcre", "pillar_exact") and delimiter not in expression:
        form, example = f"name{delimiter}value", f"os{delimiter}Debian"
        raise BadTarget(f"{expression!r} names no value: write it as {form!r}, for instance {example!r}")
    if kind == "ipcidr" and _network(expression) is None:
        raise BadTarget(f"{expression!r} is no IP address and no network like 10.0.0.0/8")
    if kind == _RANGE and not ranges:
        raise BadTarget(_NO_RANGES)
    if kind in ("compound", "nodegroup"):
        words = _compound_words(expression, kind, nodegroups or {}, matcher)
        depth = matcher.limits.expression_depth
        _Expression(words=words, deepest=depth).evaluate(lambda word: _check(word, matcher, ranges))
    return expression


def asked_ranges(
    expression: str, *, kind: MatcherKind, nodegroups: Nodegroups | None = None, matcher: Matcher | None = None
) -> tuple[str, ...]:
    """The ranges that an expression names, each once; BadTarget or PatternRefused where it cannot be read."""
    if kind == _RANGE:
        return (expression,)
    if kind not in ("compound", "nodegroup"):
        return ()
    split = map(_split, _compound_words(expression, kind, nodegroups or {}, matcher or person_matcher()))
    return tuple(dict.fromkeys(pattern for engine, pattern, _ in split if engine == _RANGE))


def expanded_target(expression: str, nodegroups: Nodegroups, matcher: Matcher | None = None) -> str:
    """A compound expression with its nodegroups written out, or BadTarget; PatternRefused where it is too long."""
    matcher = matcher or person_matcher()
    parse_target(expression, nodegroups=nodegroups, matcher=matcher)
    return " ".join(_words(expression, nodegroups, matcher))


def unmatchable(
    expression: str, *, kind: MatcherKind, nodegroups: Nodegroups | None = None, matcher: Matcher | None = None
) -> str:
    """Why `expression` cannot be asked about a minion, or ''.

    A regular expression for ids that is none, at which Salt's matching raises, or a range, whose server nobody asks.
    PatternRefused for one that is over the limits of the matcher.
    """
    matcher = matcher or Matcher()
    try:
        compound = kind in ("compound", "nodegroup")
        words = _compound_words(expression, kind, nodegroups or {}, matcher) if compound else []
        split = [("pcre", expression)] if kind == "pcre" else [_split(word)[:2] for word in words]
    except BadTarget:
        return ""
    for engine, pattern in split:
        if engine == _RANGE:
            return _NO_RANGES
        try:
            if engine == "pcre":
                matcher.check(pattern)
        except re.error as error:
            return f"{pattern!r} is no regular expression: {error}"
    return ""


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text)
    except ValueError:
        return None


def _ipcidr(expression: str, subject: Subject, matcher: Matcher) -> bool:
    network = _network(expression)
    if network is None:
        return False
    addresses = traverse(subject.grains, f"ipv{network.version}", [])
    if not isinstance(addresses, list | tuple):
        return False
    matcher.spend(STEPS_A_LOOK * len(addresses))
    if "/" not in expression:
        return str(network.network_address) in addresses
    parsed = (_network(str(address)) for address in addresses)
    return any(one is not None and one.version == network.version and one.network_address in network for one in parsed)


def _compound(
    expression: str, subject: Subject, nodegroups: Nodegroups, matcher: Matcher, exact_pillar: bool, ranges: bool
) -> bool:
    def holds(word: str) -> bool:
        engine, pattern, delimiter = _split(word)
        if exact_pillar and engine in ("pillar", "pillar_pcre"):
            engine = "pillar_exact"
        if engine == _RANGE and not ranges:
            raise BadTarget(_NO_RANGES)
        return match_subject(pattern, subject, kind=engine, delimiter=delimiter, matcher=matcher, ranges=ranges)

    try:
        words = _words(expression, nodegroups, matcher)
        return _Expression(words=words, deepest=matcher.limits.expression_depth).evaluate(holds)
    except BadTarget:
        return False


def _compound_words(expression: str, kind: MatcherKind, nodegroups: Nodegroups, matcher: Matcher) -> list[str]:
    if kind == "nodegroup":
        return _expand(expression, nodegroups, (), matcher)
    return _words(expression, nodegroups, matcher)


def _words(expression: str, nodegroups: Nodegroups, matcher: Matcher, inside: tuple[str, ...] = ()) -> list[str]:
    _check_size(expression, matcher)
    words: list[str] = []
    for word in expression.split():
        matcher.spend(STEPS_A_LOOK)
        words.extend(_expand(word[2:], nodegroups, inside, matcher) if word.startswith("N@") else [word])
    return words


def _expand(name: str, nodegroups: Nodegroups, inside: tuple[str, ...], matcher: Matcher) -> list[str]:
    """The words of a nodegroup, in parentheses; a list is joined, since its items may be words or expressions."""
    if name in inside:
        raise BadTarget(f"nodegroup {name!r} contains itself: {' -> '.join((*inside, name))}")
    if name not in nodegroups:
        known = ", ".join(sorted(nodegroups)) or "there are none"
        raise BadTarget(f"there is no nodegroup {name!r} (nodegroups: {known})")
    definition = nodegroups[name]
    text = definition if isinstance(definition, str) else _joined(definition)
    return ["(", *_words(text, nodegroups, matcher, (*inside, name)), ")"]


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


def _check(word: str, matcher: Matcher, ranges: bool) -> bool:
    engine, pattern, delimiter = _split(word)
    parse_target(pattern, kind=engine, delimiter=delimiter, matcher=matcher, ranges=ranges)
    return True


@dataclass(slots=True, kw_only=True)
class _Expression:
    """A compound expression: `or` of `and` of `not` of words and parentheses.

    Every word is evaluated, though the outcome may be known before: the reads of a top file then
    do not depend on it, and an error in a later word is found too. `a not b` means `a and not b`.
    """

    words: list[str]
    deepest: int
    """Parentheses within each other; PatternRefused for more."""
    at: int = 0
    depth: int = 0

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
                self.depth += 1
                if self.depth > self.deepest:
                    message = f"the target has more than {self.deepest} parentheses within each other"
                    raise PatternRefused(message, "expression-depth")
                value = self._any(holds)
                if self._next() != ")":
                    raise BadTarget("a '(' is never closed")
                self.at += 1
                self.depth -= 1
                return value
            case None | "and" | "or" | ")":
                before = " ".join(self.words[: self.at - 1])
                raise BadTarget(f"a matcher is missing after {before!r}" if before else f"nothing stands before {word}")
            case _:
                return holds(word)

    def _next(self) -> str | None:
        return self.words[self.at] if self.at < len(self.words) else None
