"""Options of returners under Salt's names: `NAME.option`, a mapping `NAME`, `PROFILE.NAME.option` with `ret_config`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from extmods.salt_compat.returners import get_returner_options


def options_of(
    prefix: str, opts: Mapping[str, Any], defaults: Mapping[str, Any], ret: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The options of a returner; `ret_kwargs` of the return stand above all.

    Args:
        prefix: before the names: `redis`, `returner.pgjsonb`.
        opts: the configuration as it was written.
        defaults: option -> value when nothing says another; None: then there is none.
        ret: what is returned.
    """
    found = get_returner_options(prefix, ret, {name: name for name in defaults}, __opts__=opts)
    own = (ret or {}).get("ret_kwargs")
    given = {str(name): value for name, value in own.items()} if isinstance(own, Mapping) else {}
    return {**defaults, **found, **given}


def times(value: Any, default: float) -> float:
    """A number of seconds that may have been written as text."""
    try:
        return float(value)
    except (TypeError, ValueError):
        return default
