"""Which calls of the module `state` the controller compiles, and what of their arguments the compile needs. Pure.

Names, positions and meanings of arguments are those of salt.modules.state.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from controller.compilation.compile_messages import StatesQuestion
from controller.config.limits import StateCallLimits
from controller.observe.run_text import names_secret
from controller.schema.errors import ServiceError
from highstate.data_limits import is_shallow
from minion.arguments.types import Unfit, as_comma_list

_POSITIONS: Mapping[str, tuple[str, ...]] = {
    "apply": ("mods",),
    "highstate": ("test", "queue", "state_events"),
    "id_exists": ("ids", "mods", "test", "queue"),
    "show_highstate": ("queue",),
    "show_low_sls": ("mods", "test", "queue"),
    "show_lowstate": ("queue",),
    "show_sls": ("mods", "test", "queue"),
    "show_state_usage": ("queue",),
    "show_states": ("queue",),
    "show_top": ("queue",),
    "sls": ("mods", "test", "exclude", "queue", "sync_mods", "state_events"),
    "sls_exists": ("mods", "test", "queue"),
    "sls_id": ("id_", "mods", "test", "queue", "state_events"),
    "test": ("mods",),
    "top": ("topfn", "test", "queue"),
}
"""Function of `state` -> its arguments with a position."""
_RUNS = frozenset(["apply", "highstate", "sls", "sls_id", "test", "top"])
_CHANGES = (_RUNS - {"test"}) | {"single"}
_MODS_NEEDED = frozenset(["id_exists", "show_low_sls", "show_sls", "sls", "sls_exists"])
_FOR_COMPILE = frozenset(["pillar", "saltenv", "pillarenv"])
"""Named arguments that the minion is not given: they are in what was compiled."""
_SHOW_IGNORES = frozenset(
    ["concurrent", "localconfig", "queue", "state_events", "sync_mods", "test", "ids", "mods", "orchestration_jid"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StateCall:
    """A call that is compiled on the controller."""

    question: StatesQuestion
    options: Mapping[str, str]
    """Of the language, in place of the configured ones."""
    kwargs: Mapping[str, Any]
    """Named arguments for the minion."""
    secrets: tuple[str, ...] = field(default=(), repr=False)
    """Texts of `pillar` whose names say that they are secret."""


def changes_states(fun: str, kwargs: Mapping[str, Any]) -> bool:
    """Whether a call runs states that may change the minion."""
    module, _, name = fun.partition(".")
    return module == "state" and name in _CHANGES and not kwargs.get("test")


def state_call(fun: str, args: Sequence[Any], kwargs: Mapping[str, Any], limits: StateCallLimits) -> StateCall | None:
    """What is compiled for a call; None for one that minions do with what they hold, and for functions of other names.

    ServiceError for arguments that cannot be taken, or are over a limit.
    """
    module, _, name = fun.partition(".")
    if module != "state" or name not in _POSITIONS:
        return None
    given = {**dict(zip(_POSITIONS[name], args, strict=False)), **kwargs}
    pillar = _pillar(given.get("pillar"), limits)
    mods = _mods(fun, given, limits)
    if name in _MODS_NEEDED and mods is None:
        raise ServiceError("bad-request", f"{fun} needs the name of an SLS: {fun} SLS[,SLS2]")
    if name in _RUNS and mods is None and name != "top" and not pillar and not _FOR_COMPILE & given.keys():
        return None
    if given.get("pillar_enc"):
        raise ServiceError("bad-request", "pillar_enc= is not built: give the pillar in plain text")
    if name not in _RUNS:
        _check_shown(fun, kwargs)
    options = {key: _text(key, given[key]) for key in ("saltenv", "pillarenv") if given.get(key)}
    saltenv = options.get("saltenv", "base")
    if mods is not None:
        options.pop("saltenv", None)  # what is taken from a highstate; the SLS have their own
    if name == "top":
        options["state_top"] = _text("topfn", given.get("topfn")).removeprefix("salt://")
    question = StatesQuestion(
        fun=("highstate" if mods is None else "sls") if name in _RUNS else name,
        mods=mods,
        ids=_names("ids", given.get("ids"), limits),
        saltenv=saltenv,
        pillar=pillar,
    )
    rest = {key: value for key, value in kwargs.items() if key not in _FOR_COMPILE}
    return StateCall(question=question, options=options, kwargs=rest, secrets=tuple(_secrets(pillar)))


def _mods(fun: str, given: Mapping[str, Any], limits: StateCallLimits) -> tuple[str, ...] | None:
    """Names of the SLS; None where none is named."""
    if fun in ("state.highstate", "state.top"):
        return None
    return _names("mods", given.get("mods"), limits) or None


def _names(argument: str, value: Any, limits: StateCallLimits) -> tuple[str, ...]:
    try:
        found = () if value is None else as_comma_list(value)
    except Unfit as error:
        raise ServiceError("bad-request", f"{argument} must be {error}, not {value!r}"[:500]) from None
    if len(found) > limits.names or any(len(one) > limits.name_characters for one in found):
        most = f"{limits.names} names of {limits.name_characters} characters"
        raise ServiceError("bad-request", f"{argument}: {most} are the most that a call may have")
    return found


def _pillar(value: Any, limits: StateCallLimits) -> Mapping[str, Any]:
    if value is None or value == "":
        return {}
    if not isinstance(value, Mapping):
        raise ServiceError(
            "bad-request", "Pillar data must be formatted as a dictionary", hint="write it as pillar='{key: value}'"
        )
    if not is_shallow(value, limits.pillar_depth):
        raise ServiceError("bad-request", f"pillar= is nested more than {limits.pillar_depth} levels deep")
    size = len(msgspec.msgpack.encode(value, enc_hook=str))
    if size > limits.pillar_bytes:
        hint = "put it into the pillar tree, or raise pillar_bytes of state_call in the option limits"
        raise ServiceError("bad-request", f"pillar= has {size} bytes, and {limits.pillar_bytes} is the most", hint=hint)
    return value


def _check_shown(fun: str, kwargs: Mapping[str, Any]) -> None:
    known = _SHOW_IGNORES | _FOR_COMPILE
    for name in kwargs:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"did you mean {close[0]}?" if close else f"there are {', '.join(sorted(_FOR_COMPILE))}"
            raise ServiceError("bad-request", f"{fun} has no argument {name!r}", hint=hint)


def _text(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value or len(value) > 1000:
        raise ServiceError("bad-request", f"{name} must be a text, not {value!r}"[:500])
    return value


def _secrets(value: Any, named: bool = False) -> Iterator[str]:
    """Texts whose names say that they are secret."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _secrets(inner, named or names_secret(str(key)))
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _secrets(inner, named)
    elif named and isinstance(value, str) and value:
        yield value
