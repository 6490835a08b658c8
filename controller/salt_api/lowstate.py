"""Chunks of lowstate as questions of the API. Pure; called by `clients`.

Source: salt/netapi/__init__.py (`NetapiClient`), salt/client/mixins.py (`_low`), salt/client/__init__.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar

import msgspec

from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion, RunnerQuestion
from controller.schema.targets import TargetExpression
from minion.call.arguments import parse_mixed

LocalKind: TypeAlias = Literal["local", "local_async", "local_batch", "local_subset"]
_LOCAL: tuple[LocalKind, ...] = ("local", "local_async", "local_batch", "local_subset")
CLIENTS: Final = (*_LOCAL, "runner", "runner_async", "wheel", "wheel_async")
"""The values of `client` that are done."""
_Question = TypeVar("_Question", bound=msgspec.Struct)
CREDENTIALS: Final = ("username", "password", "eauth", "token")
"""Members of a chunk that say who asks, where a request does not."""
_ABOUT = (*CREDENTIALS, "client", "user", "key", "full_return", "timeout")
_IGNORED = ("gather_job_timeout", "listen", "show_timeout", "show_jid", "verbose", "progress", "delimiter", "raw")
"""Of `local`, beside those: they mean nothing here, as in Salt's Python client."""
_RETURNED = ("ret_config", "ret_kwargs", "metadata")
_DEFAULT_BATCH = "50%"
_DEFAULT_SUBSET = 3
SILENCE: Final = 5.0
"""Seconds without a return, after which minions that are not connected any more are given up (Salt's `timeout`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalChunk:
    """A function on minions."""

    client: LocalKind
    question: CallQuestion
    full_return: bool
    """Whether each minion's value stands beside its exit code and the job."""
    silence: float
    """Seconds; see `SILENCE`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerChunk:
    """A runner or a wheel."""

    question: RunnerQuestion
    full_return: bool
    """Whether a runner's value stands in its event; that of a wheel always does."""


def call_of(chunk: Mapping[str, Any]) -> LocalChunk | ControllerChunk:
    """What a chunk asks for; ServiceError for what is none."""
    client = chunk.get("client")
    given = {name: value for name, value in chunk.items() if name not in _ABOUT and value is not None}
    fun = given.pop("fun", None)
    if client == "ssh":
        hint = "every machine needs a minion; enrolment tokens and saltern minion make one quickly (docs/keys.md)"
        raise ServiceError("bad-request", "the client ssh is not built: nothing is run over SSH", hint=hint)
    if client not in CLIENTS:
        raise ServiceError("bad-request", f"there is no client {str(client)[:50]!r}; there are {', '.join(CLIENTS)}")
    if not isinstance(fun, str) or not fun:
        raise ServiceError("bad-request", "a chunk needs `fun`, the name of one function")
    timeout = _number(chunk.get("timeout"), "timeout")
    full = bool(chunk.get("full_return"))
    arg = given.pop("arg", [])
    values, named = parse_mixed(arg if isinstance(arg, list) else [arg])
    kwarg = given.pop("kwarg", {})
    if not isinstance(kwarg, Mapping):
        raise ServiceError("bad-request", "kwarg must be a mapping")
    named |= {str(name): value for name, value in kwarg.items()}
    if client in _LOCAL:
        question = _question(client, fun, values, named, given)
        return LocalChunk(client=client, question=question, full_return=full, silence=timeout or SILENCE)
    kind, _, is_async = client.partition("_")
    return ControllerChunk(
        question=_converted(
            {"kind": kind, "fun": fun, "args": values, "kwargs": {**named, **given}, "timeout": timeout}
            | {"wait": not is_async},
            RunnerQuestion,
        ),
        full_return=full or kind == "wheel",
    )


def _question(
    client: LocalKind, fun: str, values: list[Any], named: Mapping[str, Any], given: dict[str, Any]
) -> CallQuestion:
    """The question about minions. `given`: what a chunk says beside function and arguments."""
    target = _target(given.pop("tgt", None), given.pop("tgt_type", given.pop("expr_form", "glob")))
    asked: dict[str, Any] = {name: given.pop(name) for name in _RETURNED if name in given}
    returners = given.pop("ret", "")
    names = returners.split(",") if isinstance(returners, str) else returners
    batch, subset = given.pop("batch", ""), given.pop("subset", given.pop("sub", _DEFAULT_SUBSET))
    if batch or client == "local_batch":
        asked["batch"] = str(batch or _DEFAULT_BATCH)
        asked |= {name: given.pop(name) for name in ("batch_wait", "failhard") if name in given}
    if client == "local_subset":
        asked["subset"] = subset
    if given.pop("jid", ""):
        raise ServiceError("bad-request", "jid: the controller gives a job its id, and answers it")
    if unknown := sorted(set(given) - {*_IGNORED, "batch_wait", "failhard"}):
        hint = "arguments of the function stand in kwarg"
        raise ServiceError("bad-request", f"a chunk has no {unknown[0][:50]!r}", hint=hint)
    plain = {"target": target, "fun": fun, "args": values, "kwargs": named, "wait": client != "local_async"}
    asked["ret"] = [str(each).strip() for each in names if str(each).strip()]
    return _converted({**plain, **asked}, CallQuestion)


def _target(tgt: Any, kind: Any) -> TargetExpression:
    if isinstance(tgt, list):
        tgt, kind = ",".join(map(str, tgt)), "list"
    if not isinstance(tgt, str) or not tgt:
        raise ServiceError("bad-request", "a chunk needs `tgt`, whom it is about")
    return _converted({"kind": kind, "expression": tgt}, TargetExpression)


def _number(value: Any, name: str) -> float:
    """Seconds; forms give texts."""
    try:
        found = float(value or 0.0)
    except (TypeError, ValueError):
        found = -1.0
    if not 0.0 <= found < 1e9:
        raise ServiceError("bad-request", f"{name} must be a number of seconds")
    return found


def _converted(values: Mapping[str, Any], of: type[_Question]) -> _Question:
    try:
        return msgspec.convert(values, of, strict=False)
    except (msgspec.ValidationError, RecursionError) as error:
        raise ServiceError("bad-request", str(error)) from None
