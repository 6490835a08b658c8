"""What can go wrong with the store.

StoreError
├── StoreUnavailable   it cannot be opened, read or written (disk full, no permission, locked, damaged)
├── StoreTooNew        a newer version has migrated it
├── KeyConflict        a second key would be accepted for one id
├── KeyUnknown         no key has this id or fingerprint
└── TooManyKeys        so many keys wait for acceptance that no more are taken
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of the store's errors."""


class StoreUnavailable(StoreError):
    """The database cannot be used now."""


class StoreTooNew(StoreError):
    """The database has a schema that this version does not know."""


class KeyConflict(StoreError):
    """Another key is accepted for this id."""


class KeyUnknown(StoreError):
    """No such key."""


class TooManyKeys(StoreError):
    """The bound on waiting keys is reached."""
