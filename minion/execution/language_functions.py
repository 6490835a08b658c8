"""Functions of `highstate.functions`, made execution functions: they take a `Context` first.

Imported by `minion.execution.language` when the first of them is looked for.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Protocol, cast

from highstate.functions.call import FunctionCall, FunctionFailed
from highstate.functions.catalog import BUILT_IN
from highstate.memo.tracked import Recorder, plain
from highstate.render.context import RenderContext
from highstate.render.renderers import render_string
from highstate.types import Files, Minion
from minion.execution.errors import CallFailed


class LanguageContext(Protocol):
    """What functions of the language see of a `Context`."""

    minion_id: str
    opts: Mapping[str, Any]

    @property
    def grains(self) -> Mapping[str, Any]:
        """The minion's grains."""

    @property
    def pillar(self) -> Mapping[str, Any]:
        """The minion's pillar."""

    @property
    def files(self) -> Files:
        """The tree of `salt://`."""

    @property
    def functions(self) -> Mapping[str, Callable[..., Any]]:
        """The execution functions by full name."""


@functools.cache
def function_of(fun: str, doc: str) -> Callable[..., Any]:
    """The execution function with this docstring; its signature is without types."""
    inner = BUILT_IN[fun]

    def function(context: LanguageContext, *args: Any, **kwargs: Any) -> Any:
        try:
            return plain(inner(_call(context), *args, **kwargs))
        except FunctionFailed as error:
            raise CallFailed(str(error)) from error

    function.__doc__ = doc
    taken = [one.replace(annotation=inspect.Parameter.empty) for one in inspect.signature(inner).parameters.values()]
    function.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    return function


def _call(context: LanguageContext) -> FunctionCall:
    around = RenderContext(
        minion=Minion(id=context.minion_id, grains=_Late(lambda: context.grains)),
        files=context.files,
        pillar=_Late(lambda: context.pillar),
        opts=context.opts,
        functions=context.functions,
    )
    recorder = Recorder(around.sources)
    render = lambda text, pipeline, variables: render_string(text, pipeline, variables, around, recorder)  # noqa: E731
    return FunctionCall(recorder=recorder, saltenv="base", render=cast(Any, render))


class _Late(Mapping[str, Any]):
    """A mapping that is made when it is first looked at: a digest of text costs no collection of grains."""

    def __init__(self, make: Callable[[], Mapping[str, Any]]) -> None:
        self._make = make

    def __getitem__(self, key: str) -> Any:
        return self._make()[key]

    def __iter__(self) -> Any:
        return iter(self._make())

    def __len__(self) -> int:
        return len(self._make())
