"""All grains of this minion: of the machine, of the tree's `_grains`, and static ones, each laid over those before.

Called where grains are needed now: by a child of the agent, a worker, `saltern call`.
"""

from __future__ import annotations

import contextlib
import logging
import time
from typing import Any

from extmods.grains import user_grains
from extmods.store import ModuleStore
from minion.config.files import BadMinionSettings
from minion.config.salt_opts import salt_opts
from minion.config.settings import MinionSettings, static_grains
from minion.execution.module_host import imported_functions
from minion.grains.collect import collect
from minion.grains.layers import laid_over, without_blacklisted
from minion.machine.durable_files import write_durably
from minion.spool.grains import KEPT, keep_grains, kept_grains, pack_grains

log = logging.getLogger(__name__)


def collect_grains(settings: MinionSettings) -> dict[str, Any]:
    """All grains of this machine, those of the tree's `_grains` too. Runs in a child. The file of static grains is
    read anew; one that is broken leaves those as they were.
    """
    cachedir, options, static = settings.cachedir, settings.options.grains, settings.grains
    try:
        static = {**static_grains(settings.config_dir), **options.static}
    except BadMinionSettings as error:
        log.error("event=static_grains_not_read error=%s", error)
    found = collect(static, minion_id=settings.id, options=options, before=kept_grains(cachedir))
    store = ModuleStore(str(cachedir), settings.options.modules, write=write_durably)
    of_tree = user_grains(store, settings.id, found, salt_opts(settings), imported_functions())
    own = without_blacklisted(of_tree, options)
    return {**laid_over(laid_over(found, own, options), static, options), "id": settings.id}


def known_grains(settings: MinionSettings) -> dict[str, Any]:
    """The grains of one call: with `grains_cache` those of the last collection, when it is young enough."""
    if not settings.grains_cache:
        return collect_grains(settings)
    path = settings.cachedir / KEPT
    with contextlib.suppress(OSError):
        if 0 <= time.time() - path.stat().st_mtime <= settings.grains_cache_expiration:
            kept = kept_grains(settings.cachedir)
            if kept.get("id") == settings.id:
                return laid_over(kept, settings.grains, settings.options.grains)
    grains = collect_grains(settings)
    try:
        settings.cachedir.mkdir(parents=True, exist_ok=True)
        keep_grains(settings.cachedir, pack_grains(grains))
    except OSError as error:
        log.warning("event=grains_not_stored error=%s", error)
    return grains
