"""What a preview may do on a machine: read it, and run no command that a branch brings.

A preview plans the document of a branch that nobody has approved. Its states read the machine by our own code; but
`onlyif` and `unless` are commands of the branch's author, and a template may call execution functions. A condition is
evaluated only if the live document has the same one, with the same options; otherwise the state is shown as if it ran,
with a warning. Templates have no functions of the machine, and no URL is fetched.

Called by `minion.worker.executor`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from highstate.desired import Desired
from highstate.types import Chunk, StateResult
from minion.engine.conditions import ConditionUnknown, as_command
from minion.machine.functions import ConditionFunctions
from minion.machine.machine import LocalMachine
from minion.machine.plan import Completed, StateFailed

_LOOKERS = frozenset(
    [
        "alternatives",
        "apk",
        "apt-cache",
        "apt-get",
        "crontab",
        "debconf-show",
        "dnf",
        "dnf5",
        "dpkg-query",
        "find",
        "getent",
        "id",
        "locale",
        "pacman",
        "pgrep",
        "pkg",
        "rc-service",
        "rpm",
        "service",
        "ssh-keygen",
        "sysctl",
        "systemctl",
        "update-alternatives",
        "zypper",
    ]
)
"""Programs that states look with; what they are asked is put together by our own code."""


def known_conditions(live: Desired) -> frozenset[str]:
    """The conditions of the live document, options included, each as one text."""
    return frozenset(
        _signature(entry, chunk.arguments)
        for chunk in live.chunks.values()
        for kind in ("onlyif", "unless")
        for entry in _listed(chunk.arguments.get(kind))
    )


@dataclass(kw_only=True)
class PreviewMachine(LocalMachine):
    """The machine as a preview sees it."""

    known: frozenset[str] = frozenset()
    """From `known_conditions`."""

    def run(
        self,
        argv: Sequence[str] | str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        runas: str | None = None,
        timeout: float | None = None,
        stdin: str | None = None,
    ) -> Completed:
        """Run a condition that is live; ConditionUnknown for any other command."""
        given = {"cwd": cwd, "env": env, "runas": runas, "timeout": timeout}
        options = {key: value for key, value in given.items() if value is not None}
        if not isinstance(argv, str) or _text(argv, options) not in self.known:
            raise ConditionUnknown(f"not evaluated in a preview: {argv!r} is not in the live state")
        return super().run(argv, cwd=cwd, env=env, runas=runas, timeout=timeout, stdin=stdin)

    def query(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Completed:
        """Look by one of the system's own programs; ConditionUnknown for others: git and pip run what they find."""
        if argv[0] not in _LOOKERS:
            raise ConditionUnknown(f"a preview does not run {argv[0]}")
        return super().run(list(argv), env=env, stdin=stdin)

    def fetch(self, url: str, *, fits: Callable[[bytes], bool] | None = None, verify: bool = True) -> bytes | None:
        """Refused: the URL is the branch's."""
        raise StateFailed(f"a preview fetches nothing from the network: {url}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewFunctions:
    """Execution functions for the conditions of a preview."""

    functions: ConditionFunctions
    known: frozenset[str]

    def call(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function that a live condition calls in the same way; ConditionUnknown otherwise."""
        plain, listed = {"fun": fun, **kwargs}, {"fun": fun, "args": list(args), **kwargs}
        forms = [listed] if args else [plain, listed]
        if not any(_signature(form, {}) in self.known for form in forms):
            raise ConditionUnknown(f"not evaluated in a preview: {fun} is not called so in the live state")
        return self.functions.call(fun, args, kwargs)

    def look(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function that a state of ours asks, which changes nothing and takes nothing from the branch but data."""
        return self.functions.call(fun, args, kwargs)

    def signature(self, fun: str) -> Any:
        """What a function takes, for states that call it once they act."""
        ask = getattr(self.functions, "signature", None)
        return ask(fun) if ask is not None else None


class PreviewStates:
    """State modules of the tree, which a preview names and never calls."""

    def __init__(self, names: frozenset[str]) -> None:
        self._names = names

    def has(self, state: str) -> bool:
        """Whether the branch brings such a module."""
        return state in self._names

    def takes(self, state: str, fun: str) -> bool:
        """What it has is known to who loads it, so everything but mod_watch is taken for there."""
        return fun != "mod_watch"

    def call(self, chunk: Chunk, fun: str, arguments: Mapping[str, Any], *, test: bool) -> StateResult:
        """Shown as a change that is not known."""
        comment = f"{chunk.state}.{fun} comes with the tree: what it would do is not asked in a preview"
        return StateResult(name=chunk.name, result=None, comment=comment)


def _signature(entry: Any, arguments: Mapping[str, Any]) -> str:
    if isinstance(entry, Mapping):
        return _text({key: value for key, value in entry.items() if key != "get_return"}, {})
    return _text(*as_command(entry, arguments)) if isinstance(entry, str) else _text(entry, {})


def _text(entry: Any, options: Mapping[str, Any]) -> str:
    return json.dumps([entry, options], sort_keys=True, default=str)


def _listed(value: Any) -> list[Any]:
    return [] if value is None else value if isinstance(value, list) else [value]
