"""A call of a runner for somebody who waits, as the API shows it. Called by the service."""

from __future__ import annotations

from collections.abc import AsyncIterator

from controller.runners.listener import Listener
from controller.runners.runner_jobs import ControllerCall, RunnerJobs
from controller.schema.requests import RunnerQuestion
from controller.schema.runners import RunnerItem, RunnerOutput, RunnerProgress, RunnerReturn, RunnerStarted


async def call_and_wait(jobs: RunnerJobs, question: RunnerQuestion, user: str) -> AsyncIterator[RunnerItem]:
    """That it has begun, what it says, and what came of it. It goes on when its asker goes away."""
    call = ControllerCall(kind=question.kind, fun=question.fun, args=question.args, kwargs=question.kwargs, user=user)
    listener = Listener() if question.wait else None
    run = await jobs.start(call, listener)
    if listener is None:
        yield RunnerStarted(jid=run.jid)
        return
    try:
        yield RunnerStarted(jid=run.jid)
        async for news in listener.news_until(run.ended, question.timeout):
            yield RunnerOutput(text=news) if isinstance(news, str) else RunnerProgress(data=dict(news))
    finally:
        listener.leave()
    if run.ended.done() and not run.ended.cancelled():
        value, success = run.ended.result()
        yield RunnerReturn(jid=run.jid, success=success, value=value)
    else:
        yield RunnerReturn(jid=run.jid, success=False, ended=False)
