"""What goes into a render and what comes out of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from highstate.memo.blank_recorder import BlankInputs
from highstate.memo.memo import Memo
from highstate.memo.sources import ReadSources
from highstate.memo.tracked import Recorder
from highstate.ports import NO_PORTS, CompilePorts
from highstate.render.lines import LineMap
from highstate.types import Files, Minion, Problem, Value

_PLACES = {
    "root_dir": "/",
    "config_dir": "/etc/saltern",
    "conf_file": "/etc/saltern/minion",
    "pki_dir": "/etc/saltern/pki/minion",
    "cachedir": "/var/cache/saltern/minion",
    "extension_modules": "/var/cache/saltern/minion/extmods",
}
"""Where a minion has its files unless its configuration says otherwise: formulas read these of `opts`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderContext:
    """Who and what a template is rendered for. Make one for each minion and saltenv: it keeps digests of its inputs."""

    minion: Minion
    files: Files
    saltenv: str = "base"
    pillar: Mapping[str, Value] = field(default_factory=dict)
    opts: Mapping[str, Value] = field(default_factory=dict)
    """Minion options that templates see as `opts`; also `jinja_env`, `jinja_sls_env`, `nodegroups`, ..."""
    memo: Memo | None = None
    functions: Mapping[str, Callable[..., Value]] = field(default_factory=dict)
    """Further functions for `salt[...]`. What calls one holds for that moment alone: it is never memoised."""
    ports: CompilePorts = NO_PORTS
    """Facts, secrets, decryption: what a render may ask of the world."""
    blanks: BlankInputs | None = None
    """Where given: the inputs with blanks in them, which are read in place of the minion's own."""
    reads: Recorder | None = None
    """Where given: all that is read is recorded here too (a pillar is made of many renders)."""
    sources: ReadSources = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.blanks is not None:
            object.__setattr__(self, "sources", self.blanks.sources)
            return
        opts = {
            "saltenv": None,
            "pillarenv": None,
            "test": False,
            "state_top": "salt://top.sls",
            "hash_type": "sha256",
            "renderer": "jinja|yaml",
            "master": "salt",
            "file_client": "remote",
            **_PLACES,
            **self.opts,
            "id": self.minion.id,
            "grains": self.minion.grains,
            "pillar": self.pillar,
        }
        sources = ReadSources(
            minion_id=self.minion.id,
            roots={"grains": self.minion.grains, "pillar": self.pillar, "opts": opts},
            files=self.files,
            ports=self.ports,
        )
        object.__setattr__(self, "sources", sources)

    def recording(self, reads: Recorder, files: Files | None = None) -> RenderContext:
        """This one with a record of what is read; `files`, where given, are these same files, recorded too.

        The digests of its inputs that were made so far are kept.
        """
        made = replace(self, reads=reads, files=files or self.files)
        object.__setattr__(made, "sources", self.sources)
        return made

    def new_recorder(self) -> Recorder:
        """What records one render."""
        return Recorder(self.sources) if self.blanks is None else self.blanks.recorder()

    def of_saltenv(self, saltenv: str) -> RenderContext:
        """The same for another environment."""
        made = replace(self, saltenv=saltenv)
        object.__setattr__(made, "sources", self.sources)
        return made


@dataclass(frozen=True, slots=True, kw_only=True)
class Rendered:
    """An SLS as data. With a memo `data` is shared with others who get the same: it must not be changed."""

    data: Value
    text: str
    """The rendered text, before YAML or JSON."""
    template: str
    """Path of the template."""
    lines: LineMap


@dataclass(frozen=True, slots=True, kw_only=True)
class RenderedText:
    """A file's template as text."""

    text: str
    files: Mapping[tuple[str, str], str]
    """(saltenv, path) -> oid of the template and of all that it imports."""
    volatile: tuple[str, ...] = ()
    """Functions of the live machine that it called."""
    facts: tuple[str, ...] = ()
    """Functions of the live machine whose recorded answers it stands on."""


class RenderFailed(Exception):
    """A template or its YAML is wrong, and `problem` says where and why."""

    def __init__(self, problem: Problem, *, live: str = "") -> None:
        super().__init__(str(problem))
        self.problem = problem
        self.live = live
        """The function that only the live machine has, when asking for it is all that is wrong."""

    def again(self) -> RenderFailed:
        """The same failure, never raised yet: one that is kept must not hold the frames of its first raise."""
        return RenderFailed(self.problem, live=self.live)

    def __reduce__(self) -> tuple[Callable[[Problem, str], RenderFailed], tuple[Problem, str]]:
        return _remade, (self.problem, self.live)


def _remade(problem: Problem, live: str) -> RenderFailed:
    return RenderFailed(problem, live=live)
