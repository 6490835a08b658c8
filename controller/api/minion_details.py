"""The answer of `GET /api/v1/minions/detail`: the store's row of a minion and its document. Runs in a thread."""

from __future__ import annotations

from itertools import islice

from controller.reconcile.status import Status
from controller.schema.fleet.minion_details import MOST_GRAINS, MOST_STATES, CompiledState, MinionDetail
from controller.schema.minions import MinionPresence, MinionStatus


def minion_detail(reports: Status, status: MinionStatus, presence: MinionPresence) -> MinionDetail:
    """A minion with its grains and the states that it shall have.

    Args:
        reports: what is known of minions.
        status: where it stands.
        presence: whether it is there.

    Raises:
        ServiceError: there is no such minion any more.
    """
    row = reports.known(status.minion)
    redaction = reports.redactor.of(status.minion)
    record = reports.store.minions.get(status.minion)
    grains = record.grains if record is not None else {}
    try:
        chunks = reports.documents.desired(row.desired.digest if row.desired else "").chunks
    except LookupError:  # nothing was compiled, or another document took its place just now
        chunks = {}
    return MinionDetail(
        status=status,
        presence=presence,
        grains={str(name): redaction.value(value) for name, value in islice(sorted(grains.items()), MOST_GRAINS)},
        more_grains=max(0, len(grains) - MOST_GRAINS),
        states=tuple(
            CompiledState(
                key=redaction.text(key),
                id=redaction.text(chunk.id),
                name=redaction.text(chunk.name),
                function=f"{chunk.state}.{chunk.fun}",
                sls=chunk.sls,
                saltenv=chunk.saltenv,
            )
            for key, chunk in islice(chunks.items(), MOST_STATES)
        ),
        more_states=max(0, len(chunks) - MOST_STATES),
    )
