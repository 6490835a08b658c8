"""The execution module `publish`: functions on other minions and runners, as far as the controller lets this one.

`peer` and `peer_run` of the controller's configuration say what is allowed. What is refused, or reaches nobody, fails
with the reason; in Salt it returns nothing. Source: salt/modules/publish.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from highstate.salt_yaml import read_word
from minion.arguments.types import AnyValue
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from wire.messages import PublishCall, Published, Refused


def publish(
    context: Context,
    tgt: str,
    fun: str,
    arg: AnyValue = None,
    tgt_type: str = "glob",
    returner: str = "",
    timeout: float = 5,
    via_master: str | None = None,
) -> dict[str, Any]:
    """What a function returns on other minions, by minion."""
    _check_unused(returner, via_master)
    return dict(_on_minions(context, tgt, fun, arg, tgt_type, timeout).returns)


def full_data(
    context: Context,
    tgt: str,
    fun: str,
    arg: AnyValue = None,
    tgt_type: str = "glob",
    returner: str = "",
    timeout: float = 5,
) -> dict[str, Any]:
    """The same, with the job and whether it failed."""
    _check_unused(returner, None)
    found = _on_minions(context, tgt, fun, arg, tgt_type, timeout)
    return {
        minion: {"ret": value, "jid": found.jid, "success": minion not in found.failed}
        for minion, value in found.returns.items()
    }


def runner(context: Context, fun: str, arg: AnyValue = None, timeout: float = 5) -> Any:
    """What a runner returns."""
    args, kwargs = _arguments(arg)
    found = _asked(
        context,
        PublishCall(request=0, nonce=uuid4().hex, kind="runner", fun=fun, args=args, kwargs=kwargs, timeout=timeout),
    )
    value = found.returns.get("value")
    if found.failed:
        raise CallFailed(f"the runner {fun} failed: {value}")
    return value


def _on_minions(context: Context, tgt: str, fun: str, arg: Any, tgt_type: str, timeout: float) -> Published:
    args, kwargs = _arguments(arg)
    question = PublishCall(
        request=0,
        nonce=uuid4().hex,
        target=str(tgt),
        target_kind=tgt_type,
        fun=fun,
        args=args,
        kwargs=kwargs,
        timeout=timeout,
    )
    return _asked(context, question)


def _asked(context: Context, question: PublishCall) -> Published:
    if context.publish is None:
        raise CallFailed("there is no controller that could be asked: the agent of this machine does not run")
    answer = context.publish(question)
    if isinstance(answer, Refused):
        raise CallFailed(answer.message)
    return answer


def _arguments(given: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """A value or a list of them; texts like `key=value` are named arguments, as on the command line."""
    read = read_word(given) if isinstance(given, str) else given
    each = [] if read is None or read == "" else read if isinstance(read, list) else [read]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for one in each:
        name, equals, value = one.partition("=") if isinstance(one, str) else ("", "", "")
        if equals and name.isidentifier():
            kwargs[name] = read_word(value)
        elif isinstance(one, Mapping) and one.get("__kwarg__") is True:
            kwargs |= {str(key): inner for key, inner in one.items() if key != "__kwarg__"}
        else:
            args.append(one)
    return tuple(args), kwargs


def _check_unused(returner: str, via_master: str | None) -> None:
    if returner:
        raise CallFailed("publish: a minion names no returners for others; ext_job_cache of the controller does")
    if via_master:
        raise CallFailed("publish: via_master has no meaning here: a minion has one controller at a time")


FUNCTIONS = {"publish": publish, "full_data": full_data, "runner": runner}
