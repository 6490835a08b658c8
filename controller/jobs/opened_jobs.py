"""The beginning of jobs: each is kept with the minions that it means, and told once.

Called by `Jobs` for a job whose minions are all asked at once, and before the first of them is asked by whoever asks
them bit by bit: batches, reactions, orchestrations. Those are `driven` meanwhile: minions without a run wait for their
turn. When it is driven no longer (it was stopped, or the controller was), they are not asked any more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import msgspec

from controller.observe.redactor import Redactor
from controller.observe.run_functions import typed
from controller.observe.run_text import typed_arguments
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.sessions.sessions import Sessions
from controller.store import Store
from controller.store.jobs.table import JobRecord
from reactors import tags
from reactors.bus import Bus
from wire.messages import MOST_METADATA

_MANY = 256
"""Minions beyond which the secrets of all are read at once."""


@dataclass(slots=True, kw_only=True)
class OpenedJobs:
    """Keeps and tells jobs.

    Args:
        store: where they are kept.
        sessions: who is connected.
        redactor: takes secrets of minions out of arguments.
        bus: where they are told.
        clock: seconds since the epoch.
    """

    store: Store
    sessions: Sessions
    redactor: Redactor
    bus: Bus
    clock: Callable[[], float]
    _driven: set[str] = field(default_factory=set)

    def open(self, jid: str, minions: Sequence[str], question: CallQuestion, user: str, cause: int = 0) -> int:
        """Keep and tell a job before any minion is asked; one that is known already is told no more.

        Returns:
            The id of the event, from which all runs of the job follow; `cause` where there is no new one.

        Raises:
            ServiceError: the metadata are too large.
        """
        if (size := len(msgspec.msgpack.encode(question.metadata))) > MOST_METADATA:
            raise ServiceError("bad-request", f"the metadata have {size} bytes; at most {MOST_METADATA} are kept")
        text = self.arguments(minions, question)
        job = JobRecord(
            jid=jid,
            fun=question.fun,
            args=text,
            tgt=question.target.expression,
            tgt_type=question.target.kind,
            user=user,
            created=self.clock(),
            minions=tuple(minions),
            metadata=question.metadata,
        )
        if not self.store.jobs.create(job):
            return cause
        asked = {
            "tgt": job.tgt,
            "tgt_type": job.tgt_type,
            "minions": list(minions),
            "missing": [minion for minion in minions if self.sessions.session(minion) is None],
            "user": user,
            **({"metadata": dict(job.metadata)} if job.metadata else {}),
        }
        return self.bus.publish(*tags.job_new(jid, asked, job.fun, typed(text)), cause=cause).id

    def arguments(self, minions: Sequence[str], question: CallQuestion) -> str:
        """The arguments as one would type them, without the secrets of these minions (of all, where they are many)."""
        text = typed_arguments(question.fun, question.args, question.kwargs)
        if not text:
            return text
        if len(minions) > _MANY:
            return self.redactor.of_nobody(text)
        self.redactor.prepare(minions)
        for minion in minions:
            text = self.redactor.of(minion).text(text)
        return text

    def drive(self, jid: str) -> None:
        """From now on somebody asks minions of this job, one after the other, until `leave`."""
        self._driven.add(jid)

    def leave(self, jid: str) -> None:
        """No more minions of this job are asked."""
        self._driven.discard(jid)

    def driven(self) -> frozenset[str]:
        """Jobs of which more minions will be asked."""
        return frozenset(self._driven)

    def is_driven(self, jid: str) -> bool:
        """Whether more of its minions will be asked."""
        return jid in self._driven
