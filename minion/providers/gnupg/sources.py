"""What a key is taken from: a file of the tree, of the web or of this machine."""

from __future__ import annotations

from minion.machine.plan import Reader

_TREE = "salt://"


def content_at(machine: Reader, address: str) -> bytes | None:
    """The content; None where there is nothing."""
    if address.startswith(_TREE):
        path, _, env = address.removeprefix(_TREE).partition("?saltenv=")
        try:
            return machine.source(path, env or "base")
        except FileNotFoundError:
            return None
    if "://" in address:
        return machine.fetch(address)
    return machine.read(address) if machine.stat(address) is not None else None
