"""One measured figure: samples, the reference beside it, the target."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A metric of which less is better."""

    metric: str
    unit: str
    samples: Sequence[float]
    reference: float | None = None
    """A bare limit of this machine (or Salt), measured in the same run."""
    reference_of: str = ""
    target: float | None = None

    @property
    def value(self) -> float:
        """The median."""
        return statistics.median(self.samples)

    @property
    def ratio(self) -> float | None:
        """Value over reference."""
        return self.value / self.reference if self.reference else None

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None when there is none."""
        return None if self.target is None else self.value <= self.target

    def as_json(self) -> dict[str, Any]:
        """As `make bench` prints it."""
        return {
            "metric": self.metric,
            "value": round(self.value, 5),
            "unit": self.unit,
            "reference": None if self.reference is None else round(self.reference, 5),
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            "target": self.target,
            "met": self.met,
            "spread": [round(min(self.samples), 5), round(max(self.samples), 5)],
            "n": len(self.samples),
        }
