"""The threads of previews: those of the event loop are for what is live. Used by what makes a preview."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import ParamSpec, TypeVar

_Args = ParamSpec("_Args")
_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True)
class PreviewThreads:
    """Runs functions in threads for previews alone."""

    executor: Executor

    async def run(self, function: Callable[_Args, _Result], *args: _Args.args, **kwargs: _Args.kwargs) -> _Result:
        """What the function returns or raises in one of the threads."""
        return await asyncio.get_running_loop().run_in_executor(self.executor, partial(function, *args, **kwargs))
