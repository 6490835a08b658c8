"""state.show_*: high data, low chunks and the top file, with nothing run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Unpack

from highstate import shown_states
from minion.arguments.types import CommaList
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.modules.state.runs import ShowOptions, compiled_highstate, compiled_sls, good, high_of

if TYPE_CHECKING:
    from highstate.types import Compiled


def show_lowstate(context: Context, **options: Unpack[ShowOptions]) -> list[Any]:
    """The highstate as low chunks, in running order."""
    return shown_states.low_chunks(_compiled(compiled_highstate(context, options)))


def show_low_sls(context: Context, mods: CommaList, **options: Unpack[ShowOptions]) -> list[Any]:
    """Some SLS as low chunks."""
    return shown_states.low_chunks(_compiled(compiled_sls(context, mods, options)))


def show_highstate(context: Context, **options: Unpack[ShowOptions]) -> dict[str, Any]:
    """The highstate as high data."""
    return high_of(compiled_highstate(context, options))


def show_sls(context: Context, mods: CommaList, **options: Unpack[ShowOptions]) -> dict[str, Any]:
    """Some SLS as high data."""
    return high_of(compiled_sls(context, mods, options))


def show_top(context: Context, **options: Unpack[ShowOptions]) -> dict[str, list[str]]:
    """What the top file gives this minion, by saltenv."""
    compiled = compiled_highstate(context, options)
    if not compiled.matches:  # what is wrong with the SLS does not matter here
        good(compiled)
    return shown_states.top(compiled)


def show_states(context: Context, **options: Unpack[ShowOptions]) -> list[str]:
    """Names of the SLS that the highstate is made of."""
    return shown_states.sls_names(_compiled(compiled_highstate(context, options)))


def id_exists(context: Context, ids: CommaList, mods: CommaList, **options: Unpack[ShowOptions]) -> bool:
    """Whether some SLS have all of these IDs."""
    return shown_states.has_ids(_compiled(compiled_sls(context, mods, options)), ids)


def show_state_usage(context: Context, **options: Unpack[ShowOptions]) -> dict[str, Any]:
    """Which SLS of the tree the highstate uses, and which it does not."""
    list_states = partial(Modules(context).call, "cp.list_states")
    return shown_states.usage(
        show_top(context, **options), {env: list_states([env]) for env in context.files.saltenvs()}
    )


def _compiled(compiled: Compiled) -> Compiled:
    """What compiled; CompileFailed when it did not."""
    good(compiled)
    return compiled


FUNCTIONS: Mapping[str, Any] = {
    "id_exists": id_exists,
    "show_highstate": show_highstate,
    "show_low_sls": show_low_sls,
    "show_lowstate": show_lowstate,
    "show_sls": show_sls,
    "show_state_usage": show_state_usage,
    "show_states": show_states,
    "show_top": show_top,
}
