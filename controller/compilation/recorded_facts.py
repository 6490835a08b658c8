"""The facts of one minion for its compile: answers that were recorded; what is not recorded is noted.

Called by `compile_worker`, which asks nobody: what a template asks of a machine and nobody has answered yet is asked by
the controller afterwards (`live_facts`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from extmods.fact_answers import may_ask, why_never
from highstate.functions.live import OF_THE_FLEET
from highstate.ports import Fact, question
from highstate.types import Value
from wire.messages import FactAnswer, FactQuery

NO_ANSWER = "has no answer of it yet"
"""In errors of compiles that lack an answer of their minion."""

MOST_ASKED = 8192
"""Characters of the arguments of one question."""


MOST_FLEET_QUERIES = 1000
"""Questions about the fleet of one compile."""


class FleetAnswer(NamedTuple):
    """What the controller knows, as a compile hears it."""

    answer: FactAnswer
    mark: str
    """The same for equal answers: what is recorded of it. Empty: nothing is, it is asked at each compile."""
    shared: bool = False
    """Whether every minion of a fleet hears the same."""
    absent: bool = False
    """Whether the controller has no such runner."""
    size: int = 0
    """Bytes that it takes in memory, about."""
    followed: bool = False
    """Whether whoever heard it is compiled again when it is another one, whatever made it so (`changed_minions`)."""


class MinionFacts:
    """`highstate.ports.Facts` of one minion: answers that were recorded; what is not recorded is noted."""

    def __init__(
        self,
        known: Mapping[FactQuery, FactAnswer],
        allowed: Sequence[str],
        ask_fleet: Callable[[FactQuery], FleetAnswer] | None = None,
    ) -> None:
        """`ask_fleet`: what the controller says to a question about the fleet (`OF_THE_FLEET`)."""
        self._known = known
        self._allowed = allowed
        self._ask_fleet = ask_fleet
        self.fleet_marks: dict[FactQuery, str] = {}
        """What the controller was asked, and the marks of its answers."""
        self.used: dict[FactQuery, None] = {}
        self.unanswered: dict[FactQuery, None] = {}

    def answer(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Fact:
        """See `Facts`."""
        asked = FactQuery(fun=fun, asked=question(args, kwargs))
        if fun in OF_THE_FLEET and self._ask_fleet is not None:
            return self._of_the_fleet(asked, self._ask_fleet)
        if never := why_never(fun):
            return Fact(error=never)
        if not may_ask(fun, self._allowed):
            why = "is not among the functions that may be asked of it (`facts` in saltern.yaml)"
            return Fact(error=why, absent=fun in OF_THE_FLEET)
        if len(asked.asked) > MOST_ASKED:
            return Fact(error=f"is asked with more than {MOST_ASKED} bytes")
        found = self._known.get(asked)
        if found is None:
            self.unanswered[asked] = None
            return Fact(error=NO_ANSWER)
        self.used[asked] = None
        return Fact(value=found.value, error=found.error)

    def _of_the_fleet(self, asked: FactQuery, ask_fleet: Callable[[FactQuery], FleetAnswer]) -> Fact:
        if len(asked.asked) > MOST_ASKED or len(self.fleet_marks) >= MOST_FLEET_QUERIES:
            return Fact(error=f"is asked with more than {MOST_ASKED} bytes, or more than {MOST_FLEET_QUERIES} times")
        said = ask_fleet(asked)
        if said.mark:
            self.fleet_marks[asked] = said.mark
        followed = said.followed and bool(said.mark)
        return Fact(value=said.answer.value, error=said.answer.error, absent=said.absent, followed=followed)
