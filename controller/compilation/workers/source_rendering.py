"""Texts of single states for previews: what a minion's templates write, and which of some pillar keys were read for it.

Called by `compile_worker` in its process, with the pillar and the chunks of a document that was compiled before: what
comes out belongs to that document where the digest of the content is the same. Of a text that is too large its size is
told, and nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from controller.compilation.compile_messages import (
    MOST_RENDERED,
    CompiledMinion,
    CompileRequest,
    RenderedFile,
    RenderedState,
    RenderQuestion,
)
from highstate.compile.compiler import Compilation
from highstate.compile.content import source_texts
from highstate.compile.content_parts import SourceText
from highstate.memo.memo import Memo
from highstate.memo.sources import Read
from highstate.memo.tracked import ReadFiles, Recorder
from highstate.ports import CompilePorts
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.tops.top import top_targets
from highstate.types import Chunk, Minion, Value

_LARGEST = 64 * 1024
"""Characters of a text."""
_MOST_TARGETS = 500


def rendered(request: CompileRequest, minion: Minion, memo: Memo, ports: CompilePorts) -> CompiledMinion:
    """What the request asks of this minion, as far as it can be told here."""
    question = request.rendering[minion.id]
    compilation = Compilation(
        files=request.files,
        pillar_files=request.pillar,
        minion=minion,
        settings=request.language,
        memo=memo,
        ports=ports,
    )
    first = compilation.context(request.files, question.pillar, "base")
    contexts = {saltenv: first.of_saltenv(saltenv) for saltenv in request.files.saltenvs()}
    states = tuple(_Rendering(question, contexts).states()) if contexts else ()
    targets: tuple[tuple[str, str], ...] = ()
    if question.top and contexts:
        with contextlib.suppress(RenderFailed, RecursionError):
            settings = request.language
            strategy, default_top = settings.top_file_merging_strategy, settings.default_top
            targets = top_targets(first, top_file=settings.state_top, strategy=strategy, default_top=default_top)
    return CompiledMinion(minion_id=minion.id, rendered=states, top_targets=targets[:_MOST_TARGETS])


@dataclass(slots=True)
class _Rendering:
    """One minion's answer."""

    question: RenderQuestion
    contexts: Mapping[str, RenderContext]
    left: int = MOST_RENDERED

    def states(self) -> Iterator[RenderedState]:
        of_sls: dict[tuple[str, str], frozenset[str]] = {}
        for key, chunk in self.question.chunks.items():
            place = chunk.saltenv, chunk.sls
            if place not in of_sls:
                of_sls[place] = self._read_by_sls(*place)
            yield self._state(key, chunk, of_sls[place])

    def _state(self, key: str, chunk: Chunk, read: frozenset[str]) -> RenderedState:
        recorder = Recorder(next(iter(self.contexts.values())).sources)
        with contextlib.suppress(RenderFailed, FileNotFoundError, RecursionError):
            digest, texts = source_texts(chunk, self._recording(recorder))
            files = tuple(map(self._file, texts))
            read |= self._read(recorder.reads)
            return RenderedState(key=key, digest=digest, files=files, pillar=tuple(sorted(read)))
        return RenderedState(key=key, pillar=tuple(sorted(read)))

    def _file(self, text: SourceText) -> RenderedFile:
        size = len(text.text or "")
        fits = text.text is not None and size <= min(_LARGEST, self.left)
        self.left -= size if fits else 0
        return RenderedFile(
            name=text.name,
            source=text.source,
            text=text.text if fits else None,
            size=size if text.text is not None else -1,
            live=text.live,
        )

    def _recording(self, recorder: Recorder) -> dict[str, RenderContext]:
        files = ReadFiles(recorder)
        return {saltenv: context.recording(recorder, files) for saltenv, context in self.contexts.items()}

    def _read_by_sls(self, saltenv: str, sls: str) -> frozenset[str]:
        """Those of the pillar keys that a render of the SLS reads."""
        context = self.contexts.get(saltenv)
        if context is None or not self.question.pillar_keys:
            return frozenset()
        recorder = Recorder(context.sources)
        folder = sls.replace(".", "/")
        path = next((path for path in (f"{folder}.sls", f"{folder}/init.sls") if context.files.oid(path, saltenv)), "")
        with contextlib.suppress(RenderFailed, RecursionError):
            if path:
                render_sls(path, self._recording(recorder)[saltenv], sls=sls)
        return self._read(recorder.reads)

    def _read(self, reads: Iterable[Read]) -> frozenset[str]:
        """Those of the pillar keys that are among these reads."""
        if not self.question.pillar_keys:
            return frozenset()
        known = [read for read in reads if len(read) > 2 and read[1] == "pillar"]
        return frozenset(
            ":".join(map(str, path))
            for path in self.question.pillar_keys
            if any(_depends(read, path) for read in known)
        )


def _depends(read: Read, path: Sequence[Value]) -> bool:
    """Whether what this read gave may be another when the value at a path is another."""
    kind, where = read[0], tuple(read[2])
    if kind == "has":
        where = (*where, read[3])
    shorter = min(len(where), len(path))
    if where[:shorter] != tuple(path[:shorter]):
        return False
    match kind:
        case "value":
            return True
        case "keys":
            return len(path) == len(where) + 1
        case "peek" | "has":
            return len(path) <= len(where)
        case _:
            return False
