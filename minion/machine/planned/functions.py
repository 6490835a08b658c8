"""Execution functions that states call in their acts, under test=True: grains, schedules and beacons that would be set.

Part of `minion.machine.planned`; given by the engine to `minion.machine.functions.KnownFunctions`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from highstate.traverse import MISSING, traverse
from minion.machine.failure import NotPredicted
from minion.machine.plan import Value
from minion.machine.planned.machine import PlannedMachine

Look = Callable[[str, Sequence[Value], Mapping[str, Value]], Value]

_FINE = {"result": True, "comment": "", "changes": {}}
_ABOUT_THE_CHANGE = ("persist", "offline")


class PlannedCalls:
    """`minion.machine.functions.ForeseenCalls` on a planned machine."""

    def __init__(self, planned: PlannedMachine, look: Look) -> None:
        """Args:
        planned: where grains are kept.
        look: calls a function that changes nothing.
        """
        self._planned = planned
        self._look = look
        self._jobs: dict[str, Value] = {}
        """Name -> the job; None: it is deleted."""
        self._beacons: dict[str, Value] = {}
        """The same of beacons."""

    def call(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value]) -> Value:
        """What the function would return, having done its work in memory; NotPredicted where nobody knows."""
        if fun == "grains.set":
            return self._set_grain(str(args[0]), args[1], kwargs)
        if fun in ("schedule.add", "schedule.modify"):
            given = {key: value for key, value in kwargs.items() if key not in _ABOUT_THE_CHANGE}
            self._jobs[str(args[0])] = self._look("schedule.build_schedule_item", args, given)
        elif fun == "schedule.delete":
            self._jobs[str(args[0])] = None
        elif fun in ("schedule.enable_job", "schedule.disable_job"):
            asked = {"show_all": True, "return_yaml": False, "offline": kwargs.get("offline", False)}
            jobs = self.looked("schedule.list", [], asked, self._look("schedule.list", [], asked))
            self._jobs[str(args[0])] = {**jobs[str(args[0])], "enabled": fun == "schedule.enable_job"}
        elif fun.startswith("beacons."):
            self._change_beacons(fun, args)
        else:
            raise NotPredicted
        return _FINE

    def _change_beacons(self, fun: str, args: Sequence[Value]) -> None:
        match fun, args:
            case (("beacons.add" | "beacons.modify"), (name, items)):
                self._beacons[str(name)] = items
            case "beacons.delete", (name,):
                self._beacons[str(name)] = None
            case (("beacons.enable_beacon" | "beacons.disable_beacon"), (name,)):
                asked = {"return_yaml": False}
                items = self.looked("beacons.list", [], asked, self._look("beacons.list", [], asked))[str(name)]
                kept = [item for item in items or () if "enabled" not in item]
                self._beacons[str(name)] = [*kept, {"enabled": fun == "beacons.enable_beacon"}]
            case "beacons.save", _:
                pass
            case _:
                raise NotPredicted

    def looked(self, fun: str, args: Sequence[Value], kwargs: Mapping[str, Value], found: Value) -> Value:
        """What a function that looks would find, of which the machine says `found`."""
        changed = {"schedule.list": self._jobs, "beacons.list": self._beacons}.get(fun)
        if changed is None:
            return found
        return {name: one for name, one in {**found, **changed}.items() if one is not None}

    def _set_grain(self, key: str, value: Value, options: Mapping[str, Value]) -> Value:
        first, *rest = key.split(str(options.get("delimiter") or ":"))
        grains = dict(self._planned.grains)
        gone = value is None and bool(options.get("destructive"))
        new = value
        if rest:
            before = traverse(grains, first, MISSING)
            new = _with(before if isinstance(before, Mapping) else {}, rest, value, gone)
        if gone and (not rest or not new):
            grains.pop(first, None)
        else:
            grains[first] = new
        self._planned.planned_grains = grains
        return _FINE


def _with(mapping: Mapping[str, Value], path: Sequence[str], value: Value, gone: bool) -> dict[str, Value]:
    """The mapping with a value deep within it, or without it."""
    first, *rest = path
    new = dict(mapping)
    if rest:
        below = mapping.get(first)
        new[first] = _with(below if isinstance(below, Mapping) else {}, rest, value, gone)
    elif gone:
        new.pop(first, None)
    else:
        new[first] = value
    return new
