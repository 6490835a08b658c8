"""Whether somebody may call functions, and on whom: the rules before each call. Used by `/api/v1` and by `/salt`."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import structs

from controller.access.access import Access
from controller.access.decision import AskedFunction
from controller.access.principals import Principal
from controller.schema.controller_api import ControllerApi
from controller.schema.requests import CallQuestion, RunnerQuestion
from controller.schema.targets import TargetExpression


async def allowed_call(
    access: Access, principal: Principal, service: ControllerApi, asked: CallQuestion
) -> CallQuestion:
    """What somebody may ask of minions, exactly of those that the rules were asked about. Keeps it in the audit log.

    Args:
        access: decides.
        principal: who asks.
        service: knows whom a target means.
        asked: the question.

    Raises:
        ServiceError: it is not allowed on all of these minions, or no minion is meant.
    """
    calls = [AskedFunction(kind="minion", fun=asked.fun, args=asked.args, kwargs=asked.kwargs)]
    if principal.everything:
        _require(access, principal, calls, (), asked, asked.target.expression)
        return asked
    _require(access, principal, calls, None, asked, asked.target.expression)
    minions = await service.select(asked.target)  # whom a target means may be another a moment later
    _require(access, principal, calls, minions, asked, asked.target.expression)
    _require_own_returners(access, principal, asked)
    return structs.replace(asked, target=TargetExpression(kind="list", expression=",".join(minions)))


def require_runner(access: Access, principal: Principal, asked: RunnerQuestion) -> None:
    """ServiceError unless somebody may call this function of the controller. Keeps it in the audit log."""
    calls = [AskedFunction(kind=asked.kind, fun=asked.fun, args=asked.args, kwargs=asked.kwargs)]
    _require(access, principal, calls, (), asked, "")


def _require(
    access: Access,
    principal: Principal,
    calls: Sequence[AskedFunction],
    minions: Sequence[str] | None,
    asked: CallQuestion | RunnerQuestion,
    target: str,
) -> None:
    """ServiceError unless who asks may call these functions there."""
    names = ",".join(each.fun for each in calls)
    detail = {"target": target, "args": asked.args, "kwargs": asked.kwargs}
    action = f"call {'' if calls[0].kind == 'minion' else calls[0].kind + ' '}{names}"[:200]
    access.require_calls(principal, calls, minions, action, detail)


def _require_own_returners(access: Access, principal: Principal, asked: CallQuestion) -> None:
    """Options of a returner say where what minions return is sent: rules for functions do not cover them."""
    if asked.ret or asked.ret_config or asked.ret_kwargs:
        detail = {"ret": asked.ret, "ret_config": asked.ret_config, "ret_kwargs": sorted(asked.ret_kwargs)}
        access.require(principal, "admin", "name returners", detail)
