"""What goes wrong with returners.

ReturnerError
├── UnknownReturner      there is none of this name, or it cannot do what is asked
└── LibraryMissing       its library is not installed; says which extra of the package has it
"""

from __future__ import annotations

import importlib
from typing import Any


class ReturnerError(Exception):
    """The returner did not take what it was given."""


class EntryRefused(ReturnerError):
    """The store will never take this entry."""


class UnknownReturner(ReturnerError):
    """There is none of this name, or it cannot do what is asked."""


class LibraryMissing(ReturnerError):
    """Its library is not installed."""


def library(name: str, extra: str) -> Any:
    """A library that is not installed with every minion. Raises LibraryMissing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise LibraryMissing(f"{error}: pip install 'saltern[{extra}]'") from error
