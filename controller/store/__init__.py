"""What survives the controller: keys, minions, revisions, documents, runs. The public face of the store."""

from controller.store.errors import KeyConflict, KeyUnknown, StoreError, StoreTooNew, StoreUnavailable
from controller.store.records import (
    NEVER_BEGUN,
    AppliedRecord,
    ConfirmationRecord,
    DesiredRecord,
    FactRecord,
    HoldRecord,
    KeyRecord,
    KeyStatus,
    MinionRecord,
    Past,
    RevisionRecord,
    RevisionSource,
    RunRecord,
    RunState,
    SeenState,
    StatusRow,
    What,
)
from controller.store.store import Store

__all__ = [
    "NEVER_BEGUN",
    "AppliedRecord",
    "ConfirmationRecord",
    "DesiredRecord",
    "FactRecord",
    "HoldRecord",
    "KeyConflict",
    "KeyRecord",
    "KeyStatus",
    "KeyUnknown",
    "MinionRecord",
    "Past",
    "RevisionRecord",
    "RevisionSource",
    "RunRecord",
    "RunState",
    "SeenState",
    "StatusRow",
    "Store",
    "StoreError",
    "StoreTooNew",
    "StoreUnavailable",
    "What",
]
