"""Runners and wheels of a controller, called as Salt's `RunnerClient` and `WheelClient` call them."""

from __future__ import annotations

import datetime
import getpass
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, TypeVar

from controller.cli.output import printable
from controller.schema.requests import RunnerQuestion
from controller.schema.runners import RunnerOutput, RunnerProgress, RunnerReturn, RunnerStarted
from extmods.salt_compat.exceptions import SaltClientError, SaltInvocationError
from minion.call.arguments import parse_mixed
from saltern.client.connection import CREDENTIALS, Connection

_NOT_ARGUMENTS = (*CREDENTIALS, "client", "user", "key")
"""Members of Salt's low data that say who asks, and how."""
_Client = TypeVar("_Client", bound="_ControllerFunctions")


class _ControllerFunctions:
    """What both clients can.

    Args:
        opts: as `client_config` gives them; those of the default folder when None.
        context: Salt's; not used.
    """

    client: Literal["runner", "wheel"]
    tag_prefix: str

    def __init__(self, opts: Mapping[str, Any] | None = None, context: Mapping[str, Any] | None = None) -> None:
        self.opts = dict(opts or {})
        self._connection = Connection(opts)

    def __enter__(self: _Client) -> _Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.destroy()

    def destroy(self) -> None:
        """Salt's; each call closes what it opened."""

    def cmd(
        self,
        fun: str,
        arg: Sequence[Any] | None = None,
        pub_data: Mapping[str, Any] | None = None,
        kwarg: Mapping[str, Any] | None = None,
        print_event: bool = True,
        full_return: bool = False,
    ) -> Any:
        """Call a function and wait for what it returns.

        Args:
            fun: its name, `jobs.list_jobs`.
            arg: positional arguments; texts `name=value` are named ones, as on a command line.
            pub_data: Salt's; not used.
            kwarg: named arguments.
            print_event: whether what it prints, and how far it is, is written to standard output.
            full_return: its `fun fun_args jid user _stamp return success` in place of the value.

        Returns:
            The value; the text of the error where it raised one, as Salt gives it.

        Raises:
            SaltClientError: no controller answers, or it refuses.
        """
        question, returned = self._question(fun, arg or (), kwarg or {}, wait=True), None
        for item in self._connection.stream("/runner", question):
            if isinstance(item, RunnerReturn):
                returned = item
            elif print_event:
                _print(item)
        if returned is None:
            raise SaltClientError(f"the controller ended the call of {fun} without a result")
        if not full_return:
            return returned.value
        asked = {"fun": f"{self.client}.{fun}", "fun_args": [*question.args, *([question.kwargs] if kwarg else [])]}
        stamp = datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat()
        about = {"jid": returned.jid, "user": getpass.getuser(), "_stamp": stamp}
        return {**asked, **about, "return": returned.value, "success": returned.success}

    def cmd_sync(self, low: Mapping[str, Any], timeout: float | None = None, full_return: bool = False) -> Any:
        """Call what low data says, `{"fun": ..., "arg": [...], "kwarg": {...}}`, and wait for its value.

        Args:
            low: other members are named arguments.
            timeout: seconds to wait; None: as long as it takes.
            full_return: as for `cmd`.

        Raises:
            SaltClientError: no controller answers, it refuses, or nothing was returned in time.
        """
        fun, args, kwargs = _low(low)
        question = self._question(fun, args, kwargs, wait=True, timeout=timeout or 0.0)
        for item in self._connection.of(low).stream("/runner", question):
            if isinstance(item, RunnerReturn):
                if not item.ended:
                    raise SaltClientError(f"{fun} did not end within {timeout:g} s; it goes on as job {item.jid}")
                return {"jid": item.jid, "return": item.value, "success": item.success} if full_return else item.value
        raise SaltClientError(f"the controller ended the call of {fun} without a result")

    def cmd_async(self, low: Mapping[str, Any]) -> dict[str, str]:
        """Begin what low data says and wait for nothing; `{"tag": ..., "jid": ...}`, the tag of its events.

        Raises:
            SaltClientError: no controller answers, or it refuses.
        """
        fun, args, kwargs = _low(low)
        question = self._question(fun, args, kwargs, wait=False)
        for item in self._connection.of(low).stream("/runner", question):
            if isinstance(item, RunnerStarted):
                return {"tag": f"salt/{self.tag_prefix}/{item.jid}", "jid": item.jid}
        raise SaltClientError(f"the controller did not begin {fun}")

    def asynchronous(
        self,
        fun: str,
        low: Mapping[str, Any],
        user: str = "UNKNOWN",
        pub: Mapping[str, Any] | None = None,
        local: bool = True,
    ) -> dict[str, str]:
        """Begin a function with the arguments of low data; `{"tag": ..., "jid": ...}`.

        `user`, `pub` and `local` are Salt's: the controller knows who asks.
        """
        return self.cmd_async({**low, "fun": fun})

    def _question(
        self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any], *, wait: bool, timeout: float = 0.0
    ) -> RunnerQuestion:
        values, named = parse_mixed(args)
        return RunnerQuestion(
            kind=self.client, fun=fun, args=tuple(values), kwargs={**named, **kwargs}, timeout=timeout, wait=wait
        )


class RunnerClient(_ControllerFunctions):
    """Calls runners: `RunnerClient(opts).cmd("manage.up")`. Source: salt.runner.RunnerClient."""

    client: Literal["runner", "wheel"] = "runner"
    tag_prefix = "run"


class WheelClient(_ControllerFunctions):
    """Calls wheels: `WheelClient(opts).cmd("key.list_all")`. Source: salt.wheel.WheelClient."""

    client: Literal["runner", "wheel"] = "wheel"
    tag_prefix = "wheel"

    def call_func(self, fun: str, **kwargs: Any) -> Any:
        """Call a wheel with named arguments: `call_func("key.accept", match="web1")`.

        `print_event` and `full_return` are those of `cmd`.
        """
        shown = {name: kwargs.pop(name) for name in ("print_event", "full_return") if name in kwargs}
        return self.cmd(fun, kwarg=kwargs, **shown)


def _low(low: Mapping[str, Any]) -> tuple[str, list[Any], dict[str, Any]]:
    given = {name: value for name, value in low.items() if name not in _NOT_ARGUMENTS}
    fun = given.pop("fun", "")
    if not isinstance(fun, str) or not fun:
        raise SaltInvocationError("low data needs `fun`, the name of a function")
    args, kwargs = given.pop("arg", None) or [], given.pop("kwarg", None) or {}
    return fun, list(args), {**kwargs, **given}


def _print(item: object) -> None:
    match item:
        case RunnerOutput():
            print(printable(item.text))  # noqa: T201  (what the caller asked for)
        case RunnerProgress():
            print(printable(str(item.data.get("message", item.data))))  # noqa: T201
