"""The execution module `mine`: what this minion has for others, and what others have.

The agent sends what lies in the file, whichever function has put it there. Without an agent a minion has its own mine
alone. Behaviour: doc/topics/mine.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.commands import Words
from minion.arguments.types import Reads, as_mapping
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.execution.json_store import keep, read_kept
from minion.execution.loader import Modules

log = logging.getLogger(__name__)

FILE = "mine.json"
"""In the cache: name -> `{value, allow, allow_type}`."""


def as_mine_functions(value: Any) -> Mapping[str, Any]:
    """A mapping of names to what is called, or a list of functions."""
    return as_mapping({name: {} for name in value} if isinstance(value, list) else value)


MineFunctions = Annotated[Mapping[str, Any], Reads(as_mine_functions)]


def update(context: Context, clear: bool = False, mine_functions: MineFunctions | None = None) -> bool | None:
    """Call the functions of `mine_functions` (configuration and pillar, or these) and keep what they give."""
    wanted = mine_functions or _configured(context)
    if not wanted:
        return None
    modules = Modules(context)
    found = {}
    for name, definition in wanted.items():
        fun, args, kwargs, access = _parsed(definition)
        try:
            found[str(name)] = _entry(modules.call(fun or str(name), args, kwargs), access)
        except Exception as error:  # whatever a function raises is its own affair, as in Salt
            log.error("event=mine_function_failed function=%s error=%s", fun or name, error)
    return _store(context, found, clear=clear)


def send(context: Context, name: str, *args: Any, **kwargs: Any) -> bool:
    """Call a function (`mine_function`, else `name`) and keep what it gives under this name."""
    fun, _, given, access = _parsed({key: value for key, value in kwargs.items() if not key.startswith("__pub_")})
    try:
        value = Modules(context).call(fun or name, args, given)
    except Exception as error:  # as above
        log.error("event=mine_function_failed function=%s error=%s", fun or name, error)
        return False
    return _store(context, {name: _entry(value, access)})


def get(
    context: Context, tgt: str | Words, fun: str | Words, tgt_type: str = "glob", exclude_minion: bool = False
) -> dict[str, Any]:
    """What the minions of a target have under a name; of several names by name first."""
    if context.ask_mine is None:
        return _own(context, tgt, fun, tgt_type)
    from highstate.ports import question

    answer = context.ask_mine(question([tgt, fun, tgt_type, exclude_minion], {}))
    if answer.error:
        raise CallFailed(answer.error)
    found: dict[str, Any] = answer.value
    return found


def delete(context: Context, fun: str) -> bool:
    """Have nothing under this name any more."""
    kept = read_kept(context, FILE)
    if kept.pop(fun, None) is not None:
        keep(context, FILE, kept)
    return True


def flush(context: Context) -> bool:
    """Have nothing for others any more."""
    keep(context, FILE, {})
    return True


def valid(context: Context) -> dict[str, Any] | None:
    """The configured functions that there are."""
    wanted = _configured(context)
    if not wanted:
        return None
    modules, found = Modules(context), {}
    for name, definition in wanted.items():
        fun, args, kwargs, _ = _parsed(definition)
        if modules.has(fun or str(name)):
            found[name] = {fun: [*args, *({key: value} for key, value in kwargs.items())]} if fun else definition
    return found


def _configured(context: Context) -> Mapping[str, Any]:
    found = Modules(context).call("config.merge", ("mine_functions", {}))
    return found if isinstance(found, Mapping) else {}


def _parsed(definition: Any) -> tuple[str, list[Any], dict[str, Any], dict[str, Any]]:
    """Function (or nothing), its arguments, its named arguments, and who may have what it gives."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for item in definition if isinstance(definition, list) else [definition or {}]:
        if isinstance(item, Mapping):
            kwargs.update(item)
        else:
            args.append(item)
    fun = kwargs.pop("mine_function", None)
    access = {key: kwargs.pop(key, None) for key in ("allow_tgt", "allow_tgt_type")}
    return str(fun or ""), args, kwargs, access


def _entry(value: Any, access: Mapping[str, Any]) -> dict[str, Any]:
    entry = {"value": value}
    if access["allow_tgt"]:
        entry |= {"allow": access["allow_tgt"], "allow_type": str(access["allow_tgt_type"] or "glob")}
    return entry


def _store(context: Context, found: Mapping[str, Any], *, clear: bool = False) -> bool:
    before = {} if clear else read_kept(context, FILE)
    keep(context, FILE, {**before, **found})
    return True


def _own(context: Context, tgt: str | list[str], fun: str | list[str], tgt_type: str) -> dict[str, Any]:
    """Without a controller: what is in the mine of this minion."""
    if not Modules(context).call(f"match.{tgt_type}", (tgt,)):
        return {}
    names = fun if isinstance(fun, list) else list(dict.fromkeys(fun.split(",")))
    kept = read_kept(context, FILE)
    found = {name: {context.minion_id: kept[name]["value"]} for name in names if name in kept}
    return found if isinstance(fun, list) or len(names) > 1 else found.get(names[0], {})


FUNCTIONS: Mapping[str, Any] = {
    "delete": delete,
    "flush": flush,
    "get": get,
    "send": send,
    "update": update,
    "valid": valid,
}
