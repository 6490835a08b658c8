"""The arguments of a reaction: Salt's newer form (`args`), its older one (`arg`, `kwarg`), and parameters by name.

Where Salt drops what was written or takes it letter by letter, what was plainly meant is done:

- `arg: nginx` is one argument;
- a list of mappings below `kwarg` is those named arguments;
- plain values below `args` are positional.

Source: salt/utils/reactor.py `ReactWrap.run`, salt/utils/args.py `format_call`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from highstate.compile.high import REQUISITE_ARGUMENTS
from highstate.compile.positions import SourceLocation, near
from highstate.types import Chunk, Problem
from reactors.rules.reaction import (
    OWN_FUNCTIONS,
    REACTION_TYPES,
    Parameters,
    ParametersOf,
    ReactionCall,
    ReactionType,
    functions_of_type,
)

_ALIASES = {"cmd": "local"}
"""Older names of types."""
_ASKED_OF_JOBS = ("ret", "ret_config", "ret_kwargs", "batch", "subset", "timeout")
_OF_REACTION = frozenset(("tgt", "tgt_type", "expr_form", "arg", "kwarg", "args", *_ASKED_OF_JOBS))
_NO_ARGUMENTS = frozenset(("name_order", "user", "__user__", "order", *REQUISITE_ARGUMENTS))


def reaction_of(
    chunk: Chunk, location: SourceLocation, parameters_of: ParametersOf, warnings: list[Problem]
) -> ReactionCall | Problem:
    """A low chunk as a reaction, or what is wrong with it; what has no effect is added to `warnings`."""
    name = _ALIASES.get(chunk.state, chunk.state)
    if name not in REACTION_TYPES:
        hint = near(name, (*REACTION_TYPES, *_ALIASES)) or f"there is {', '.join(REACTION_TYPES)}"
        return location.problem(f"there are no reactions of type {chunk.state!r}", chunk.state, hint=hint)
    given = {key: value for key, value in chunk.arguments.items() if key not in _NO_ARGUMENTS}
    kind: ReactionType = name
    parameters = parameters_of(kind, chunk.fun) if kind == "runner" or kind == "wheel" else None
    reading = _Reading(kind, chunk, location, warnings)
    if kind in ("runner", "wheel") and parameters is None:
        reading.warn(f"there is no {kind} {chunk.fun}", hint="this reaction will fail")
        parameters = Parameters((), (), any_name=True)
    if kind in ("reconcile", "notify"):
        return _of_saltern(kind, given, reading)
    if kind == "local" and "tgt" not in given:
        text = f"the reaction {chunk.id!r} says nothing of its minions"
        return location.problem(text, chunk.state, hint="add `- tgt: PATTERN`")
    arguments = reading.arguments(given, parameters)
    if isinstance(arguments, Problem):
        return arguments
    arg, kwarg = arguments
    about: dict[str, Any] = {}
    if kind == "local":
        about = reading.of_job(given)
    return ReactionCall(
        sls=chunk.sls, id=chunk.id, type=kind, fun=chunk.fun, arg=tuple(arg), kwarg=dict(kwarg), **about
    )


def _of_saltern(kind: ReactionType, given: Mapping[str, Any], reading: _Reading) -> ReactionCall | Problem:
    """A reaction of a type that Salt does not have."""
    chunk, location = reading.chunk, reading.location
    parameters = OWN_FUNCTIONS.get((kind, chunk.fun))
    if parameters is None:
        known = functions_of_type(kind)
        hint = near(f"{kind}.{chunk.fun}", known) or f"there is {', '.join(known)}"
        return location.problem(f"there is no {kind}.{chunk.fun}", chunk.state, hint=hint)
    about: dict[str, Any] = {}
    if (kind, chunk.fun) == ("reconcile", "sync"):
        if not given.get("tgt"):
            text = f"the reaction {chunk.id!r} says nothing of its minions"
            return location.problem(text, chunk.state, hint="add `- tgt: PATTERN`")
        about = {key: value for key, value in reading.of_job(given).items() if key in ("tgt", "tgt_type")}
    rest = {key: value for key, value in given.items() if key not in ("tgt", "tgt_type", "expr_form")}
    arguments = reading.arguments(rest, parameters)
    if isinstance(arguments, Problem):
        return arguments
    kwarg = {**dict(zip(parameters.optional, arguments[0], strict=False)), **arguments[1]}
    for name in [name for name in kwarg if name not in parameters.optional]:
        reading.warn(f"{kind}.{chunk.fun} has no parameter {name!r}", "args", hint=near(name, parameters.optional))
        del kwarg[name]
    if kind == "notify" and not kwarg.get("text") and not kwarg.get("title"):
        text = f"the reaction {chunk.id!r} has nothing to say"
        return location.problem(text, chunk.state, hint="add `- text: WORDS`")
    return ReactionCall(sls=chunk.sls, id=chunk.id, type=kind, fun=chunk.fun, kwarg=kwarg, **about)


class _Reading:
    """One reaction while its arguments are read."""

    def __init__(self, kind: ReactionType, chunk: Chunk, location: SourceLocation, warnings: list[Problem]) -> None:
        self.kind, self.chunk, self.location, self.warnings = kind, chunk, location, warnings

    def arguments(
        self, given: Mapping[str, Any], parameters: Parameters | None
    ) -> tuple[Sequence[Any], Mapping[str, Any]] | Problem:
        if "args" in given:
            for old in ("arg", "kwarg"):
                if old in given:
                    self.warn(f"{old} has no effect beside args", old, hint=f"move it below `args`, or remove {old}")
            self._warn_of_rest(given)
            return self._new_form(given["args"])
        if parameters is not None and not ("arg" in given and "kwarg" in given):
            return self._by_name(given, parameters)
        self._warn_of_rest(given)
        return _positional(given.get("arg", ())), self._named(given.get("kwarg") or {}, "kwarg")

    def of_job(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """What a job is told beside its function and arguments."""
        about = {
            "tgt": given["tgt"],
            "tgt_type": str(given.get("tgt_type") or given.get("expr_form") or "glob"),
            "ret": given.get("ret") or "",
            "ret_config": str(given.get("ret_config") or ""),
            "ret_kwargs": given.get("ret_kwargs") or {},
            "batch": str(given.get("batch") or ""),
        }
        if not isinstance(about["ret_kwargs"], Mapping):
            self.warn(
                f"ret_kwargs must be a mapping, not {given['ret_kwargs']!r}", "ret_kwargs", hint="it has no effect"
            )
            about["ret_kwargs"] = {}
        if isinstance(about["ret"], list | tuple):
            about["ret"] = ",".join(str(each) for each in about["ret"])
        for key, number in (("subset", int), ("timeout", float)):
            try:
                about[key] = number(given.get(key) or 0)
            except (TypeError, ValueError):
                self.warn(f"{key} must be a number, not {given[key]!r}", key, hint="it has no effect")
        return about

    def warn(self, text: str, *keys: str, hint: str = "") -> None:
        text = f"reaction {self.chunk.id!r}: {text}"
        self.warnings.append(self.location.problem(text, self.chunk.state, *keys, hint=hint))

    def _new_form(self, args: Any) -> tuple[Sequence[Any], Mapping[str, Any]] | Problem:
        if isinstance(args, Mapping):
            return (), {str(key): value for key, value in args.items()}
        if args is None or args == "":
            return (), {}
        arg: list[Any] = []
        kwarg: dict[str, Any] = {}
        legacy = self.kind == "caller" and not _are_mappings(args)
        for each in args if isinstance(args, list | tuple) else [args]:
            if isinstance(each, Mapping) and not legacy:
                if len(each) != 1:
                    text = f"reaction {self.chunk.id!r}: an entry of args has {len(each)} keys"
                    return self.location.problem(text, self.chunk.state, "args", hint="write each as `- NAME: VALUE`")
                kwarg.update(each)
            else:
                arg.append(each)
        return arg, kwarg

    def _by_name(self, given: Mapping[str, Any], known: Parameters) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """Arguments of a runner or wheel that stand beside the function, as in `- match: web1`."""
        said = dict(given)
        if self.chunk.name != self.chunk.id or "name" in (*known.positional, *known.optional):
            said.setdefault("name", self.chunk.name)
        own = {key: said.pop(key) for key in ("arg", "kwarg") if key in said}
        names = (*known.positional, *known.optional)
        arg = [said.pop(name) for name in known.positional if name in said]
        kwarg = {name: said.pop(name) for name in known.optional if name in said}
        said.pop("name", None)
        if known.any_name:
            kwarg |= said
        elif said and not own:
            for name in said:
                text = f"{self.chunk.fun} has no parameter {name!r}"
                self.warn(text, name, hint=near(name, names) or "it has no effect")
        if "arg" in own:
            arg = list(_positional(own["arg"]))
        if "kwarg" in own:
            kwarg = dict(self._named(own["kwarg"] or {}, "kwarg"))
        return arg, kwarg

    def _named(self, value: Any, key: str) -> Mapping[str, Any]:
        if isinstance(value, Mapping):
            return {str(name): each for name, each in value.items()}
        if _are_mappings(value):
            return {str(name): each for entry in value for name, each in entry.items()}
        self.warn(f"{key} must be a mapping, not {value!r}", key, hint="it has no effect")
        return {}

    def _warn_of_rest(self, given: Mapping[str, Any]) -> None:
        for name in given:
            if name not in _OF_REACTION:
                hint = near(name, _OF_REACTION) or "arguments of the function stand below `args`"
                self.warn(f"{name} has no effect here", name, hint=hint)


def _positional(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _are_mappings(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(each, Mapping) for each in value)
