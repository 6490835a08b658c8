"""The steps `salt.state` and `salt.function`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict, Unpack

from controller.orchestration.steps.asking import Returning, ask
from controller.orchestration.steps.step import StepContext, StepFailed, StepFunction, StepOutcome, texts
from controller.runners.fleet import told
from controller.schema.runs import CallReturn
from minion.arguments.types import AnyValue, Ignored, Map, OnlyBool, Unsupported

_SSH = "there is no salt-ssh; install a minion there, or call ssh by a salt.function on a minion that may"


class StepOptions(TypedDict, total=False):
    """Salt's arguments about returners, and those that are not here."""

    ret: AnyValue
    ret_config: str | None
    ret_kwargs: Map | None
    ssh: Annotated[bool, Unsupported(_SSH)]
    roster: Annotated[str | None, Ignored("it is for salt-ssh")]


async def state(
    step: StepContext,
    name: str,
    tgt: AnyValue,
    tgt_type: str = "glob",
    highstate: bool = False,
    sls: AnyValue = None,
    top: str | None = None,
    saltenv: str | None = None,
    test: OnlyBool | None = None,
    pillar: Map | None = None,
    pillarenv: str | None = None,
    expect_minions: bool = True,
    exclude: AnyValue = None,
    fail_minions: AnyValue = None,
    allow_fail: int = 0,
    concurrent: OnlyBool = False,
    timeout: float | None = None,
    batch: AnyValue = None,
    queue: AnyValue = False,
    subset: int | None = None,
    failhard: bool = False,
    **options: Unpack[StepOptions],
) -> StepOutcome:
    """States on minions: SLS, or the highstate. Under test=True the minions are asked with test=True."""
    fun, args = _function_of(highstate, sls, top)
    tests = True if step.test else test
    given = {"test": tests, "pillar": pillar, "pillarenv": pillarenv, "saltenv": saltenv, "exclude": exclude}
    kwargs: dict[str, Any] = {name: one for name, one in given.items() if one not in (None, {})}
    kwargs |= {"queue": True} if queue else {}
    kwargs |= {"concurrent": True} if concurrent else {}
    pace: dict[str, Any] = {"timeout": timeout, "batch": batch, "subset": subset, "failhard": failhard}
    job, found = await ask(step, tgt, tgt_type, fun, args, kwargs, **pace, returning=_returning(options))
    if not found and expect_minions:
        return StepOutcome(result=False, comment=f"No minions returned: no minion matches {tgt!r}")
    forgiven = texts(fail_minions)
    failed = {
        minion: one
        for minion, one in found.items()
        if not _states_are_good(one) and (one.answered or expect_minions) and minion not in forgiven
    }
    changed = {minion: told(one) for minion, one in found.items() if _has_news(one)}
    changes = {"out": "highstate", "ret": changed} if changed else {}
    if len(failed) > allow_fail:
        lines = [f"Run failed on minions: {', '.join(sorted(failed))}", *filter(None, map(_detail, failed.values()))]
        return StepOutcome(result=False, comment="\n".join(lines), changes=changes, jid=job)
    same = [minion for minion in found if minion not in changed]
    comment = "States ran successfully."
    comment += f" Updating {', '.join(changed)}." if changed else ""
    comment += f" No changes made to {', '.join(same)}." if same else ""
    return StepOutcome(result=None if tests and changes else True, comment=comment, changes=changes, jid=job)


async def function(
    step: StepContext,
    name: str,
    tgt: AnyValue,
    tgt_type: str = "glob",
    expect_minions: bool = True,
    fail_minions: AnyValue = None,
    fail_function: str | None = None,
    arg: AnyValue = None,
    kwarg: Map | None = None,
    timeout: float | None = None,
    batch: AnyValue = None,
    subset: int | None = None,
    failhard: bool = False,
    **options: Unpack[StepOptions],
) -> StepOutcome:
    """An execution function on minions. A minion that does not answer is a failure unless `expect_minions: False`."""
    if step.test:
        return StepOutcome(result=None, comment=f"Function {name} would be executed on target {tgt}")
    warnings = ("Please specify 'arg' as a list of arguments.",) if isinstance(arg, str) else ()
    args: Sequence[Any] = arg.split() if isinstance(arg, str) else arg if isinstance(arg, list) else [arg]
    args = [] if arg is None else args
    pace: dict[str, Any] = {"timeout": timeout, "batch": batch, "subset": subset, "failhard": failhard}
    job, found = await ask(step, tgt, tgt_type, name, args, kwarg or {}, **pace, returning=_returning(options))
    if not found:
        said = f"No minions responded: no minion matches {tgt!r}"
        return StepOutcome(result=not expect_minions, comment=said, warnings=warnings)
    forgiven = texts(fail_minions)
    failed = [
        minion
        for minion, one in found.items()
        if minion not in forgiven and (one.answered or expect_minions) and not await _is_good(step, one, fail_function)
    ]
    changes = {"ret": {minion: told(one) if one.answered else False for minion, one in found.items()}}
    comment = (
        f"Running function {name} failed on minions: {', '.join(sorted(failed))}"
        if failed
        else "Function ran successfully."
    )
    answered = [minion for minion, one in found.items() if one.answered]
    comment += f" Function {name} ran on {', '.join(answered)}." if answered else ""
    comment += "".join(f"\n{minion}: {found[minion].error}" for minion in sorted(failed) if minion not in answered)
    return StepOutcome(result=not failed, comment=comment, changes=changes, warnings=warnings, jid=job)


def _function_of(highstate: bool, sls: Any, top: str | None) -> tuple[str, tuple[Any, ...]]:
    if highstate:
        return "state.highstate", ()
    if top:
        return "state.top", (top,)
    if sls:
        return "state.sls", (",".join(map(str, sls)) if isinstance(sls, list | tuple) else str(sls),)
    raise StepFailed("No highstate or sls specified, no execution made")


async def _is_good(step: StepContext, one: CallReturn, fail_function: str | None) -> bool:
    if not one.ok or one.value is False:
        return False
    if fail_function is None:
        return True
    call = step.call
    return bool(await call.ports.processes.execution_function(call, fail_function, [one.value], {}))


def _states_are_good(one: CallReturn) -> bool:
    """As Salt's `check_result`: no state failed, also not one that an orchestration on the minion began."""
    return one.answered and isinstance(one.value, Mapping) and bool(one.value) and _no_failure(one.value)


def _no_failure(running: Mapping[str, Any]) -> bool:
    states = [one for one in running.values() if isinstance(one, Mapping)]
    return all(one.get("result") is not False for one in states)


def _has_news(one: CallReturn) -> bool:
    if not _states_are_good(one):
        return True
    return any(isinstance(state, Mapping) and state.get("changes") for state in one.value.values())


def _detail(one: CallReturn) -> str:
    """One line about a return that is no result of states."""
    if not one.answered:
        return f"Minion {one.minion} did not return a state result{one.error.removeprefix('Minion did not return')}"
    if isinstance(one.value, list | tuple):
        return f"Minion {one.minion} returned errors: " + "; ".join(map(str, one.value))
    if isinstance(one.value, Mapping):
        return ""
    return f"Minion {one.minion} returned: {one.error or one.value!r}"


def _returning(options: StepOptions) -> Returning:
    return Returning(
        ret=tuple(texts(options.get("ret"))),
        ret_config=options.get("ret_config") or "",
        ret_kwargs=dict(options.get("ret_kwargs") or {}),
    )


FUNCTIONS: Mapping[str, StepFunction] = {"state": state, "function": function}
