"""What a native rule does: typed calls whose arguments may have values of the event, as `{{ data.id }}`.

A placeholder holds an expression of `reactors.rules.condition`. A text that is one placeholder and nothing else keeps
the kind of the value. What an event brings is put in as it is, and never read again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from options.document import Fault, Inside, Option
from options.near_names import did_you_mean
from reactors.rules.condition import BadCondition, Condition, EventValues, read_condition
from reactors.rules.reaction import OWN_FUNCTIONS, ReactionCall, ReactionType, functions_of_type

_PLACEHOLDER = re.compile(r"\{\{(.*?)\}\}", re.DOTALL)
_PLAIN = re.compile(r"[\w.:@/-]{1,256}", re.ASCII)
"""What an event may put into a target that is a pattern: nothing that makes it match more."""

_TYPES: Mapping[str, ReactionType] = {
    "local": "local",
    "cmd": "local",
    "runner": "runner",
    "wheel": "wheel",
    "reconcile": "reconcile",
    "notify": "notify",
}
_OF_JOB = ("tgt", "tgt_type", "ret", "ret_config", "ret_kwargs", "batch", "subset", "timeout")
_OPTIONS: Mapping[ReactionType, frozenset[str]] = {
    "local": frozenset((*_OF_JOB, "args", "arg", "kwarg")),
    "runner": frozenset(("args", "arg", "kwarg")),
    "wheel": frozenset(("args", "arg", "kwarg")),
}
_OF_TARGET = frozenset(("tgt", "tgt_type"))
MOST_ACTIONS = 100
"""Of one rule."""


class BadValue(ValueError):
    """An event has a value that an action cannot be done with."""


@dataclass(frozen=True, slots=True)
class _Text:
    """A text with placeholders."""

    parts: tuple[str | Condition, ...]

    def of(self, event: EventValues, *, plain: bool) -> Any:
        values = [part if isinstance(part, str) else part.value(event) for part in self.parts]
        if plain:
            for part, value in zip(self.parts, values, strict=True):
                if not isinstance(part, str) and not (isinstance(value, str) and _PLAIN.fullmatch(value)):
                    raise BadValue(f"{part.text.strip()} is {str(value)[:80]!r}, which is no plain name")
        if len(values) == 1:
            return values[0]
        return "".join("" if value is None else str(value) for value in values)


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleAction:
    """One call, its arguments not yet settled."""

    type: ReactionType
    fun: str
    options: Mapping[str, Any] = field(default_factory=dict)
    place: str = ""

    def call(self, rule: str, event: EventValues) -> ReactionCall:
        """The call for an event. Raises BadValue."""
        given = {name: value for name, value in self.options.items() if name not in ("tgt", "tgt_type")}
        settled = {name: _settled(value, event) for name, value in given.items()}
        arg, kwarg = _arguments(settled)
        about: dict[str, Any] = {}
        if "tgt" in self.options:
            about = self._target(event)
        if self.type == "local":
            ret, ret_kwargs = settled.get("ret") or "", settled.get("ret_kwargs") or {}
            if not isinstance(ret_kwargs, Mapping):
                raise BadValue(f"ret_kwargs is {str(ret_kwargs)[:80]!r}, and no mapping")
            about |= {
                "ret": ",".join(map(str, ret)) if isinstance(ret, list | tuple) else str(ret),
                "ret_config": str(settled.get("ret_config") or ""),
                "ret_kwargs": {str(option): value for option, value in ret_kwargs.items()},
                "batch": str(settled.get("batch") or ""),
                "subset": int(settled.get("subset") or 0),
                "timeout": float(settled.get("timeout") or 0),
            }
        if self.type in ("reconcile", "notify"):
            kwarg = settled
        return ReactionCall(sls=rule, id=rule, type=self.type, fun=self.fun, arg=tuple(arg), kwarg=kwarg, **about)

    def _target(self, event: EventValues) -> dict[str, Any]:
        tgt, kind = self.options["tgt"], self.options.get("tgt_type")
        if isinstance(tgt, _Text) and kind is None and len(tgt.parts) == 1:
            found = tgt.of(event, plain=False)
            names = list(found) if isinstance(found, list | tuple) else [found]
            if not names or not all(isinstance(name, str) and name for name in names):
                raise BadValue(f"tgt is {str(found)[:80]!r}, which names no minion")
            return {"tgt": names, "tgt_type": "list"}
        if isinstance(tgt, _Text):
            return {"tgt": tgt.of(event, plain=True), "tgt_type": str(kind or "glob")}
        return {
            "tgt": tgt,
            "tgt_type": "list" if isinstance(tgt, list | tuple) and kind is None else str(kind or "glob"),
        }


def _arguments(settled: Mapping[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    args = settled.get("args")
    if args is None:
        arg = settled.get("arg") or ()
        return (arg if isinstance(arg, list | tuple) else [arg]), dict(settled.get("kwarg") or {})
    if isinstance(args, Mapping):
        return (), dict(args)
    listed = args if isinstance(args, list | tuple) else [args]
    named = [each for each in listed if isinstance(each, Mapping)]
    return [each for each in listed if not isinstance(each, Mapping)], {
        str(name): value for each in named for name, value in each.items()
    }


def _settled(value: Any, event: EventValues) -> Any:
    if isinstance(value, _Text):
        return value.of(event, plain=False)
    if isinstance(value, Mapping):
        return {key: _settled(each, event) for key, each in value.items()}
    return [_settled(each, event) for each in value] if isinstance(value, list | tuple) else value


def read_actions(option: Option, inside: Inside, given: Any, faults: list[Fault]) -> tuple[RuleAction, ...]:
    """The actions of a list; what is wrong is appended to the faults."""
    form = "write a list as `- local.state.apply: {tgt: '{{ minion }}', args: [web]}`"
    if not isinstance(given, list | tuple) or not given or len(given) > MOST_ACTIONS:
        faults.append(Fault(option.at(inside), f"rules: do must be a list of 1 to {MOST_ACTIONS} actions", form))
        return ()
    found = []
    for number, entry in enumerate(given):
        for name, options in entry.items() if isinstance(entry, Mapping) else [(entry, {})]:
            at = (*inside, number, *((str(name),) if isinstance(entry, Mapping) else ()))
            try:
                found.append(_action(str(name), options, option.at(at)))
            except ValueError as error:
                faults.append(Fault(option.at(at), f"rules: {error}", form if "." not in str(name) else ""))
    return tuple(found)


def _action(name: str, given: Any, place: str) -> RuleAction:
    head, _, fun = name.partition(".")
    kind = _TYPES.get(head)
    if kind is None or not fun:
        hint = did_you_mean(head, tuple(_TYPES)) or f"there is {', '.join(_TYPES)}"
        raise ValueError(f"there are no actions {name!r}; {hint}")
    own = OWN_FUNCTIONS.get((kind, fun))
    if own is None and kind in ("reconcile", "notify"):
        raise ValueError(f"there is no {name}; there is {', '.join(functions_of_type(kind))}")
    targeted = name == "reconcile.sync" or kind == "local"
    if given is not None and not isinstance(given, Mapping):
        raise ValueError(f"{name}: its options must be a mapping, not {given!r}")
    options = dict(given or {})
    known = _OPTIONS[kind] if own is None else frozenset(own.optional) | (_OF_TARGET if targeted else frozenset())
    for key in options:
        if key not in known:
            hint = did_you_mean(str(key), tuple(known)) or f"there is {', '.join(sorted(known))}"
            raise ValueError(f"{name} has no option {key!r}; {hint}")
    if targeted and not options.get("tgt"):
        raise ValueError(f"{name} says nothing of its minions: add tgt")
    if kind == "notify" and not options.get("text") and not options.get("title"):
        raise ValueError(f"{name} has nothing to say: add text")
    try:
        return RuleAction(type=kind, fun=fun, options=_read(options), place=place)
    except BadCondition as error:
        raise ValueError(f"{name}: {error}") from None


def _read(value: Any) -> Any:
    """The same with texts that have placeholders read."""
    if isinstance(value, Mapping):
        return {key: _read(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_read(each) for each in value]
    if not isinstance(value, str) or "{{" not in value:
        return value
    words = _PLACEHOLDER.split(value)
    parts = [read_condition(word) if number % 2 else word for number, word in enumerate(words)]
    return _Text(tuple(part for part in parts if part != ""))
