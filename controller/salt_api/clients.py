"""Does what chunks of lowstate ask: the rules, the call, and its value as Salt's clients give it.

Everything goes the way of `/api/v1/call` and `/api/v1/runner`: the same rules, audit log and limits.
"""

from __future__ import annotations

import asyncio
import contextlib
import datetime
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec import structs

from controller.access.access import Access
from controller.access.principals import Principal
from controller.api import encoding
from controller.api.calls import allowed_call, require_runner
from controller.config.limits import SaltApiLimits
from controller.salt_api.lowstate import ControllerChunk, LocalChunk, call_of
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.schema.runners import RunnerReturn, RunnerStarted
from controller.schema.runs import CallItem, CallReturn, CallStarted, missing_return, salt_return, unknown_returns
from controller.schema.targets import TargetExpression
from options.limits import CountRefusal


class TookTooLong(Exception):
    """A runner or wheel has not ended within the seconds that it was waited for (504)."""


@dataclass(slots=True)
class Returned:
    """What is returned for a request, as JSON.

    Args:
        most: bytes of all.
        on_refusal: takes `answer-bytes`.
    """

    most: int
    on_refusal: CountRefusal
    _size: int = field(default=0, init=False)

    def add(self, value: Any) -> msgspec.Raw:
        """One more value; ServiceError when there is no room for it."""
        content = encoding.encode(value)
        self._size += len(content)
        if self._size > self.most:
            self.on_refusal("answer-bytes")
            hint = "ask fewer minions at once, or /api/v1/call, which sends returns as they come"
            raise ServiceError("conflict", f"what is returned has over {self.most} bytes", hint=hint)
        return msgspec.Raw(content)


@dataclass(slots=True, kw_only=True)
class LowClients:
    """Runs chunks.

    Args:
        service: does it.
        access: says who may.
        limits: of requests.
        on_refusal: see `options.limits.CountRefusal`.
    """

    service: ControllerApi
    access: Access
    limits: SaltApiLimits
    on_refusal: CountRefusal
    running: Counter[str] = field(default_factory=Counter)
    """Requests of each principal that wait now."""

    async def run(self, chunks: Sequence[tuple[dict[str, Any], Principal]]) -> list[Any]:
        """What is returned for chunks, one after the other, each as whom it is asked. The first's counts it.

        Raises:
            ServiceError: one cannot be read or is not allowed; those before it are done.
            TookTooLong: one has not ended.
        """
        who = chunks[0][1].who if chunks else ""
        self._require_room(who)
        returned = Returned(self.limits.answer_bytes, self.on_refusal)
        self.running[who] += 1
        try:
            found: list[Any] = []
            for chunk, principal in chunks:
                found += await self._chunk(call_of(chunk), principal, returned)
            return found
        finally:
            self.running[who] -= 1
            self.running += Counter()  # leaves out who asks nothing any more

    def _require_room(self, who: str) -> None:
        if self.running[who] >= self.limits.principal_requests:
            limit, text = "principal-requests", "your other requests wait already"
        elif self.running.total() >= self.limits.requests_at_once:
            limit, text = "requests-at-once", "other requests wait already"
        else:
            return
        self.on_refusal(limit)
        hint = f"wait for some of them, use local_async, or raise limits: salt_api: {limit.replace('-', '_')}"
        raise ServiceError("too-many-requests", text, hint=hint, retry_after=1)

    async def _chunk(self, call: LocalChunk | ControllerChunk, principal: Principal, returned: Returned) -> list[Any]:
        if isinstance(call, ControllerChunk):
            return [await self._controller(call, principal, returned)]
        try:
            question = await allowed_call(self.access, principal, self.service, call.question)
        except ServiceError as error:
            if error.kind != "no-target":
                raise
            return [{}]
        question = structs.replace(question, timeout=self.limits.wait_seconds)
        if call.client == "local_async":
            return [await self._begun(question, principal)]
        found = {}
        async for minion, shown in self._returns(call, question, principal):
            # As Salt's `cmd`: who gives nothing back is `false`.
            value = False if shown.get("out") == "no_return" else shown if call.full_return else shown["ret"]
            found[minion] = returned.add(value)
        return [{minion: value} for minion, value in found.items()] if call.client == "local_batch" else [found]

    async def _begun(self, question: CallQuestion, principal: Principal) -> dict[str, Any]:
        items = self.service.call(question, user=principal.name)
        try:
            async for item in items:
                if isinstance(item, CallStarted):
                    return {"jid": item.jid, "minions": list(item.minions)}
        finally:
            await encoding.close(items)
        raise ServiceError("internal", "the job did not begin")

    async def _returns(
        self, call: LocalChunk, question: CallQuestion, principal: Principal
    ) -> AsyncIterator[tuple[str, dict[str, Any]]]:
        """(minion, its return as Salt has it) as they come, of each that is meant."""
        jid, waiting = "", set[str]()
        items = self.service.call(question, user=principal.name)
        async for item in _with_silences(items, call.silence):
            match item:
                case CallStarted():
                    jid, waiting = item.jid, set(item.minions)
                    for each in unknown_returns(item):
                        yield each.minion, salt_return(each, jid)
                case CallReturn():
                    waiting.discard(item.minion)
                    yield item.minion, salt_return(item, jid)
                case None if not question.batch:
                    for minion in await self._gone(waiting):
                        waiting.discard(minion)
                        yield minion, missing_return("Minion did not return. [Not connected]", jid)
            if jid and not waiting:
                return

    async def _gone(self, minions: set[str]) -> list[str]:
        """Those that are not connected any more."""
        if not minions:
            return []
        target = TargetExpression(kind="list", expression=",".join(sorted(minions)))
        connected = {each.minion for each in await self.service.presence(target) if each.connected}
        return sorted(minions - connected)

    async def _controller(self, call: ControllerChunk, principal: Principal, returned: Returned) -> Any:
        """What a runner or wheel returns: its value, that in its event, or where that will be."""
        asked = call.question
        require_runner(self.access, principal, asked)
        seconds = min(asked.timeout or self.limits.wait_seconds, self.limits.wait_seconds)
        question = structs.replace(asked, timeout=seconds)
        prefix = "run" if asked.kind == "runner" else "wheel"
        items = self.service.runner(question, user=principal.name)
        try:
            async for item in items:
                if isinstance(item, RunnerStarted) and not asked.wait:
                    return {"tag": f"salt/{prefix}/{item.jid}", "jid": item.jid}
                if isinstance(item, RunnerReturn):
                    if not item.ended:
                        raise TookTooLong(f"{asked.fun} has not ended; it goes on as job {item.jid}")
                    value = returned.add(item.value)
                    return _event(call, item, value, prefix, principal.name) if call.full_return else value
        finally:
            await encoding.close(items)
        raise ServiceError("internal", f"{asked.fun} ended without a result")


def _event(call: ControllerChunk, item: RunnerReturn, value: Any, prefix: str, user: str) -> dict[str, Any]:
    """The event of a return, as Salt's `cmd_sync` gives it."""
    asked, tag = call.question, f"salt/{prefix}/{item.jid}"
    about = {"tag": tag} if asked.kind == "wheel" else {}
    data = {
        "fun": f"{asked.kind}.{asked.fun}",
        "fun_args": [*asked.args, *([asked.kwargs] if asked.kwargs else [])],
        "jid": item.jid,
        "user": user,
        "_stamp": datetime.datetime.now(datetime.UTC).replace(tzinfo=None).isoformat(),
        "return": value,
        "success": item.success,
    }
    return {"tag": tag if asked.kind == "wheel" else f"{tag}/ret", "data": {**about, **data}}


async def _with_silences(items: AsyncIterator[CallItem], seconds: float) -> AsyncIterator[CallItem | None]:
    """Items as they come; None where none came for so long."""
    coming: asyncio.Future[Any] | None = None
    try:
        while True:
            coming = coming or asyncio.ensure_future(_next(items))
            done, _ = await asyncio.wait((coming,), timeout=seconds)
            if not done:
                yield None
                continue
            item, coming = coming.result(), None
            if item is _END:
                return
            yield item
    finally:
        if coming is not None:
            coming.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await coming
        await encoding.close(items)


_END = object()


async def _next(items: AsyncIterator[Any]) -> Any:
    return await anext(items, _END)
