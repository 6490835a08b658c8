"""The nouns of the language room: what goes into a compile and what comes out.

Every stage hands the next one of these; Salt's own dict shapes appear only in
`Chunk.as_salt`, `StateResult.as_salt` and the high data, where Salt's users meet them.
Everything here is plain data: picklable, comparable, without I/O.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, Protocol, TypeAlias

from highstate.records import dataclass

Value: TypeAlias = Any
"""A value as YAML and msgpack know it: None, bool, int, float, str, bytes, list, dict (keys of any scalar type)."""


class Files(Protocol):
    """The tree that a compile reads, one overlay of files for each saltenv. `gitfs.Snapshot` is one.

    Paths are relative, with `/`, without `salt://`. `oid` names the content: equal ids mean equal bytes.
    """

    @property
    def digest(self) -> str:
        """Names this whole tree: equal digests mean equal content in every saltenv."""

    def saltenvs(self) -> Sequence[str]:
        """Names of the environments there are. Top files are merged in this order, base first: by name, or as given."""

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file; FileNotFoundError when there is none."""

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Content id of a file, None when there is none."""

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file, None when there is none."""

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths of all files at or below a folder, sorted; empty when there is none."""

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of all symlinks at or below a folder, sorted. `list` shows what they lead to."""


class Stage(enum.Enum):
    """Where in the compile something happened."""

    TOP = "top"
    PILLAR = "pillar"
    RENDER = "render"
    YAML = "yaml"
    COMPILE = "compile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pos:
    """A place in somebody's text. Lines count from 1; 0 means that the line is not known."""

    file: str
    saltenv: str = "base"
    line: int = 0
    """Line of the rendered text (of the template itself for Jinja errors)."""
    template_line: int = 0
    """Line of the template that produced it, where that is known."""
    column: int = 0
    stage: Stage = Stage.COMPILE
    include_chain: tuple[str, ...] = ()
    """SLS names from the top file's entry down to the one that this is about, when it was included."""

    def __str__(self) -> str:
        line = self.template_line or self.line
        return f"{self.file}:{line}" if line else self.file


NOT_RUN = "Python of the tree, which is switched off"
"""In the messages of problems that are none where `allow_py_renderer` is set."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One error about a tree: what is wrong, where, the text around it, and what to do."""

    message: str
    pos: Pos
    excerpt: str = ""
    """Lines of the source with a caret under the place, ready to print; empty when there is no text to show."""
    hint: str = ""

    def __str__(self) -> str:
        parts = [f"{self.pos}: {self.message}"]
        if self.excerpt:
            parts.append(self.excerpt)
        if self.pos.include_chain:
            parts.append("  included through " + " -> ".join(self.pos.include_chain))
        if self.hint:
            parts.append(f"  hint: {self.hint}")
        return "\n".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Minion:
    """Whom a highstate is compiled for."""

    id: str
    grains: Mapping[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A low chunk: one state function call with all that Salt knows of it.

    `arguments` holds everything else in Salt's shape, requisites included
    (`{"source": "salt://x", "require": [{"pkg": "nginx"}]}`); `name` is not in it.
    """

    state: str
    fun: str
    id: str
    name: str
    sls: str
    saltenv: str = "base"
    order: int | float = 0
    arguments: Mapping[str, Value] = field(default_factory=dict)
    pos: Pos | None = None

    @property
    def tag(self) -> str:
        """Salt's running-dictionary key."""
        return f"{self.state}_|-{self.id}_|-{self.name}_|-{self.fun}"

    def as_salt(self) -> dict[str, Value]:
        """The chunk as `state.show_lowstate` prints it."""
        return {
            "state": self.state,
            "name": self.name,
            "__sls__": self.sls,
            "__env__": self.saltenv,
            "__id__": self.id,
            **self.arguments,
            "order": self.order,
            "fun": self.fun,
        }

    @classmethod
    def from_salt(cls, low: Mapping[str, Value]) -> Chunk:
        """The inverse of `as_salt`; a missing `__sls__`, `__env__`, `__id__` or `order` gets its default."""
        own = ("state", "fun", "name", "__sls__", "__env__", "__id__", "order")
        return cls(
            state=low["state"],
            fun=low["fun"],
            id=low.get("__id__", low["name"]),
            name=low["name"],
            sls=low.get("__sls__", ""),
            saltenv=low.get("__env__", "base"),
            order=low.get("order", 0),
            arguments={key: value for key, value in low.items() if key not in own},
        )


def state_title(key: str) -> str:
    """The key or tag of a state as people read it: `motd [/etc/motd] (file.managed)`; other texts as they are."""
    parts = key.split("_|-")
    if len(parts) != 4:
        return key
    state, identifier, name, fun = parts
    identifier = identifier.removeprefix("listener_") if fun == "mod_watch" else identifier
    return identifier + (f" [{name}]" if name != identifier else "") + f" ({state}.{fun.partition('#')[0]})"


ABSENT = ""
"""The oid of a file that a chunk looks for and that the tree does not have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Content:
    """What a chunk writes or reads besides its arguments, as far as the controller can tell.

    Two compiles with equal arguments and equal `digest` do the same; a changed digest with equal
    arguments is a content change (a source file, or a template whose reads changed).
    """

    digest: str
    files: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(saltenv, path) -> oid of every file of the tree that the chunk uses, imports of its template
    included; `ABSENT` of one that it looks for and that is not there."""
    modes: Mapping[tuple[str, str], int] = field(default_factory=dict)
    """(saltenv, path) -> permission bits of those whose mode the chunk keeps."""
    links: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(saltenv, path) -> target of the symlinks that the chunk keeps."""
    volatile: tuple[str, ...] = ()
    """Functions of the live machine that its template calls, so that the content is known on the minion alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A minion's highstate, or the reasons why there is none (`errors` not empty; then `lowstate` is empty)."""

    minion_id: str
    lowstate: tuple[Chunk, ...] = ()
    highstate: Mapping[str, Value] = field(default_factory=dict)
    """Salt's high data, as `state.show_highstate` prints it."""
    pillar: Mapping[str, Value] = field(default_factory=dict)
    matches: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """saltenv -> SLS names that the top file gives this minion."""
    contents: Mapping[str, Content] = field(default_factory=dict)
    """Chunk tag -> content, for the chunks that have any."""
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    volatile: tuple[str, ...] = ()
    """Functions of the live machine that pillar and states stand on: their answers may be others by now."""
    secrets: frozenset[str] = field(default=frozenset(), compare=False, repr=False)
    """Plain texts from GnuPG and from a vault that it stands on, to be taken out of what is shown (`redaction`)."""
    seconds: float = 0.0
    """Set by whoever timed it; the compile itself has no clock."""
    files: tuple[frozenset[tuple[str, str, str, str, str]], ...] | None = field(default=None, compare=False, repr=False)
    """For pillar (each tree of it), top file and states, what was looked at in the trees: (`files` or the name that
    `files.parts_of` gives a tree of pillar, `file` or `list`, saltenv, path, digest of the answer). With equal answers
    and grains the outcome is equal. None: not known, or it stands on more than grains and files."""
    like: tuple[Chunk, ...] = field(default=(), compare=False, repr=False)
    """The lowstate of another minion of its class, most of whose chunks are these very objects; empty: not known."""

    @property
    def ok(self) -> bool:
        """Whether there is a lowstate to work with."""
        return not self.errors


@dataclass(frozen=True, slots=True, kw_only=True)
class StateResult:
    """What came of one chunk. `result` None means: would change (test=True)."""

    name: str
    result: bool | None
    comment: str = ""
    changes: Mapping[str, Value] = field(default_factory=dict)
    start_time: str = ""
    duration: float = 0.0
    """Milliseconds, as Salt has it."""
    run_num: int = 0
    skipped: bool = False
    """A requisite or condition kept it from running."""
    warnings: tuple[str, ...] = ()
    skip_watch: bool = False
    """Its mod_watch is not called, whatever it watches: a condition kept it from running."""
    skip_req: bool = False
    """What watches it, or waits for its changes, is not to act on them (`ignore_ordering` of file.managed)."""
    parallel: bool = False
    """It ran beside the others."""
    not_convergent: bool = False
    """It changed something, and would do so again at once."""
    ignored: Mapping[str, Value] = field(default_factory=dict)
    """Attribute -> what differs of it and policy ignores (`highstate.run.ignoring`)."""

    def as_salt(self, chunk: Chunk) -> dict[str, Value]:
        """The entry of Salt's running dictionary."""
        entry: dict[str, Value] = {
            "__id__": chunk.id,
            "__run_num__": self.run_num,
            "__sls__": chunk.sls,
            "changes": dict(self.changes),
            "comment": self.comment,
            "duration": self.duration,
            "name": self.name,
            "result": self.result,
            "start_time": self.start_time,
        }
        if self.skipped:
            entry["__state_ran__"] = False
        if self.warnings:
            entry["warnings"] = list(self.warnings)
        for name in ("skip_watch", "skip_req", "not_convergent"):
            if getattr(self, name):
                entry[name] = True
        if self.parallel:
            entry["__parallel__"] = True
        if self.ignored:
            entry["ignored"] = dict(self.ignored)
        return entry

    def stamped(self, *, start_time: str, duration: float, run_num: int) -> StateResult:
        """A copy that says when it was. Field by field: each state has one, and `replace` takes three times as long."""
        return StateResult(
            name=self.name,
            result=self.result,
            comment=self.comment,
            changes=self.changes,
            start_time=start_time,
            duration=duration,
            run_num=run_num,
            skipped=self.skipped,
            warnings=self.warnings,
            skip_watch=self.skip_watch,
            skip_req=self.skip_req,
            parallel=self.parallel,
            not_convergent=self.not_convergent,
            ignored=self.ignored,
        )
