"""What file.recurse takes of the tree: the files and links below its sources."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from highstate.files import through_link
from highstate.salt_urls import split_salt_url
from minion.arguments.sources import Source
from minion.machine.failure import StateFailed
from minion.machine.plan import Reader


@dataclass(frozen=True, slots=True)
class TreeLink:
    """A symlink of the tree, to be made as such."""

    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceTree:
    """What is taken of the folders of sources."""

    saltenv: str
    maxdepth: int | None
    keep_symlinks: bool


def below_sources(
    machine: Reader, sources: Sequence[Source], tree: SourceTree, *, merge: bool
) -> dict[str, str | TreeLink]:
    """Relative path → URL or link of all below the first source that has any; with `merge`, below all of them.

    Of several sources the earliest has a path: what it has as a file or link is no folder of a later one, nor the
    reverse.
    """
    found: dict[str, str | TreeLink] = {}
    folders: set[str] = set()
    for url, _ in sources:
        if found and not merge:
            break
        below = _below_source(machine, url, tree)
        taken = set(found)
        found |= {path: one for path, one in below.items()
                  if path not in taken | folders and not taken.intersection(_above(path))}  # fmt: skip
        folders.update(above for path in found for above in _above(path))
    if not found:
        raise StateFailed("Recurse failed: none of the specified sources were found")
    return found


def _above(path: str) -> list[str]:
    """The folders that a relative path lies in."""
    return [path[:at] for at, letter in enumerate(path) if letter == "/"]


def _below_source(machine: Reader, url: str, tree: SourceTree) -> dict[str, str | TreeLink]:
    if not url.startswith("salt://"):
        raise StateFailed(f"Invalid source '{url}' (must be a salt:// URI)")
    folder, env = split_salt_url(url, tree.saltenv)
    paths = machine.sources(folder, env)
    if list(paths) == [folder]:
        raise StateFailed(f"The source {url} is a file: file.recurse takes a directory")
    links = machine.source_links(folder, env) if tree.keep_symlinks else {}
    query = f"?saltenv={env}" if env != tree.saltenv else ""
    skip = len(folder) + 1 if folder else 0
    found: dict[str, str | TreeLink] = {
        path[skip:]: f"salt://{path}{query}" for path in paths if not links or not through_link(path, links)
    }
    found |= {path[skip:]: TreeLink(target) for path, target in links.items()}
    return {path: one for path, one in found.items() if tree.maxdepth is None or path.count("/") <= tree.maxdepth}
