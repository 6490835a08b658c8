"""What `saltern migrate check` says: an item for each thing that was found, and what is said of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import msgspec

MigrationVerdict: TypeAlias = Literal["works", "different", "no counterpart"]
VERDICTS: tuple[MigrationVerdict, ...] = ("works", "different", "no counterpart")


class Judgement(NamedTuple):
    """What is said of one name."""

    verdict: MigrationVerdict
    how: str = ""
    """What is different, or what to do instead."""
    docs: str = ""
    """Page of the documentation, with a heading."""


WORKS = Judgement("works")
_PASSWORD = re.compile(r"(://[^/\s:@]{0,200}):[^/\s@]{1,500}@")


def without_passwords(text: str) -> str:
    """A text whose addresses have no passwords."""
    return _PASSWORD.sub(r"\1:***@", text)


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that a configuration or a tree uses."""

    verdict: MigrationVerdict
    kind: str
    """`option`, `state`, `function`, `renderer`, `module`, …"""
    name: str
    place: str = ""
    """`file:line` of the first use."""
    count: int = 1
    """How often it is used."""
    how: str = ""
    docs: str = ""

    @classmethod
    def of(cls, kind: str, name: str, place: str, found: Judgement, count: int = 1) -> Item:
        """An item with what is said of it."""
        return cls(
            verdict=found.verdict,
            kind=kind,
            name=without_passwords(name),
            place=place,
            count=count,
            how=without_passwords(found.how),
            docs=found.docs,
        )


class CheckReport(msgspec.Struct, frozen=True, kw_only=True):
    """All that was found."""

    folder: str
    items: tuple[Item, ...]
    counts: dict[str, int]
    """MigrationVerdict -> items."""
    not_read: tuple[str, ...] = ()
    """Files and remotes that were not looked at, each with the reason."""
    written: tuple[str, ...] = ()
    """Paths of the files that were written."""

    @property
    def all_works(self) -> bool:
        """Whether nothing is different or absent, and everything was looked at."""
        return self.counts["works"] == len(self.items) and not self.not_read


def counted(items: Iterable[Item]) -> dict[str, int]:
    """MigrationVerdict -> how many items have it."""
    counts: dict[str, int] = dict.fromkeys(VERDICTS, 0)
    for item in items:
        counts[item.verdict] += 1
    return counts
