"""What can go wrong with the store.

StoreError
├── StoreUnavailable   it cannot be opened, read or written (disk full, no permission, locked, damaged)
│   └── LeadershipLost another controller leads
├── StoreInUse         another controller uses it
├── StoreTooNew        a newer version has migrated it
├── KeyConflict        a second key would be accepted for one id
├── KeyUnknown         no key has this id or fingerprint
└── QuestionGivenUp    a question took too long
"""

from __future__ import annotations


class StoreError(Exception):
    """Base of the store's errors."""


class StoreUnavailable(StoreError):
    """The database cannot be used now."""


class LeadershipLost(StoreUnavailable):
    """Another controller has taken over."""


class StoreInUse(StoreError):
    """Another process holds the store."""


class StoreTooNew(StoreError):
    """The database has a schema that this version does not know."""


class KeyConflict(StoreError):
    """Another key is accepted for this id."""


class KeyUnknown(StoreError):
    """No such key."""


class QuestionGivenUp(StoreError):
    """A question was given up: it has taken all the seconds that one may."""
