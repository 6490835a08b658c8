"""`salt.returners`: the options of a returner."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def get_returner_options(
    virtualname: str, ret: Mapping[str, Any] | None = None, attrs: Mapping[str, Any] | None = None, **given: Any
) -> dict[str, Any]:
    """Option -> value, for each of `attrs` (option -> its name in the configuration, below `virtualname`).

    `given` has `__salt__`, `__opts__` and `defaults`. A `ret_config` of the job stands before the plain name.
    """
    opts = given.get("__opts__") or {}
    options = given.get("__salt__", {}).get("config.option")
    defaults = given.get("defaults") or {}
    names = [f"{(ret or {}).get('ret_config')}.{virtualname}"] if (ret or {}).get("ret_config") else []
    found: dict[str, Any] = {}
    for option, name in (attrs or {}).items():
        value = None
        for prefix in (*names, virtualname):
            value = options(f"{prefix}.{name}") if options else opts.get(f"{prefix}.{name}")
            if value in (None, "") and isinstance(opts.get(prefix), Mapping):
                value = opts[prefix].get(name)
            if value not in (None, ""):
                break
        found[option] = value if value not in (None, "") else defaults.get(option)
    return {option: value for option, value in found.items() if value is not None}
