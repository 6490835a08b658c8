"""Proofs of access, one line each: what `saltern forge check` shows. Shared by the adapters."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from controller.forges.client import AccessResult, ForgeError, ForgeUnavailable


async def proved(what: str, ask: Callable[[], Awaitable[str]], remedy: str) -> AccessResult:
    """The line for one access.

    Args:
        what: it is, `read pull requests of org/states`.
        ask: proves it, and says what was seen. ForgeError: it is not there.
        remedy: how it is given.
    """
    try:
        return AccessResult(what=what, ok=True, detail=await ask())
    except ForgeUnavailable as error:
        return AccessResult(what=what, ok=False, detail=f"{error}. Try again later")
    except ForgeError as error:
        return AccessResult(what=what, ok=False, detail=f"{error}. {remedy}")
