"""What a policy means, said in another way than `controller.policy` does: tests hold one against the other.

A policy is drawn as facts; its text for the controller and the answers of the model are both made of these.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any
from zoneinfo import ZoneInfo

import msgspec


@dataclass(frozen=True, slots=True)
class DailyWindow:
    """From an hour of the day on, so many hours."""

    kind: str
    hour: int
    hours: int
    zone: str
    manual: bool
    target: str

    def is_in(self, now: float) -> bool:
        """Whether it is between its beginning and its end."""
        today = datetime.fromtimestamp(now, UTC).astimezone(ZoneInfo(self.zone)).date()
        begins = [
            datetime.combine(today - timedelta(days=back), datetime.min.time(), ZoneInfo(self.zone)).replace(
                hour=self.hour
            )
            for back in (0, 1)
        ]
        return any(begin.timestamp() <= now < begin.timestamp() + 3600 * self.hours for begin in begins)


@dataclass(frozen=True, slots=True)
class RolloutFacts:
    """The key `rollout`."""

    batch: int = 1
    canary: int = 0
    on_failure: str = "stop"
    confirm: bool = False
    approvals: int = 0
    promote: bool = False
    """Whether the second wave waits for somebody."""


@dataclass(frozen=True, slots=True)
class PolicyFacts:
    """A saltern.yaml."""

    manual: str = ""
    """Target with `apply: manual`; empty: nobody."""
    suspended: str = ""
    windows: tuple[DailyWindow, ...] = ()
    remediate: bool = False
    limit: int | None = None
    rollout: RolloutFacts | None = None

    @property
    def text(self) -> str:
        """As a file."""
        data: dict[str, Any] = {
            "drift": {"mode": "remediate" if self.remediate else "report", "interval": 0},
            "retry": {"duration": "30s"} | ({"limit": self.limit} if self.limit is not None else {}),
        }
        entries: list[dict[str, Any]] = []
        if self.manual:
            entries.append({"name": "manual", "target": self.manual, "apply": "manual"})
        if self.suspended:
            entries.append({"name": "suspended", "target": self.suspended, "suspend": True})
        for number, one in enumerate(self.windows):
            window = {
                "kind": one.kind, "schedule": f"0 {one.hour} * * *", "duration": f"{one.hours}h",
                "timezone": one.zone, "manual": one.manual,
            }  # fmt: skip
            entries.append({"name": f"window{number}", "target": one.target, "windows": [window]})
        if entries:
            data["policies"] = entries
        if self.rollout is not None:
            data["rollout"] = self._rollout(self.rollout)
        return msgspec.json.encode(data).decode()

    @staticmethod
    def _rollout(facts: RolloutFacts) -> dict[str, Any]:
        waves = [{"name": "db", "target": "db*"}, {"name": "web", "target": "web*", "approve": True}]
        return {
            "batch": facts.batch,
            "canary": facts.canary,
            "on_failure": facts.on_failure,
            **({"confirm": "10m"} if facts.confirm else {}),
            **({"approvals": {"count": facts.approvals}} if facts.approvals else {}),
            **({"waves": waves} if facts.promote else {}),
        }

    def is_manual(self, minion: str) -> bool:
        """Whether a person has to begin what a push brings."""
        return bool(self.manual) and fnmatchcase(minion, self.manual)

    def is_suspended(self, minion: str) -> bool:
        """Whether nothing may be done to a minion."""
        return bool(self.suspended) and fnmatchcase(minion, self.suspended)

    def lets(self, minion: str, now: float, *, person: bool) -> bool:
        """Whether the windows let a minion be changed."""
        of_minion = [each for each in self.windows if fnmatchcase(minion, each.target)]
        denying = [each for each in of_minion if each.kind == "deny" and each.is_in(now)]
        if denying:
            return person and all(each.manual for each in denying)
        allowing = [each for each in of_minion if each.kind == "allow"]
        if allowing and not any(each.is_in(now) for each in allowing):
            return person and any(each.manual for each in allowing)
        return True
