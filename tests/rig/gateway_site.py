"""A controller without minions of its own, and a gateway to it: where peers try what they may."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rig import Rig
from stock_minions import StockMinions


def write_tree(folder: Path, files: Mapping[str, str]) -> Path:
    """Write files (path -> content) below a folder, which is made; the folder."""
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return folder


@contextlib.contextmanager
def controller_with_tree(folder: Path, files: Mapping[str, str]) -> Iterator[Rig]:
    """A controller that has read a first push of these files; all that it has lies below `folder`."""
    with Rig(folder / "rig", {}, write_tree(folder / "tree", files), forked=True) as rig:
        rig.up()
        commit = rig.push("first")
        rig.wait("the tree", lambda: commit in str(rig.remotes()))
        yield rig


@contextlib.contextmanager
def gateway_site(
    folder: Path, files: Mapping[str, str], more: Mapping[str, Any] | None = None
) -> Iterator[tuple[Rig, StockMinions]]:
    """`controller_with_tree`, and a gateway, with more options where they are given."""
    with controller_with_tree(folder, files) as rig, StockMinions(rig, folder / "stock", more) as stock:
        stock.start_gateway()
        yield rig, stock
