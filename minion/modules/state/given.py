"""state.high, template, template_str and top: states that are given with the call, compiled as an SLS of the tree is.

They compile here (`--local`): the controller's document has only what the controller compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from minion.arguments.types import Map
from minion.execution.context import Context, LowstateSource
from minion.execution.errors import CallFailed
from minion.modules.state.runs import Pillar, Queue, StateRunOptions, compiler_of, good, run_chunks, testing, turn

if TYPE_CHECKING:
    from highstate.types import Files
    from minion.execution.lowstate_sources import RootsCompiler

_NAME = "given_with_the_call"


def high(
    context: Context,
    data: Map,
    test: bool | None = None,
    queue: Queue = None,
    *,
    pillar: Pillar = None,
    concurrent: bool = False,
    **ignored: Unpack[StateRunOptions],
) -> dict[str, Any]:
    """Run high data: `{id: {file.absent: [{name: /tmp/x}]}}`."""
    import yaml

    with turn(context, queue, concurrent):
        return _run(context, "#!yaml\n" + yaml.safe_dump(dict(data), sort_keys=False), test, pillar)


def _rendered(text_of: Callable[[str], str], doc: str) -> Callable[..., dict[str, Any]]:
    """A function that runs an SLS; `text_of` makes its text of the argument `tem`."""

    def run(
        context: Context,
        tem: str,
        queue: Queue = None,
        *,
        test: bool | None = None,
        pillar: Pillar = None,
        concurrent: bool = False,
        **ignored: Unpack[StateRunOptions],
    ) -> dict[str, Any]:
        with turn(context, queue, concurrent):
            return _run(context, text_of(tem), test, pillar)

    run.__doc__ = doc
    return run


def _read(tem: str) -> str:
    place = Path(tem if tem.endswith(".sls") else f"{tem}.sls")
    if not place.is_file():
        raise CallFailed(f"Specified SLS {tem} on local filesystem cannot be found.")
    return place.read_text()


def top(
    context: Context,
    topfn: str,
    test: bool | None = None,
    queue: Queue = None,
    *,
    pillar: Pillar = None,
    saltenv: str | None = None,
    pillarenv: str | None = None,
    concurrent: bool = False,
    **ignored: Unpack[StateRunOptions],
) -> dict[str, Any]:
    """Run what another top file of the tree gives this minion."""
    source = _sent(context) or _roots(context, saltenv, pillarenv).with_options(state_top=topfn.removeprefix("salt://"))
    with turn(context, queue, concurrent):
        compiled = source.highstate(pillar)
        return run_chunks(context, good(compiled), compiled.pillar, testing(context, test))


def _run(context: Context, text: str, test: Any, pillar: Mapping[str, Any] | None) -> dict[str, Any]:
    compiler = _roots(context)
    files: Files = _With(compiler.files, f"{_NAME}.sls", text.encode())
    compiled = replace(compiler, files=files).sls([_NAME], "base", pillar)
    chunks = [replace(chunk, sls="") for chunk in good(compiled)]
    return run_chunks(context, chunks, compiled.pillar, testing(context, test))


def _sent(context: Context) -> LowstateSource | None:
    """What the controller compiled for this call, if it did."""
    from minion.execution.lowstate_sources import SentStates

    compiler = compiler_of(context)
    return compiler if isinstance(compiler, SentStates) else None


def _roots(context: Context, saltenv: str | None = None, pillarenv: str | None = None) -> RootsCompiler:
    from minion.execution.lowstate_sources import RootsCompiler

    compiler = compiler_of(context, saltenv, pillarenv)
    if not isinstance(compiler, RootsCompiler):
        raise CallFailed("the controller compiles for this minion: states given with the call need --local")
    return compiler


@dataclass(frozen=True)
class _With:
    """A tree with one file more, in every environment."""

    files: Files
    path: str
    data: bytes

    @property
    def digest(self) -> str:
        """Names this tree."""
        from highstate.files import blob_id

        return f"{self.files.digest}+{blob_id(self.data)}"

    def saltenvs(self) -> Sequence[str]:
        """Those of the tree; base in any case."""
        return self.files.saltenvs() or ["base"]

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file."""
        return self.data if path == self.path else self.files.read(path, saltenv)

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Content id of a file."""
        from highstate.files import blob_id

        return blob_id(self.data) if path == self.path else self.files.oid(path, saltenv)

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file."""
        return 0o644 if path == self.path else self.files.mode(path, saltenv)

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths at or below a folder."""
        found = self.files.list(prefix, saltenv)
        return sorted([*found, self.path]) if not prefix or prefix == self.path else found

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks at or below a folder."""
        return self.files.links(prefix, saltenv)


FUNCTIONS: Mapping[str, Any] = {
    "high": high,
    "template": _rendered(_read, "Run an SLS file of this machine."),
    "template_str": _rendered(str, "Run the text of an SLS."),
    "top": top,
}
