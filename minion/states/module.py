"""The state module `module`: execution functions called by states, in both of Salt's ways to write it.

    restart:                        restart:
      module.run:                     module.run:
        - service.restart:              - name: service.restart
          - name: nginx                 - m_name: nginx

Behaviour: doc/ref/states/all/salt.states.module. A call acts whenever it runs, so no second plan is made.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature

from minion.machine.failure import StateFailed
from minion.machine.functions import Functions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction, Value

_RENAMED = ("name", "fun", "names", "state", "saltenv")
"""Arguments of functions that a state cannot have under their names: they are written with `m_`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Call:
    label: str
    """As the author wrote it: `fun`, or `fun:a` to call one several times."""
    args: tuple[Value, ...] = ()
    kwargs: Mapping[str, Value]

    @property
    def fun(self) -> str:
        return self.label.partition(":")[0]


def run(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """Call one function (`name`) or several (each a key with its arguments)."""
    new_style = [key for key in arguments if "." in key]
    if new_style and len(new_style) == len(set(arguments) - {"returner", "sfun"}):
        return _several(functions, [_new_style(key, arguments[key]) for key in new_style])
    return _one(functions, name, arguments)


def wait(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """Nothing, until `mod_watch` is called."""
    return Plan()


def mod_watch(machine: Reader, name: str, *, functions: Functions, **arguments: Value) -> Plan:
    """The call, because something that it watches has changed."""
    return run(machine, name, functions=functions, **{k: v for k, v in arguments.items() if k != "sfun"})


def _several(functions: KnownFunctions, calls: list[_Call]) -> Plan:
    missing = [call.fun for call in calls if functions.signature(call.fun) is None]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        raise StateFailed(f"Unavailable function{plural}: {', '.join(missing)}.")

    def act(machine: Machine) -> Mapping[str, Value]:
        done: dict[str, Value] = {}
        failures: list[str] = []
        said: list[str] = []
        for call in calls:
            try:
                value = functions.call(call.fun, call.args, call.kwargs)
            except StateFailed as error:
                failures.append(f"'{call.label}' failed: {error}")
                continue
            if _good(value):
                done[call.label] = value
                said.append(f"{call.label}: {value.get('comment', 'Success') if isinstance(value, Mapping) else value}")
            else:
                why = value.get("comment", "no message") if isinstance(value, Mapping) else value
                failures.append(
                    f"'{call.label}' failed: {why}" if isinstance(value, Mapping) else f"'{call.label}': {why}"
                )
        if failures:
            raise StateFailed(", ".join([*failures, *said]), done)
        return {**done, "__comment__": ", ".join(said)}

    names = ", ".join(call.fun for call in calls)
    pending = f"Function{'s' if len(calls) > 1 else ''} {names} to be executed."
    return Plan(changes=(Change(key="", act=act),), pending=pending, done="", converges=False, each_time=True)


def _one(functions: KnownFunctions, fun: str, arguments: Mapping[str, Value]) -> Plan:
    signature = functions.signature(fun)
    if signature is None:
        raise StateFailed(f"Module function {fun} is not available")
    call = _legacy(fun, signature, {key: value for key, value in arguments.items() if key != "returner"})

    def act(machine: Machine) -> Mapping[str, Value]:
        try:
            value = functions.call(call.fun, call.args, call.kwargs)
        except StateFailed as error:
            raise StateFailed(f"Module function {fun} threw an exception. Exception: {error}") from error
        if not _good(value):
            raise StateFailed(f"Module function {fun} executed", {"ret": value})
        return {"ret": value}

    return Plan(
        changes=(Change(key="", act=act),),
        pending=f"Module function {fun} is set to execute",
        done=f"Module function {fun} executed",
        converges=False,
        each_time=True,
    )


def _new_style(label: str, given: Value) -> _Call:
    """`fun: [a, {key: value}]`, `fun: {key: value}` or `fun: null`."""
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    for item in given if isinstance(given, list) else [] if given is None else [given]:
        if isinstance(item, Mapping):
            kwargs.update(item)
        else:
            args.append(item)
    return _Call(label=label, args=tuple(args), kwargs=kwargs)


def _legacy(fun: str, signature: Signature, given: Mapping[str, Value]) -> _Call:
    """Arguments by name, `m_name` for `name`; what a function takes as `*x` or `**x` is given as a list or mapping."""
    left = dict(given)
    args: list[Value] = []
    kwargs: dict[str, Value] = {}
    missing: list[str] = []
    varied = any(p.kind is Parameter.VAR_POSITIONAL and _word(n, left) in left for n, p in signature.parameters.items())
    for name, parameter in signature.parameters.items():
        word = _word(name, left)
        if parameter.kind is Parameter.VAR_POSITIONAL:
            listed = left.pop(word, ())
            if not isinstance(listed, list | tuple):
                raise StateFailed(f"'{name}' must be a list.")
            args += listed
        elif parameter.kind is Parameter.VAR_KEYWORD:
            named = left.pop(word, {})
            if not isinstance(named, Mapping):
                raise StateFailed(f"'{name}' must be a dict.")
            kwargs |= {**left, **named}
            left = {}
        elif word in left:
            value = left.pop(word)
            if varied and parameter.kind is not Parameter.KEYWORD_ONLY:
                args.append(value)
            else:
                kwargs[name] = value
        elif parameter.default is Parameter.empty:
            missing.append(word)
    if missing:
        raise StateFailed("The following arguments are missing: " + " ".join(missing))
    return _Call(label=fun, args=tuple(args), kwargs=kwargs)


def _word(name: str, given: Mapping[str, Value]) -> str:
    return f"m_{name}" if name in _RENAMED else name


def _good(value: Value) -> bool:
    """Salt's reading of a return value: False, a false `result` or `success`, or a `retcode` that is not 0 failed."""
    if isinstance(value, bool):
        return value
    if not isinstance(value, Mapping):
        return True
    if "retcode" in value:
        return bool(value["retcode"] == 0)
    for key in ("result", "success"):
        if key in value:
            return value[key] is not False
    return True


STATES: Mapping[str, StateFunction] = {"run": run, "wait": wait, "watch": wait}
