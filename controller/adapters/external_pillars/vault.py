"""`vault`: secrets of a Vault or OpenBao server as pillar, read with the controller's own token.

Arguments are those of saltext-vault: a path, or `path`, `nesting_key`, `merge_strategy`, `merge_lists`. Fields of the
path are filled from the minion and its pillar so far; a list makes several paths of one. A path with nothing there
gives nothing; one that cannot be read fails the compile, where Salt goes on with less.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from highstate.ports import SecretFailed, SourceFailed
from highstate.traverse import merge
from highstate.types import Minion, Value
from minion.providers.vault.patterns import NoSuchValue, expanded

_ARGUMENTS = ("conf", "merge_lists", "merge_strategy", "nesting_key", "path")


class VaultPillar:
    """Secrets as pillar.

    Args:
        read: all keys of the secret at a path; SecretFailed.
    """

    def __init__(self, read: Callable[[str], Mapping[str, Value]]) -> None:
        self._read = read

    def pillar(self, minion: Minion, pillar: Mapping[str, Value], arguments: Value) -> Mapping[str, Value]:
        """See `PillarSource`."""
        options = _options(arguments)
        try:
            paths = expanded(options["path"], {"minion": minion.id, "grains": minion.grains, "pillar": pillar})
        except NoSuchValue:
            return {}  # as in Salt: a minion without the key has no such secrets
        found: dict[Any, Value] = {}
        for path in paths:
            try:
                secret = self._read(path)
            except SecretFailed as error:
                if "there is nothing at" in str(error):
                    continue
                raise SourceFailed(str(error)) from error
            found = merge(
                found,
                secret,
                strategy=str(options.get("merge_strategy") or "smart"),
                merge_lists=bool(options.get("merge_lists")),
            )
        return {str(options["nesting_key"]): found} if found and options.get("nesting_key") else found


def _options(arguments: Value) -> Mapping[str, Any]:
    options = dict(arguments) if isinstance(arguments, Mapping) else {"path": arguments}
    unknown = options.keys() - set(_ARGUMENTS)
    if unknown:
        raise SourceFailed(f"it does not take {', '.join(map(str, sorted(unknown)))}, but {', '.join(_ARGUMENTS)}")
    path = options.pop("conf", None) or options.get("path")
    words = str(path or "").split()
    named = [word for word in words if word.startswith("path=")] or (words if len(words) == 1 else [])
    if len(named) != 1:
        raise SourceFailed("it takes one path, like `vault: salt/minions/{minion}`")
    return {**options, "path": named[0].removeprefix("path=").strip("/")}
