"""Proofs of access, one line each: what `saltern forge check` shows. Shared by the adapters.

Writing is proved without writing: forges look at the right before they see that the thing is not there. Where the
project itself cannot be seen, they say of everything that it is not there, so that this proves nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from controller.forges.client import AccessResult, ForgeError, ForgeUnavailable


@dataclass(frozen=True, slots=True, kw_only=True)
class Proof:
    """How one access is proved."""

    what: str
    """`read pull requests of org/states`."""
    ask: Callable[[], Awaitable[str]]
    """Proves it, and says what was seen. ForgeError: it is not there."""
    remedy: str
    """How it is given."""
    by_absence: bool = False
    """Whether that something is not there proves it."""


async def proved(read: Proof, *others: Proof) -> Sequence[AccessResult]:
    """The line for each access; `read` is that to the project itself."""
    first = await _line(read)
    found = [first]
    for each in others:
        if each.by_absence and not first.ok:
            detail = "cannot be told while the project cannot be read"
            found.append(AccessResult(what=each.what, ok=False, detail=detail))
        else:
            found.append(await _line(each))
    return found


async def _line(proof: Proof) -> AccessResult:
    try:
        return AccessResult(what=proof.what, ok=True, detail=await proof.ask())
    except ForgeUnavailable as error:
        return AccessResult(what=proof.what, ok=False, detail=f"{error}. Try again later")
    except ForgeError as error:
        return AccessResult(what=proof.what, ok=False, detail=f"{error}. {proof.remedy}")
