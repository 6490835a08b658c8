"""Differences that policy says are not drift (`ignore_differences` of saltern.yaml). Pure.

The desired document carries the rules to the minion, which looks for drift with them also while the controller is
away. A rule names a state function, an ID and an attribute of `changes`, all globs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from highstate.records import dataclass
from highstate.types import Chunk, Value
from matching.matcher import Matcher


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoreRule:
    """One entry of `ignore_differences`."""

    state: str = "*"
    """State function (`file.managed`)."""
    id: str = "*"
    """ID or name of the state."""
    field: str = "*"
    """Attribute of `changes`: its path (parts joined by `:`), a beginning of that, or its last part."""
    expires: str = ""
    """Last day (`2026-12-31`, UTC); empty: it holds until it is taken out."""
    reason: str = ""

    def concerns(self, chunk: Chunk) -> bool:
        """Whether the rule is about a state; PatternRefused for a glob over the limits."""
        match = Matcher()
        named = match.glob(self.id, chunk.id) or match.glob(self.id, chunk.name)
        return named and match.glob(self.state, f"{chunk.state}.{chunk.fun}")

    def covers(self, path: Sequence[str]) -> bool:
        """Whether the rule is about an attribute."""
        match = Matcher()
        beginnings = (":".join(path[:end]) for end in range(1, len(path) + 1))
        return match.glob(self.field, path[-1]) or any(match.glob(self.field, each) for each in beginnings)

    def expired(self, now: float) -> bool:
        """Whether its last day is over; `now`: seconds since the epoch."""
        return bool(self.expires) and datetime.fromtimestamp(now, UTC).date().isoformat() > self.expires

    def as_plain(self) -> dict[str, str]:
        """What the document carries."""
        said = {"state": self.state, "id": self.id, "field": self.field}
        said |= {"expires": self.expires} if self.expires else {}
        return said | ({"reason": self.reason} if self.reason else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredAttribute:
    """An attribute that differs and is ignored."""

    path: tuple[str, ...]
    value: Value
    rule: IgnoreRule

    @property
    def name(self) -> str:
        """Its last part: the name of the argument, where there is one."""
        return self.path[-1]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitChanges:
    """What differs, and what of it is ignored."""

    left: Mapping[str, Value]
    ignored: tuple[IgnoredAttribute, ...] = ()

    def shown(self) -> dict[str, Value]:
        """What is ignored, as results show it: by attribute its change, the reason and the last day."""
        return {
            ":".join(each.path): {
                "change": each.value,
                **({"reason": each.rule.reason} if each.rule.reason else {}),
                **({"expires": each.rule.expires} if each.rule.expires else {}),
            }
            for each in self.ignored
        }


def rules_of(given: object, now: float) -> tuple[IgnoreRule, ...]:
    """The rules of a document that hold at a moment (seconds since the epoch); what is no rule is left out."""
    entries = [one for one in given if isinstance(one, Mapping)] if isinstance(given, list | tuple) else []
    known = IgnoreRule.__dataclass_fields__
    found = (IgnoreRule(**{k: str(v) for k, v in one.items() if k in known}) for one in entries)
    return tuple(rule for rule in found if not rule.expired(now))


def split(chunk: Chunk, changes: Mapping[str, Value], rules: Sequence[IgnoreRule]) -> SplitChanges:
    """What of the changes of a state is ignored.

    Args:
        chunk: the state.
        changes: as its result has them.
        rules: that hold.
    """
    about = [rule for rule in rules if rule.concerns(chunk)]
    if not about or not changes:
        return SplitChanges(left=changes)
    left: dict[str, Value] = {}
    ignored: list[IgnoredAttribute] = []
    for keys, value in _attributes(changes):
        path = (*keys, "version") if chunk.state == "pkg" and _has_old_and_new(value) else keys
        rule = next((each for each in about if each.covers(path)), None)
        if rule is None:
            _put(left, keys, value)
        else:
            ignored.append(IgnoredAttribute(path=path, value=value, rule=rule))
    return SplitChanges(left=left, ignored=tuple(ignored)) if ignored else SplitChanges(left=changes)


def _attributes(changes: Mapping[str, Value]) -> Iterator[tuple[tuple[str, ...], Value]]:
    """The keys that lead to each attribute, and what differs of it."""
    for key, value in changes.items():
        if isinstance(value, Mapping) and value and not _has_old_and_new(value):
            for keys, inner in _attributes(value):
                yield (key, *keys), inner
        else:
            yield (key,), value


def _has_old_and_new(value: Value) -> bool:
    return isinstance(value, Mapping) and bool(value) and value.keys() <= {"old", "new"}


def _put(into: dict[str, Value], keys: Sequence[str], value: Value) -> None:
    for key in keys[:-1]:
        into = into.setdefault(key, {})
    into[keys[-1]] = value
