"""Returners: where the value of a call goes besides the one who asked. Salt's contract for `_returners`.

Called by `saltern call` (`--return`, and `return:` of the configuration), and by what delivers the spool of the agent
(`return_delivery`). A returner is a module with a function `returner` that takes one mapping. One that fails ends
nothing else: its error is returned.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TextIO

from minion.execution.context import Context
from minion.returners.registry import BUILT_IN


def answer(
    context: Context, fun: str, words: Sequence[str], value: Any, *, success: bool, retcode: int
) -> dict[str, Any]:
    """What returners are given: Salt's keys."""
    about = {"id": context.minion_id, "fun": fun, "fun_args": list(words), "success": success}
    return {"jid": f"{datetime.now():%Y%m%d%H%M%S%f}", "return": value, "retcode": retcode, **about}


def hand_over(context: Context, names: Sequence[str], ret: Mapping[str, Any], out: TextIO) -> list[str]:
    """Give the answer to each; what went wrong."""
    wrong = []
    for name in names:
        try:
            returner_of(context, name, out)(dict(ret))
        except Exception as error:
            wrong.append(f"returner {name}: {type(error).__name__}: {error}")
    return wrong


def returner_of(context: Context, name: str, out: TextIO) -> Callable[[dict[str, Any]], Any]:
    """A returner by its name: of the tree, else built in. Raises LookupError."""
    loaded = context.user_modules.loaded("returners") if context.has_user_modules() else {}
    if name in loaded:
        if "returner" not in loaded[name].functions:
            raise LookupError("the module has no function returner")
        return loaded[name].functions["returner"].call
    if name == "local":
        return lambda ret: print(ret, file=out)
    if name == "rawfile_json":
        return lambda ret: _append(context, ret)
    if name in BUILT_IN:
        return partial(BUILT_IN[name].returner, context.opts)
    why = context.user_modules.failures.get(f"returners.{name}") if loaded or context.has_user_modules() else None
    names = ", ".join(("local", "rawfile_json", *BUILT_IN))
    raise LookupError(why or f"there is none; {names} are built in, others come with saltutil.sync_returners")


def _append(context: Context, ret: Mapping[str, Any]) -> None:
    """Append to a file of this user alone: values of functions may be secrets."""
    place = Path(context.options.returners.raw_file)
    place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    opened = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
    with os.fdopen(opened, "a") as file:
        file.write(json.dumps(ret, default=str) + "\n")
