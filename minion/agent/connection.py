"""Takes the minion's cache directory for this agent, and has a key there by which controllers can know the minion.

Called once, by the agent's composition root.
"""

from __future__ import annotations

from minion.config.files import BadMinionSettings
from minion.config.settings import MinionSettings
from minion.machine.file_locks import lock_holder, take_lock
from wire.keys import load_or_create


def take_cachedir(settings: MinionSettings) -> None:
    """Lock it, and make the key where there is none. Raises BadMinionSettings, BadKey and OSError."""
    settings.cachedir.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = settings.cachedir / "agent.lock"
    if take_lock(lock, wait=False) is None:
        raise BadMinionSettings(f"{lock}: another agent (process {lock_holder(lock)}) uses this cachedir")
    load_or_create(settings.pki_dir / "minion.key")
