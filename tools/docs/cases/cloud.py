"""States of machines of clouds: none has a case."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = dict.fromkeys(
    ("cloud.absent", "cloud.present", "cloud.profile"),
    "needs a controller with an account; tried on EC2 by moto",
)
"""State functions that no case can run, and why."""
