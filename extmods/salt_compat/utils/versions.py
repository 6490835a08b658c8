"""`salt.utils.versions`: versions, and warnings about what will go."""

from __future__ import annotations

import re
from typing import Any


class LooseVersion:
    """Versions that are compared by their numbers and words."""

    def __init__(self, vstring: Any = "") -> None:
        self.vstring = str(vstring)
        parts = re.findall(r"\d+|[A-Za-z]+", self.vstring)
        self.version = [int(part) if part.isdigit() else part for part in parts]

    def __str__(self) -> str:
        return self.vstring

    def _key(self) -> list[tuple[int, int, str]]:
        return [(1, part, "") if isinstance(part, int) else (0, 0, part) for part in self.version]

    def __eq__(self, other: object) -> bool:
        return self._key() == LooseVersion(other)._key()

    def __lt__(self, other: object) -> bool:
        return self._key() < LooseVersion(other)._key()

    def __le__(self, other: object) -> bool:
        return self._key() <= LooseVersion(other)._key()

    def __gt__(self, other: object) -> bool:
        return self._key() > LooseVersion(other)._key()

    def __ge__(self, other: object) -> bool:
        return self._key() >= LooseVersion(other)._key()

    def __hash__(self) -> int:
        return hash(tuple(self._key()))


Version = StrictVersion = LooseVersion


def version_cmp(pkg1: Any, pkg2: Any, ignore_epoch: bool = False) -> int:
    """-1, 0 or 1."""
    left, right = LooseVersion(pkg1), LooseVersion(pkg2)
    return (left > right) - (left < right)


def compare(ver1: Any = "", oper: str = "==", ver2: Any = "", **options: Any) -> bool:
    """Whether a comparison holds."""
    order = version_cmp(ver1, ver2)
    return {"==": order == 0, "!=": order != 0, "<": order < 0, "<=": order <= 0, ">": order > 0}.get(oper, order >= 0)


def warn_until(*args: Any, **kwargs: Any) -> None:
    """What will go one day is no concern of a run."""


kwargs_warn_until = warn_until_date = warn_until
