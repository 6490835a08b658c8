"""The runner `http`: what a server answers, asked from a process of its own."""

from __future__ import annotations

from typing import Annotated, Any

from controller.runners.context import RunnerContext
from minion.arguments.types import Ignored


async def query(
    context: RunnerContext,
    url: str,
    output: Annotated[bool, Ignored("the value is always shown")] = True,
    **kwargs: Any,
) -> dict[str, Any]:
    """Ask a server, with the arguments of the execution function `http.query`; at most 4 MiB of its answer are taken.

    A redirect to another host is refused where the question has a password or token.
    """
    given: dict[str, Any] = await context.ports.processes.execution_function(context, "http.query", [url], kwargs)
    return given


FUNCTIONS = {"query": query}
