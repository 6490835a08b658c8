"""`aggregate`: packages of later chunks join the transaction of the first one.

Called by the runner alone. A later chunk joins when it could run by now: what it requires is done, nothing but its
names and versions is special about it, and no condition of its own may keep it out. It still runs in its turn, and
finds its packages there. Behaviour: doc/ref/states/aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from highstate.types import Chunk, Value

FUNCTIONS = frozenset(("installed", "latest", "removed", "purged"))
"""Those of `pkg`, the state that can be aggregated."""

_PLAIN = frozenset(("name", "names", "pkgs", "version", "aggregate", "order", "refresh", "failhard", "fromrepo"))
"""Arguments of a chunk that may join; requisites may stand beside them."""

_REQUISITES = ("require", "watch", "onchanges", "onfail", "prereq", "listen", "use")


def is_on(chunk: Chunk, everywhere: bool) -> bool:
    """Whether a chunk aggregates: by its own word, or as the whole run does."""
    given = chunk.arguments.get("aggregate")
    on = everywhere if given is None else given is True or (isinstance(given, list) and chunk.state in given)
    return on and chunk.state == "pkg" and chunk.fun in FUNCTIONS and "sources" not in chunk.arguments


def joined(
    key: str, chunks: Mapping[str, Chunk], can_run: Callable[[str], bool], everywhere: bool
) -> Mapping[str, Value]:
    """The arguments of a chunk with the packages of the others that join it in `pkgs`.

    `can_run` says of another chunk that it has not run, and that all that it requires has.
    """
    chunk = chunks[key]
    if not is_on(chunk, everywhere):
        return chunk.arguments
    packages = _packages(chunk)
    for other, one in chunks.items():
        if other != key and _may_join(chunk, one, everywhere) and can_run(other):
            packages += [package for package in _packages(one) if package not in packages]
    if len(packages) < 2:
        return chunk.arguments
    return {**{name: value for name, value in chunk.arguments.items() if name != "version"}, "pkgs": packages}


def _may_join(chunk: Chunk, other: Chunk, everywhere: bool) -> bool:
    if (other.state, other.fun) != (chunk.state, chunk.fun) or not is_on(other, everywhere):
        return False
    special = [name for name in other.arguments if name not in _PLAIN and not name.startswith((*_REQUISITES, "__"))]
    return not special and other.arguments.get("fromrepo") == chunk.arguments.get("fromrepo")


def _packages(chunk: Chunk) -> list[Value]:
    """As `pkgs` lists them."""
    listed = chunk.arguments.get("pkgs")
    if isinstance(listed, Mapping):
        return [{name: version} for name, version in listed.items()]
    if isinstance(listed, list | tuple):
        return list(listed)
    version = chunk.arguments.get("version")
    return [chunk.name if version is None else {chunk.name: version}]
