"""match.* and test.*: identity of the minion, and functions that return their arguments."""

from __future__ import annotations

import copy
import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from highstate.functions.call import FunctionCall, FunctionFailed
from highstate.memo.tracked import plain
from highstate.targeting.match import KINDS, MatcherKind, Subject, id_matches, match_subject
from highstate.traverse import update
from highstate.types import Value
from matching.matcher import tree_matcher


@dataclass(frozen=True, slots=True)
class _Named:
    """The minion under another id, as `minion_id=` asks for."""

    call: FunctionCall
    minion_id: str

    @property
    def grains(self) -> Mapping[str, Value]:
        return self.call.recorder.grains

    @property
    def pillar(self) -> Mapping[str, Value]:
        return self.call.recorder.pillar

    def matches_id(self, kind: str, pattern: str) -> bool:
        return id_matches(kind, pattern, self.minion_id, tree_matcher())


def _matches(
    call: FunctionCall, expression: Value, kind: str, minion_id: str | None = None, delimiter: str = ":"
) -> bool:
    """False for what is no target, such as an undefined value, as in Salt."""
    if not isinstance(expression, str | list | tuple):
        return False
    if not isinstance(expression, str):
        expression = ("," if kind == "list" else " ").join(map(str, expression))
    if kind not in KINDS:
        raise FunctionFailed(f"there is no matcher {kind!r} (there are {', '.join(KINDS)})")
    subject: Subject = call.recorder if minion_id is None else _Named(call, str(minion_id))
    nodegroups = plain(call.opt("nodegroups", {}))
    return match_subject(
        expression,
        subject,
        kind=cast(MatcherKind, kind),
        nodegroups=nodegroups,
        delimiter=delimiter,
        matcher=tree_matcher(),
    )


def _by_id(kind: MatcherKind) -> Callable[..., bool]:
    return lambda call, tgt, minion_id=None: _matches(call, tgt, kind, minion_id)


def _by_data(kind: MatcherKind) -> Callable[..., bool]:
    return lambda call, tgt, delimiter=":": _matches(call, tgt, kind, None, delimiter)


def _ipcidr(call: FunctionCall, tgt: str) -> Value:
    """Salt gives an empty list for what is no address and no network; both are false."""
    try:
        ipaddress.ip_network(tgt if isinstance(tgt, str | int) else "")
    except ValueError:
        return []
    return _matches(call, tgt, "ipcidr")


def _filter_by(
    call: FunctionCall,
    lookup: Mapping[str, Value],
    tgt_type: str = "compound",
    minion_id: str | None = None,
    merge: Value = None,
    merge_lists: bool = False,
    default: str = "default",
) -> Value:
    over = plain(merge)
    if over and not isinstance(over, Mapping):
        raise FunctionFailed(f"match.filter_by: merge must be a mapping, not a {type(over).__name__}")
    for target in lookup:
        if _matches(call, target, tgt_type, minion_id):
            chosen = copy.deepcopy(plain(lookup[target]))
            if not over:
                return chosen
            return over if chosen is None else update(chosen, copy.deepcopy(over), merge_lists=merge_lists)
    return lookup.get(default)


def _search_by(
    call: FunctionCall, lookup: Mapping[str, list[str]], tgt_type: str = "compound", minion_id: str | None = None
) -> Value:
    found = [
        name
        for name, targets in plain(lookup).items()
        for target in targets
        if _matches(call, target, tgt_type, minion_id)
    ]
    return found or None


def _ifelse(call: FunctionCall, *arguments: Value, tgt_type: str = "compound", minion_id: str | None = None) -> Value:
    """Pairs of target and value; the last argument is the default."""
    if len(arguments) % 2 == 0:
        raise FunctionFailed("match.ifelse takes pairs of target and value, and a default at the end")
    for target, value in zip(arguments[:-1:2], arguments[1::2], strict=True):
        if target is True or (isinstance(target, str) and _matches(call, target, tgt_type, minion_id)):
            return value
    return arguments[-1]


def _echo(call: FunctionCall, text: Value) -> Value:
    return text


FUNCTIONS: Mapping[str, Callable[..., Value]] = {
    "match.compound": _by_id("compound"),
    "match.glob": _by_id("glob"),
    "match.list": _by_id("list"),
    "match.pcre": _by_id("pcre"),
    "match.grain": _by_data("grain"),
    "match.grain_pcre": _by_data("grain_pcre"),
    "match.pillar": _by_data("pillar"),
    "match.pillar_pcre": _by_data("pillar_pcre"),
    "match.ipcidr": _ipcidr,
    "match.filter_by": _filter_by,
    "match.search_by": _search_by,
    "match.ifelse": _ifelse,
    "test.ping": lambda call: True,
    "test.true": lambda call: True,
    "test.false": lambda call: False,
    "test.echo": _echo,
    "test.outputter": _echo,
    "test.arg": lambda call, *args, **kwargs: {"args": list(args), "kwargs": kwargs},
    "test.opts_pkg": lambda call: plain(call.recorder.tracked("opts")),
}
