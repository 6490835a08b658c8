"""The execution module `saltutil`: user modules and grains brought up to date."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any

from extmods.store import KINDS
from minion.arguments.types import Reads, as_comma_list
from minion.execution.arguments import AlwaysDone, NoCache, NoModules
from minion.execution.context import Context
from minion.modules.saltutil.jobs import FUNCTIONS as JOBS

# fmt: off
_ELSEWHERE = (
    "clouds", "engines", "executors", "log_handlers", "matchers", "outputters", "pillar", "proxymodules",
    "renderers", "sdb", "serializers", "tops",
)
# fmt: on
"""Kinds that a minion does not load here: there is nothing to bring up to date."""


def as_module_names(value: Any) -> Mapping[str, tuple[str, ...]]:
    """Names of modules, as a list or with commas, or such by kind; those of every kind stand under an empty one."""
    return {
        str(kind): as_comma_list(names)
        for kind, names in (value if isinstance(value, Mapping) else {"": value}).items()
    }


ModuleNames = Annotated[Mapping[str, tuple[str, ...]], Reads(as_module_names)]


def sync_all(
    context: Context,
    saltenv: str = "base",
    refresh: AlwaysDone = True,
    extmod_whitelist: ModuleNames | None = None,
    extmod_blacklist: ModuleNames | None = None,
    clean_pillar_cache: NoCache = None,
) -> dict[str, list[str]]:
    """All kinds of user modules; by kind, what is new, changed or gone."""
    chosen = _chosen(extmod_whitelist, extmod_blacklist)
    changed = context.sync_user_modules(KINDS, saltenv or "base", chosen)
    return {**{kind: [] for kind in _ELSEWHERE}, **changed}


def refresh_grains(context: Context, **options: Any) -> bool:
    """Collect the grains anew, in the agent too."""
    context.reload("grains")
    context.ask_for_grains()
    return True


def refresh_pillar(
    context: Context,
    wait: AlwaysDone = None,
    timeout: AlwaysDone = None,
    clean_cache: NoCache = None,
) -> bool:
    """Read the pillar anew where it is compiled here; the controller sends a changed one by itself."""
    context.reload("pillar")
    return True


def refresh_modules(context: Context, **options: Any) -> bool:
    """Load user modules anew."""
    context.reload("modules")
    return True


def list_extmods(context: Context) -> dict[str, list[str]]:
    """The user modules here, by kind; those that cannot be used too."""
    return {kind: sorted(names) for kind, names in context.user_modules.store.index().items() if names}


def _chosen(only: ModuleNames | None, never: ModuleNames | None) -> Callable[[str, str], bool]:
    """Which modules are taken; those of the tree that are not go from the minion."""

    def names(given: ModuleNames | None, kind: str) -> tuple[str, ...]:
        return (given or {}).get(kind) or (given or {}).get("", ())

    return lambda kind, name: (not names(only, kind) or name in names(only, kind)) and name not in names(never, kind)


def _sync(kind: str) -> Callable[..., list[str]]:
    def sync(
        context: Context,
        saltenv: str = "base",
        refresh: AlwaysDone = True,
        extmod_whitelist: ModuleNames | None = None,
        extmod_blacklist: ModuleNames | None = None,
        clean_pillar_cache: NoCache = None,
    ) -> list[str]:
        if kind in _ELSEWHERE:
            return []
        return context.sync_user_modules((kind,), saltenv, _chosen(extmod_whitelist, extmod_blacklist))[kind]

    sync.__doc__ = f"User modules of `_{kind}`: what is new, changed or gone."
    return sync


def sync_sdb(
    context: Context,
    saltenv: NoModules = "base",
    extmod_whitelist: NoModules = None,
    extmod_blacklist: NoModules = None,
    *,
    refresh: AlwaysDone = True,
) -> list[str]:
    """User modules of `_sdb`: none, they are the controller's."""
    return []


FUNCTIONS: Mapping[str, Any] = {
    **JOBS,
    "pillar_refresh": refresh_pillar,
    "sync_output": _sync("outputters"),
    "list_extmods": list_extmods,
    "refresh_grains": refresh_grains,
    "refresh_modules": refresh_modules,
    "refresh_pillar": refresh_pillar,
    "sync_all": sync_all,
    **{f"sync_{kind}": _sync(kind) for kind in (*KINDS, *_ELSEWHERE)},
    "sync_sdb": sync_sdb,
}
