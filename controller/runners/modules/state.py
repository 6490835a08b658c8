"""The runner `state`: orchestrations (`controller.orchestration`), and events as they happen."""

from __future__ import annotations

import asyncio
import fnmatch
import json
import re
from typing import Annotated, Literal

from controller.runners import orchestrations
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from matching.linear_regex import PatternRefused
from matching.matcher import person_matcher
from minion.arguments.types import Ignored
from reactors.events import Event
from reactors.tags import as_salt


async def event(
    context: RunnerContext,
    tagmatch: str = "*",
    count: int = -1,
    quiet: bool = False,
    sock_dir: Annotated[str | None, Ignored("the controller has one bus")] = None,
    pretty: bool = False,
    node: Literal["master"] = "master",
) -> None:
    """Print events from now on: the tag, a tabulator, and the data as JSON. It ends when nobody reads any more.

    Args:
        context: of the call.
        tagmatch: a glob or a regular expression that matches from the start of the tag.
        count: end after so many events that match; -1: never.
        quiet: print nothing, only wait.
        sock_dir: accepted.
        pretty: JSON on several lines, with sorted keys.
        node: the controller's bus is the only one.
    """
    gone = asyncio.ensure_future(context.listener.gone())
    try:
        with context.ports.bus.subscribe() as events:
            while count != 0 and not gone.done():
                waiting = asyncio.ensure_future(events.wait())
                await asyncio.wait({gone, waiting}, return_when=asyncio.FIRST_COMPLETED)
                waiting.cancel()
                for each in events.drain():
                    if count == 0 or each.id <= context.cause or not _matches(tagmatch, each.tag):
                        continue
                    count -= count > 0
                    if not quiet:
                        await context.listener.write(_line(each, pretty))
    finally:
        gone.cancel()


def _matches(pattern: str, tag: str) -> bool:
    """As Salt: a glob, or a regular expression."""
    if tag == pattern or fnmatch.fnmatchcase(tag, pattern):
        return True
    try:
        return person_matcher().matches(pattern, tag)
    except PatternRefused as error:
        raise ControllerCallFailed(str(error)) from None
    except re.error:
        return False


def _line(event: Event, pretty: bool) -> str:
    data = json.dumps(as_salt(event), sort_keys=pretty, indent=4 if pretty else None, default=str)
    return f"{event.tag}\t{data}"


FUNCTIONS = {"event": event, **orchestrations.FUNCTIONS}
