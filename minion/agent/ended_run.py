"""How a run of states has ended, as far as the agent needs it: drift watches, remediation without a controller."""

from __future__ import annotations

from typing import NamedTuple

from wire.messages import Run, RunResult


class EndedRun(NamedTuple):
    """How a run of states ended."""

    run_id: str
    outcome: str
    changed_machine: bool
    """Whether it was there to change the machine, and no test."""
    kind: str = ""
    digest: str = ""
    """Of its document."""
    own: bool = False
    """Whether the minion began it by itself because it reached no controller."""
    differs: frozenset[str] = frozenset()
    """Of a test: keys of the states that would change something, or cannot be looked at."""
    again: frozenset[str] = frozenset()
    """Keys of the states that would change something again at once."""

    @property
    def good(self) -> bool:
        """Whether it came to a good end."""
        return self.outcome in ("ok", "changed")


def ended_run(request: object, result: RunResult, *, changed_machine: bool) -> EndedRun:
    """What is kept of a result."""
    states = result.states
    return EndedRun(
        result.run_id,
        result.outcome,
        changed_machine,
        kind=result.kind,
        digest=result.digest,
        own=isinstance(request, Run) and request.own is not None,
        differs=frozenset(key for key, each in states.items() if each.get("result") is not True),
        again=frozenset(key for key, each in states.items() if each.get("not_convergent")),
    )
