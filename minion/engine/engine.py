"""The executor of `highstate.run` on a machine: finds the state function, plans, acts, and plans again.

Called by the worker and by `saltern call`. Under test=True nothing is ever handed a means to write. It is the border
at which whatever a state raises becomes a result: no exception passes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, cast

from highstate.run.ports import Prepared
from highstate.types import Chunk, StateResult, Value
from minion.arguments import BadValues
from minion.engine import slots
from minion.engine.chunk_arguments import GLOBAL, arguments_of
from minion.engine.conditions import ConditionUnknown, checked, condition
from minion.engine.foretold import brings_anything, doubtful, foretell, may_have_packages
from minion.engine.ignored import Ignoring, PlannedState, shown
from minion.engine.registry import Function, UnknownState, find, mod_watch
from minion.engine.results import exception_text, failed_result, not_convergent, perform, system_text, unknown_result
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.functions import ConditionFunctions, KnownFunctions
from minion.machine.plan import Change, Machine, Plan, Reader
from minion.machine.planned.functions import PlannedCalls
from minion.machine.planned.machine import PlannedMachine
from minion.machine.printable import printable, printable_in
from minion.machine.read_only import ReadOnly
from minion.machine.umask import MaskedMachine, umask_of

_CONDITIONS = frozenset(("unless", "onlyif", "creates", "check_cmd"))

_RELOADS = ("reload_modules", "reload_grains", "reload_pillar")

_OF_DATA = frozenset(("grains.get", "grains.item", "pillar.get", "pillar.item", "config.get", "config.option"))
"""Functions that slots may call under test=True, besides those that look at the machine."""


_NOT_KNOWN = "What it would do is not known"
"""How the comment of a prediction begins that nobody can make."""


class UserStates(Protocol):
    """State modules that came with the tree (`extmods`). They have Salt's contract, not that of plans."""

    def has(self, state: str) -> bool:
        """Whether there is such a module; it stands before the built-in one."""

    def takes(self, state: str, fun: str) -> bool:
        """Whether the module has this function."""

    def call(self, chunk: Chunk, fun: str, arguments: Mapping[str, Value], *, test: bool) -> StateResult:
        """What the function returns; never raises."""


Instead = Callable[[Chunk, Mapping[str, Value], bool, StateResult], StateResult]
"""Given a state, its arguments, whether it is watched and its prediction; what is said in its place, or the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _UserWork:
    """A function of a user module that is to be called."""

    fun: str
    arguments: Mapping[str, Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cleanup:
    """All that is left to do where nothing changes."""

    perform: Callable[[Machine], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What `act` needs: the plan, and how to ask for it again."""

    plan: Plan
    function: Function
    arguments: Mapping[str, Value]
    warnings: tuple[str, ...]


_DECIDING = frozenset({"onlyif", "unless", "creates"})
"""Arguments that say when a state that acts each time has something to do."""

_EACH_TIME = "Acts each time it is run: not drift"


class StateEngine:
    """Runs state functions on `machine`; `functions` answer the conditions that name an execution function."""

    def __init__(
        self,
        machine: Machine,
        functions: ConditionFunctions | None = None,
        *,
        test: bool = False,
        backup_dir: str = "",
        user_states: UserStates | None = None,
        reload: Callable[[str], None] | None = None,
        drift: bool = False,
        planned: PlannedMachine | None = None,
        ignoring: Ignoring | None = None,
        looks_again: bool = False,
        acts_on: Callable[[Machine, Chunk], Machine] = lambda machine, chunk: machine,
    ) -> None:
        """Run on `machine`.

        Args:
            functions: answer the conditions that name an execution function.
            test: whether nothing may be changed.
            backup_dir: where `backup: minion` keeps what it replaces.
            user_states: the state functions of the tree.
            reload: called with `modules`, `grains` or `pillar` after a chunk that asks for it.
            drift: whether drift is looked for; a state that acts each time is none.
            planned: the machine that `functions` look at under test=True; None: they look at the real one.
            ignoring: differences that are neither told nor put right.
            looks_again: whether a state of the tree that changed something is asked at once what it would change now.
            acts_on: given the machine and a state, what the state acts on.
        """
        self._user_states = user_states
        self._reload = reload
        self._machine = machine
        self._foreseen = (planned or PlannedMachine(machine)) if test else None
        """Under test=True: the machine as the states before would have left it."""
        self._looked_at = machine if self._foreseen is None else cast(Machine, self._foreseen)
        self._read_only = ReadOnly(self._looked_at)
        self._reader = cast(Reader, self._read_only)
        self._to_come: set[tuple[str, str]] = set()
        self._supplied = {
            "backup_dir": backup_dir,
            "functions": self._known_functions(functions),
            "to_come": self._to_come,
        }
        self._functions = functions
        self._test = test
        self._drift = drift
        self._ignoring = ignoring
        self._looks_again = looks_again
        self._acts_on = acts_on
        self._instead: Instead = lambda chunk, arguments, watched, predicted: predicted

    @property
    def reader(self) -> Reader:
        """What plans look at: under test=True the machine as the states so far would have left it."""
        return self._reader

    def checking(self, instead: Instead) -> StateEngine:
        """An engine that looks for drift on the machine as the states of this one would have left it.

        Args:
            instead: asked of each state that would act, before the states after it see what it would have done; where
                it says that nothing is to be done, they see nothing of it.
        """
        other = copy.copy(self)
        other._drift, other._instead = True, instead
        return other

    def _known_functions(self, functions: ConditionFunctions | None) -> KnownFunctions:
        known = KnownFunctions(functions)
        if self._foreseen is None:
            return known
        return KnownFunctions(functions, foreseen=PlannedCalls(self._foreseen, known.look))

    def plan(self, chunk: Chunk, arguments: Mapping[str, Value], *, watched: bool) -> Prepared | None:
        """What the chunk would do now; None when it has no mod_watch and `watched` asks for it."""
        self._read_only.begin_state()
        if self._foreseen is None:
            return self._plan(chunk, arguments, watched)
        self._foreseen.begin()
        prepared = self._plan(chunk, arguments, watched)
        if prepared is None:
            return None
        if prepared.predicted.result is False:
            prepared = replace(prepared, predicted=self._waiting(self._foreseen, chunk, prepared.predicted))
        return self._doubted(self._foreseen, prepared)

    def _doubted(self, planned: PlannedMachine, prepared: Prepared) -> Prepared:
        """The prediction of a state that looked at what one before it may change: not known."""
        chunk, predicted = prepared.chunk, prepared.predicted
        doubt = planned.doubt(chunk.state, chunk.name)
        if predicted.result is False:
            doubt = doubt or planned.condition_doubt
        if planned.condition_doubt and predicted.result is None:
            planned.brought.append(doubtful(planned, chunk))
        if not doubt or predicted.comment.startswith(_NOT_KNOWN):
            return prepared
        self._to_come.add((chunk.state, chunk.name))
        planned.brought.append(doubtful(planned, chunk))
        comment = f"{_NOT_KNOWN}: {doubt}. Now: {predicted.comment}"
        return replace(prepared, predicted=replace(predicted, result=None, comment=comment))

    def _waiting(self, planned: PlannedMachine, chunk: Chunk, failed: StateResult) -> StateResult:
        """The prediction of a state that would fail now: not known where one before it may bring what it lacks."""
        by = planned.awaited(failed.comment) or may_have_packages(planned, chunk)
        return self._waiting_for(by, chunk, failed) if by else failed

    def _waiting_for(self, by: str, chunk: Chunk, failed: StateResult) -> StateResult:
        """The prediction of a state that would fail now, and lacks what the state `by` may bring."""
        self._to_come.add((chunk.state, chunk.name))
        if self._foreseen is not None:
            self._foreseen.brought.append(brings_anything(self._foreseen, chunk))
        comment = f"{_NOT_KNOWN}: {by} of this run may bring what it needs. Now: {failed.comment}"
        return replace(failed, result=None, comment=comment)

    def _plan(self, chunk: Chunk, arguments: Mapping[str, Value], watched: bool) -> Prepared | None:
        try:
            if chunk.name.startswith(slots.START):
                name = slots.filled({"name": chunk.name}, self._slot)["name"]
                chunk = replace(chunk, name=name if isinstance(name, str) else str(name))
            arguments = slots.filled(arguments, self._slot, but=_CONDITIONS)
            if "umask" in arguments:
                umask_of(arguments["umask"])  # fails now, not half-way
            if self._user_states is not None and self._user_states.has(chunk.state):
                function = None
                if watched and not self._user_states.takes(chunk.state, "mod_watch"):
                    return None
            else:
                function = mod_watch(chunk.state) if watched else find(chunk.state, chunk.fun, chunk.sls)
                if function is None:
                    return None
            doubts: tuple[str, ...] = ()
            try:
                kept_from = condition(self._looked_at, self._functions, arguments)
            except (ConditionUnknown, ContentUnknown) as unknown:
                asked = f"Whether it has something to do is not known: {unknown}"
                kept_from, doubts = None, (asked if isinstance(unknown, ContentUnknown) else str(unknown),)
                if self._foreseen is not None:
                    self._foreseen.condition_doubt = str(unknown)
            if kept_from is not None:
                result = StateResult(name=chunk.name, result=True, comment=kept_from, skip_watch=True)
                own_check = function is not None and "check_cmd" in function.spec.parameters
                return Prepared(chunk=chunk, predicted=result if own_check else self._checked(chunk, result))
            if function is None:
                return self._tree_state(chunk, arguments, watched)
            return self._planned(chunk, function, arguments, watched, doubts)
        except (ConditionUnknown, ContentUnknown) as unknown:
            result = unknown_result(chunk, f"{_NOT_KNOWN}: {unknown}")
            result = self._instead(chunk, arguments, watched, result)
            if self._foreseen is not None and result.result is not True:
                self._to_come.add((chunk.state, chunk.name))
                self._foreseen.brought.append(brings_anything(self._foreseen, chunk))
            return Prepared(chunk=chunk, predicted=result)
        except (UnknownState, StateFailed, BadValues) as error:
            return Prepared(chunk=chunk, predicted=failed_result(chunk, str(error), getattr(error, "changes", None)))
        except OSError as error:
            return Prepared(chunk=chunk, predicted=failed_result(chunk, system_text(error)))
        except Exception:
            return Prepared(chunk=chunk, predicted=failed_result(chunk, exception_text()))

    def _slot(self, fun: str, args: list[Value], kwargs: dict[str, Value]) -> Value:
        from extmods.fact_answers import may_ask

        if self._functions is None or (self._test and fun not in _OF_DATA and not may_ask(fun)):
            raise ConditionUnknown(f"{fun} of a slot is not called here")
        try:
            return self._functions.call(fun, args, kwargs)
        except (ConditionUnknown, ContentUnknown, StateFailed):
            raise
        except Exception as error:
            raise StateFailed(f"the slot {fun} gave no value: {error}") from error

    def act(self, prepared: Prepared) -> StateResult:
        """Perform the plan, then see whether it has taken."""
        work, chunk = prepared.work, prepared.chunk
        if self._test or not isinstance(work, _Work | _UserWork | _Cleanup):
            return prepared.predicted
        if isinstance(work, _Cleanup):
            return self._cleaned(work.perform, prepared.predicted)
        if isinstance(work, _Work):
            result = self._performed(chunk, work)
            if work.plan.cleanup is not None:
                result = self._cleaned(work.plan.cleanup, result)
        else:
            assert self._user_states is not None  # noqa: S101  (who made this work has them)
            result = self._user_states.call(chunk, work.fun, work.arguments, test=False)
            if self._looks_again and result.result is True and result.changes and work.fun == chunk.fun:
                again = self._user_states.call(chunk, work.fun, work.arguments, test=True)
                result = replace(result, not_convergent=again.result is None)
        for what in _RELOADS:
            if chunk.arguments.get(what) is True and self._reload is not None:
                self._reload(what.removeprefix("reload_"))
        if isinstance(work, _Work) and "check_cmd" in work.function.spec.parameters:
            return result
        return self._checked(chunk, result)

    def _performed(self, chunk: Chunk, work: _Work) -> StateResult:
        changes = dict[str, Value]()
        try:
            machine = self._masked(chunk)
            for change in work.plan.changes:
                perform(change, machine, changes)
            left = self._remaining(chunk, work)
        except StateFailed as error:
            return failed_result(chunk, str(error), {**changes, **error.changes}, work.warnings)
        except OSError as error:
            return failed_result(chunk, system_text(error), changes, work.warnings)
        except Exception:
            return failed_result(chunk, exception_text(), changes, work.warnings)
        comment = str(changes.pop("__comment__", work.plan.done))
        if left:
            return failed_result(chunk, not_convergent(comment, left), changes, work.warnings)
        return StateResult(
            name=self._name(chunk),
            result=True,
            comment=printable(comment),
            changes=printable_in(changes),
            warnings=work.warnings,
            skip_req=work.plan.skip_req,
        )

    def _cleaned(self, cleanup: Callable[[Machine], None], result: StateResult) -> StateResult:
        """The result, after what the plan wants done at the end; that it cannot be done is a warning."""
        try:
            cleanup(self._machine)
        except (StateFailed, OSError) as error:
            return replace(result, warnings=(*result.warnings, f"what is to be removed at the end stays: {error}"))
        return result

    def _masked(self, chunk: Chunk) -> Machine:
        machine = self._acts_on(self._machine, chunk)
        if "umask" not in chunk.arguments:
            return machine
        return cast(Machine, MaskedMachine(machine, umask_of(chunk.arguments["umask"])))

    def _checked(self, chunk: Chunk, result: StateResult) -> StateResult:
        """The result as `check_cmd` determines it."""
        if not chunk.arguments.get("check_cmd"):
            return result
        try:
            return replace(result, result=True, comment=checked(self._machine, chunk.arguments, result.comment))
        except StateFailed as error:
            return replace(result, result=False, comment=str(error))
        except ConditionUnknown as unknown:
            return replace(result, warnings=(*result.warnings, str(unknown)))

    def _tree_state(self, chunk: Chunk, arguments: Mapping[str, Value], watched: bool) -> Prepared:
        """A state function of the tree: the prediction is a call with test=True."""
        states, fun = cast(UserStates, self._user_states), "mod_watch" if watched else chunk.fun
        if not states.takes(chunk.state, fun):
            full = f"{chunk.state}.{fun}"
            raise UnknownState(f"State '{full}' was not found in SLS '{chunk.sls}'\nReason: '{full}' is not available.")
        given = {key: value for key, value in arguments.items() if key not in GLOBAL and not key.startswith("__")}
        if watched:
            given["sfun"] = chunk.fun

        def predict() -> StateResult:
            said = states.call(chunk, fun, given, test=True)
            if self._ignoring is None or watched or said.result is not None:
                return said
            return self._ignoring.predicted(chunk, said, said.changes)

        if self._ignoring is not None and not watched and self._ignoring.concerns(chunk):
            said = predict()
            if said.result is True and said.ignored:
                return Prepared(chunk=chunk, predicted=said)
        return Prepared(
            chunk=chunk,
            predicted=StateResult(name=chunk.name, result=None, comment=f"{chunk.state}.{fun} would be called"),
            work=_UserWork(fun=fun, arguments=given),
            predict=lambda: self._noted(chunk, predict()),
        )

    def _planned(
        self,
        chunk: Chunk,
        function: Function,
        arguments: Mapping[str, Value],
        watched: bool,
        doubts: tuple[str, ...] = (),
    ) -> Prepared:
        own, warnings = arguments_of(chunk, function, arguments, watched)
        warnings += doubts
        if function.spec.supplied:
            self._supply(own, function.spec.supplied, arguments)
        name = self._name(chunk)
        plan = function.call(self._reader, name, **own)
        warnings += plan.warnings
        if not plan.changes:
            comment = plan.test_comment if self._test and plan.test_comment else plan.comment
            result = StateResult(name=name, result=plan.result, comment=printable(comment), warnings=warnings)
            own_check = "check_cmd" in function.spec.parameters
            cleanup = None if plan.cleanup is None or self._test else _Cleanup(perform=plan.cleanup)
            return Prepared(chunk=chunk, predicted=result if own_check else self._checked(chunk, result), work=cleanup)
        each_time = plan.transient or (plan.each_time and not _DECIDING.intersection(arguments))
        if self._drift and each_time and not watched:
            if self._foreseen is not None and plan.transient:
                foretell(self._foreseen, chunk, plan, own)
            result = StateResult(name=chunk.name, result=True, comment=_EACH_TIME, warnings=warnings)
            return Prepared(chunk=chunk, predicted=result)
        differs, followed = shown(plan.changes), PlannedState(plan=plan, arguments=own)
        if self._ignoring is not None and not watched and self._ignoring.concerns(chunk):
            followed = self._without_ignored(self._ignoring, chunk, function, followed)
            plan, own = followed.plan, dict(followed.arguments)
        changes = shown(plan.changes)
        result = StateResult(
            name=name,
            result=plan.test_result,
            comment=printable(plan.pending),
            changes=printable_in(changes),
            warnings=warnings,
            skip_req=plan.skip_req,
        )
        instead = self._said_of(chunk, result, differs, followed, watched=watched)
        instead = self._instead(chunk, arguments, watched, instead) if instead.result is not True else instead
        if instead is not result and instead.result is True:
            return Prepared(chunk=chunk, predicted=instead)
        result = instead
        if self._foreseen is not None and plan.test_result is not False:
            self._to_come.add((chunk.state, chunk.name))
            failed = self._foretold(
                self._foreseen, chunk, _Work(plan=plan, function=function, arguments=own, warnings=warnings), changes
            )
            if failed is not None:
                return Prepared(chunk=chunk, predicted=failed)
        if watched:
            plan = replace(plan, converges=False)
        work = None if self._test else _Work(plan=plan, function=function, arguments=own, warnings=warnings)
        return Prepared(chunk=chunk, predicted=result, work=work)

    def _without_ignored(
        self, ignoring: Ignoring, chunk: Chunk, function: Function, first: PlannedState
    ) -> PlannedState:
        """The plan that leaves what is ignored as it is."""
        name = self._name(chunk)
        there = chunk.state != "file" or self._looked_at.stat(name) is not None
        again = partial(function.call, self._reader, name)
        return ignoring.replanned(chunk, first, lambda own: again(**own), function.spec.parameters, there=there)

    def _said_of(
        self, chunk: Chunk, result: StateResult, differs: Mapping[str, Value], followed: PlannedState, *, watched: bool
    ) -> StateResult:
        """The prediction without what is ignored."""
        if self._ignoring is None or watched or followed.made_anew:
            return result
        return self._ignoring.predicted(chunk, result, differs, () if self._test else followed.inseparable)

    def _foretold(
        self, planned: PlannedMachine, chunk: Chunk, work: _Work, changes: Mapping[str, Value]
    ) -> StateResult | None:
        """Have the states after this one see what it would do; its prediction where that is going to fail."""
        made = foretell(planned, chunk, work.plan, work.arguments)
        if made.failure:
            failed = failed_result(chunk, made.failure, None, work.warnings)
            by = planned.awaited_by_act() or planned.awaited(made.failure)
            return self._waiting_for(by, chunk, failed) if by else failed
        if not made.whole:
            return None
        try:
            left = self._remaining(chunk, work)
        except (ContentUnknown, ConditionUnknown):
            return None
        except StateFailed as error:
            return failed_result(chunk, str(error), changes, work.warnings)
        if not left:
            return None
        return failed_result(chunk, not_convergent(str(work.plan.done), left), changes, work.warnings)

    def _noted(self, chunk: Chunk, predicted: StateResult) -> StateResult:
        """The prediction of a state of the tree, which says nothing of what it would make."""
        if self._foreseen is not None and predicted.result is None:
            self._foreseen.brought.append(brings_anything(self._foreseen, chunk))
        return predicted

    def _name(self, chunk: Chunk) -> str:
        """The name that the state's function gets."""
        if chunk.state != "file" or not chunk.name.startswith("~"):
            return chunk.name
        from minion.providers.homes import with_home  # an idle agent has no providers in memory

        return with_home(self._reader, chunk.name)

    def _supply(self, own: dict[str, Any], names: frozenset[str], arguments: Mapping[str, Value]) -> None:
        """Add what the function gets of the engine."""
        for name in names:
            if name in self._supplied:
                own[name] = self._supplied[name]
        if "reqs" in names:
            own["reqs"] = arguments.get("__reqs__", [])
        if "required" in names:
            own["required"] = arguments.get("__required__", ())

    def _remaining(self, chunk: Chunk, work: _Work) -> list[Change]:
        if not work.plan.converges:
            return []
        return list(work.function.call(self._reader, self._name(chunk), **work.arguments).changes)
