"""The answer of `saltern blame`: a document of the store, its trees, and the history of their mirrors.

Runs in a thread.
"""

from __future__ import annotations

import msgspec

from controller.observe.blame import MOST_STATES, Blamer
from controller.reconcile.status import Status, is_named
from controller.schema.blame import BlamePillar, BlameState, BlameValue, BlameView
from controller.schema.errors import ServiceError
from gitfs.errors import UnknownRef
from gitfs.source import Source, Trees
from highstate.redaction import Redaction


def blame(reports: Status, source: Source, minion: str, state: str) -> BlameView:
    """Where the values of states of a minion come from.

    Args:
        reports: what is known of minions.
        source: the trees.
        minion: its id.
        state: a glob of IDs, names and keys.

    Raises:
        ServiceError: there is no such minion, no document, or no such state in it.
    """
    row = reports.known(minion)
    if row.desired is None or not row.desired.digest:
        raise ServiceError(
            "not-found", f"nothing was compiled for {minion} yet", hint=f"`saltern status {minion}` says why"
        )
    desired = reports.documents.desired(row.desired.digest)
    keys = [key for key in desired.chunks if is_named(key, state)]
    if not keys:
        hint = f"`saltern run {minion} state.show_lowstate` lists its states"
        raise ServiceError("not-found", f"{minion} has no state {state!r}", hint=hint)
    revision = reports.store.revisions.get(row.desired.compiled_revision)
    commits = {name: each.commit for each in revision.sources for name in each.remotes} if revision else {}
    found = Blamer(_trees(source, commits), desired).blamed(keys)
    redaction = reports.redactor.of(minion)
    return BlameView(
        minion=minion,
        revision=revision.label if revision else "",
        states=tuple(_redacted(redaction, one) for one in found),
        more=max(0, len(keys) - MOST_STATES),
    )


def _trees(source: Source, commits: dict[str, str]) -> Trees:
    """Those of the revision; what is live, where a commit of it is gone."""
    try:
        return source.pinned(commits) if commits else source.live()
    except UnknownRef:
        return source.live()


def _redacted(redaction: Redaction, state: BlameState) -> BlameState:
    values = tuple(
        BlameValue(
            name=redaction.text(one.name),
            value=redaction.value(one.value),
            place=one.place,
            pillar=tuple(
                BlamePillar(path=redaction.text(each.path), value=redaction.value(each.value), places=each.places)
                for each in one.pillar
            ),
        )
        for one in state.values
    )
    return msgspec.structs.replace(state, key=redaction.text(state.key), values=values)
