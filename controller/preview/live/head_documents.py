"""The documents of a head that is applied before its merge: kept in the store, named by their digests.

Called by `preview` in a thread.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.compilation.compile_messages import CompiledMinion
from controller.schema.errors import ServiceError
from controller.store import Store
from gitfs.source import Trees

_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadDocuments:
    """What minions would have after a merge."""

    base: str
    """Whole commit that the head was merged into."""
    head: str
    """Whole commit."""
    digests: Mapping[str, str]
    """Minion -> digest of its document, which the store has; one that nothing refers to is forgotten after a while."""
    trees: Trees


def keep_documents(compiled: Sequence[CompiledMinion], store: Store) -> dict[str, str]:
    """Keep documents; minion -> digest. ServiceError when one did not compile."""
    broken = [each for each in compiled if not each.ok]
    if broken:
        names = ", ".join(each.minion_id for each in broken[:_MOST_NAMED])
        more = f" and {len(broken) - _MOST_NAMED} more" if len(broken) > _MOST_NAMED else ""
        why = broken[0].errors[0].message if broken[0].errors else "it needs answers that nobody gave"
        raise ServiceError("conflict", f"it does not compile for {names}{more}: {why}", hint="preview it again")
    store.documents.put({each.digest: each.document for each in compiled})
    return {each.minion_id: each.digest for each in compiled}
