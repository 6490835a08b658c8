"""Commands of Augeas as SLS and callers write them: `set 1/canonical web`. Pure.

Called by `minion.providers.augeas.trees`. Behaviour: doc/ref/modules/all/salt.modules.augeas_cfg, `execute`.
"""

from __future__ import annotations

import shlex
from typing import NamedTuple

from minion.machine.failure import StateFailed

_METHODS = {
    "set": "set", "setm": "setm", "mv": "move", "move": "move", "ins": "insert", "insert": "insert", "rm": "remove",
    "remove": "remove",
}  # fmt: skip
_COUNTS = {"set": (1, 2), "setm": (2, 3), "move": (2,), "insert": (3,), "remove": (1,)}


class AugeasCommand(NamedTuple):
    """One command."""

    text: str
    method: str
    words: tuple[str, ...]
    paths: tuple[int, ...]
    """Which of the words are paths: they lead into a file."""

    def within(self, context: str | None) -> AugeasCommand:
        """The command with its paths below the context, where they are not whole."""
        if not context:
            return self
        words = [_below(context, word) if number in self.paths else word for number, word in enumerate(self.words)]
        return self._replace(words=tuple(words))


def parsed(text: str) -> AugeasCommand:
    """A command that is well formed; StateFailed says what is wrong."""
    name, _, rest = text.strip().partition(" ")
    method = _METHODS.get(name)
    if method is None:
        raise StateFailed(f"Error: AugeasCommand {name} is not supported (yet)")
    try:
        words = tuple(shlex.split(rest))
    except ValueError as error:
        raise StateFailed(f"Error: {text!r} cannot be read: {error}") from error
    if len(words) not in _COUNTS[method]:
        raise StateFailed(f"Error: {method} takes {' or '.join(map(str, _COUNTS[method]))} arguments: {text}")
    if method == "insert" and words[1] not in ("before", "after"):
        raise StateFailed(f'Error: Expected "before" or "after", not {words[1]}: {text}')
    paths = {"insert": (2,), "move": (0, 1)}.get(method, (0,))
    return AugeasCommand(text, method, words, paths)


def _below(context: str, path: str) -> str:
    """The destination of `move`, too, which Salt takes to be below /files."""
    if not path.lstrip("/"):
        return context
    return path if path.startswith(context) else f"{context.rstrip('/')}/{path.lstrip('/')}"
