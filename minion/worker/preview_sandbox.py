"""What a preview may do on a machine: read it, and run no command that a branch brings.

A preview plans the document of a branch that nobody has approved. Its states read the machine by our own code; but
`onlyif` and `unless` are commands of the branch's author, and a template may call execution functions. A condition is
evaluated only if the live document has the same one, with the same options; of execution functions, only those that
change nothing are called. What is at a path, and what grains and pillar say, is answered for any condition, without
running anything. Otherwise the state is shown as if it ran, with a warning. Templates have no functions of the
machine, only Jinja ones are rendered, and no URL is fetched.

What files and databases of the machine hold is read only where `minion.worker.live_contents` lets it be shown; for
everything else the machine raises ContentUnknown, whichever state asks. Kind, size, owner, mode and times of a path,
and where a symlink points, are shown of any path.

Called by `minion.worker.executor`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Unpack

from extmods.fact_answers import LOOKERS
from highstate.desired import Desired
from highstate.types import Chunk, StateResult
from minion.engine.conditions import ConditionUnknown, as_command
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.functions import ConditionFunctions
from minion.machine.machine import LocalMachine
from minion.machine.plan import Completed, FetchOptions
from minion.worker.live_contents import LiveContents

_READ_ONLY_PROGRAMS = frozenset(
    [
        "alternatives",
        "apk",
        "apt-cache",
        "apt-get",
        "dnf",
        "dnf5",
        "dpkg-query",
        "find",
        "getent",
        "id",
        "locale",
        "pacman",
        "pkg",
        "rc-service",
        "rpm",
        "service",
        "sysctl",
        "systemctl",
        "update-alternatives",
        "zypper",
    ]
)
"""Programs that states look with; what they are asked is put together by our own code."""

_CONTENT_PROGRAMS = frozenset(["crontab", "debconf-show", "pgrep", "ssh-keygen"])
"""Programs that states look with too, and that tell what only root may read, or search it for the branch's pattern."""

_PUBLIC_DATABASES = frozenset(["group", "passwd"])
"""What getent may be asked for; shadow has the hashes of passwords."""

_LOOKING = """
    file.contains file.contains_glob file.contains_regex file.search grains.equals grains.fetch grains.get
    grains.has_value grains.item grains.items match.compound match.glob match.grain match.grain_pcre match.ipcidr
    match.list match.pcre match.pillar match.pillar_pcre pillar.get pillar.item pillar.items pillar.keys
    pkg.upgrade_available test.echo test.false test.ping test.true
"""
_CONDITIONS = LOOKERS | frozenset(_LOOKING.split())
"""Functions that change nothing: a condition that is live may call them in a preview, and no other."""

_OF_DATA = """
    grains.get grains.item match.compound match.glob match.grain match.grain_pcre match.ipcidr match.list match.pcre
    match.pillar pillar.get pillar.item test.false test.ping test.true
"""
_FREE = frozenset(_OF_DATA.split())
"""Functions that tell of grains and pillar alone, which templates of a branch see too: any condition may call them."""

_SHOWN = (LOOKERS - {"file.check_hash", "file.get_hash", "file.get_sum", "shadow.info"}) | frozenset(
    ["grains.get", "grains.item", "pillar.get", "pillar.item"]
)
"""Those whose values a slot shows: none tells what is in a file or what a password is."""

_PURE_FUNCTIONS = frozenset(["schedule.build_schedule_item"])
"""Functions of states that tell nothing of the machine."""


def known_conditions(live: Desired) -> frozenset[str]:
    """The conditions of the live document, options included, each as one text."""
    return frozenset(
        _signature(entry, chunk.arguments)
        for chunk in live.chunks.values()
        for kind in ("onlyif", "unless")
        for entry in _listed(chunk.arguments.get(kind))
    )


UNREAD = "not read in a preview: no live state determines"
"""In what is said of a state whose content on the machine is not shown."""


@dataclass(kw_only=True)
class PreviewMachine(LocalMachine):
    """The machine as a preview sees it."""

    known: frozenset[str] = frozenset()
    """From `known_conditions`."""
    contents: LiveContents = field(default_factory=LiveContents)
    """What may be shown of the machine."""
    uncalled: Collection[str] = ()
    """Execution functions that templates have in a run, and that a preview does not call."""
    looks_itself = True
    """Conditions that ask what is at a path are answered without running anything."""
    _asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.functions = {name: self._refusing(name) for name in self.uncalled}

    def _refusing(self, name: str) -> Callable[..., Any]:
        def refuse(*_: Any, **__: Any) -> Any:
            self._asked.append(name)
            raise StateFailed(f"{name} is not called in a preview")

        return refuse

    def read(self, path: str) -> bytes:
        """Content of a file that a live state determines; ContentUnknown for any other."""
        self._refuse_hidden(path)
        return super().read(path)

    def same(self, path: str, other: str) -> bool:
        """Compare two files that live states determine; ContentUnknown for others."""
        self._refuse_hidden(path)
        self._refuse_hidden(other)
        return super().same(path, other)

    def listdir(self, path: str) -> Sequence[str]:
        """Names in a directory that a live state cleans; ContentUnknown for others."""
        if not self.contents.lists(path):
            raise ContentUnknown(f"names in {path} are {UNREAD} them")
        return super().listdir(path)

    def _refuse_hidden(self, path: str) -> None:
        if not self.contents.shows(path):
            raise ContentUnknown(f"content of {path} is {UNREAD} it")

    def render(self, path: str, saltenv: str, context: Mapping[str, Any]) -> bytes:
        """A Jinja template rendered; ContentUnknown for one that calls a function that looks at the machine."""
        with self._calling_nothing():
            return super().render(path, saltenv, context)

    def render_text(self, text: str, engine: str, saltenv: str, context: Mapping[str, Any]) -> bytes:
        """A Jinja text rendered; ConditionUnknown for templates that are programs (`py`, `mako`)."""
        if engine != "jinja":
            raise ConditionUnknown(f"a preview does not render {engine} templates: they are programs of the branch")
        with self._calling_nothing():
            return super().render_text(text, engine, saltenv, context)

    @contextmanager
    def _calling_nothing(self) -> Iterator[None]:
        self._asked.clear()
        try:
            yield
        except StateFailed as failed:
            if not self._asked:
                raise
            raise ContentUnknown(f"its template calls {self._asked[0]}, which a preview does not call") from failed

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
        """Run a program of the system that only reads what is public; others run hooks (git, pip), or tell secrets."""
        words = [word for word in argv if word != "--"]
        if words[0] in _CONTENT_PROGRAMS or (words[0] == "getent" and words[1] not in _PUBLIC_DATABASES):
            raise ContentUnknown(f"what {' '.join(argv[:3])} tells is not shown in a preview")
        if argv[0] not in _READ_ONLY_PROGRAMS:
            raise ConditionUnknown(f"a preview does not run {argv[0]}")
        return super().run(list(argv), env=env, stdin=stdin)

    def look_elsewhere(self, server: str) -> None:
        """Refused: the branch may name the server."""
        raise ContentUnknown(f"a preview does not ask {server}")

    def fetch(self, url: str, **options: Unpack[FetchOptions]) -> bytes | None:
        """Refused: the URL is the branch's."""
        raise StateFailed(f"a preview fetches nothing from the network: {url}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewFunctions:
    """Execution functions for the conditions and slots of a preview."""

    functions: ConditionFunctions
    known: frozenset[str]

    def call(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The value of a function for a slot, which shows it; ConditionUnknown where a live condition does not call it
        in the same way, where it may change the machine, and where its value is not for everybody."""
        self._refuse_unknown(fun, args, kwargs)
        if fun not in _SHOWN:
            raise ConditionUnknown(f"what {fun} tells is not shown in a preview")
        return self.functions.call(fun, args, kwargs)

    def call_with_retcode(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Any, int]:
        """The value and the exit code of a function for a condition; ConditionUnknown as for `call`."""
        self._refuse_unknown(fun, args, kwargs)
        return self.functions.call_with_retcode(fun, args, kwargs)

    def _refuse_unknown(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        if fun in _FREE:
            return
        if fun not in _CONDITIONS:
            raise ConditionUnknown(f"not evaluated in a preview: {fun} may change the machine")
        plain, listed = {"fun": fun, **kwargs}, {"fun": fun, "args": list(args), **kwargs}
        forms = [listed] if args else [plain, listed]
        if not any(_signature(form, {}) in self.known for form in forms):
            raise ConditionUnknown(f"not evaluated in a preview: {fun} is not called so in the live state")

    def look(self, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """A function that a state of ours asks, and that tells nothing of the machine; ContentUnknown for others."""
        if fun not in _PURE_FUNCTIONS:
            raise ContentUnknown(f"what {fun} tells is not shown in a preview")
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
