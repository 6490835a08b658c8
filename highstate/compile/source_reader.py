"""One source of a chunk into its content: a file as it is, or a template rendered for the minion.

Called by `content`, which knows what sources each state function has. A template that cannot be rendered is a problem
of the tree; one that needs the live machine makes the content volatile.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import replace

from highstate.compile.content_parts import ContentParts, SourceProblems, SourceText, plain_text
from highstate.compile.positions import source_excerpt
from highstate.compile.template_variables import template_variables
from highstate.content_arguments import ContentSource
from highstate.files import is_binary_template
from highstate.memo.tracked import Recorder
from highstate.render import problems
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_template
from highstate.types import ABSENT, Chunk, Files, Pos, Problem, Stage, Value


class SourceReader:
    """Reads sources of one chunk into `parts`."""

    __slots__ = ("arguments", "chunk", "context", "contexts", "files", "found", "parts")

    def __init__(self, chunk: Chunk, contexts: Mapping[str, RenderContext], found: SourceProblems) -> None:
        self.chunk = chunk
        self.contexts = contexts
        self.context = contexts[chunk.saltenv]
        self.files: Files = self.context.files
        self.arguments = chunk.arguments
        self.found = found
        self.parts = ContentParts()

    def absent(self, source: ContentSource) -> None:
        """The minion need not ask for it; when it comes, the chunk is another."""
        if source.saltenv in self.contexts:
            self.parts.files[source.saltenv, source.path] = ABSENT
            self.parts.digest.append(f"absent {source}")

    def file(self, source: ContentSource, template: Value, url: str, name: str = "") -> None:
        """`name` is where the file goes, when that is not the chunk's name."""
        self._keeps_mode(source)
        if template == "jinja" and self._is_text(source):
            self.rendered(source, url, name or self.chunk.name)
            return
        self.plain(source)
        if template:
            self.parts.texts.append(SourceText(name=name or self.chunk.name, source=source.path))
            self.whole_minion()

    def _is_text(self, source: ContentSource) -> bool:
        """Whether it can be a template: an image in a folder of templates is a file like any other."""
        try:
            return not is_binary_template(self.files.read(source.path, source.saltenv))
        except FileNotFoundError:
            return True

    def _keeps_mode(self, source: ContentSource) -> None:
        """`mode: keep` (`file_mode` of file.recurse): the mode in the tree is part of what the chunk writes."""
        if "keep" not in (self.arguments.get("mode"), self.arguments.get("file_mode")):
            return
        mode = self.files.mode(source.path, source.saltenv)
        if mode is not None:
            self.parts.modes[source.saltenv, source.path] = mode
            self.parts.digest.append(f"mode {mode:o}")

    def plain(self, source: ContentSource) -> None:
        """A file of the tree, as it is."""
        oid = self.files.oid(source.path, source.saltenv)
        if oid is None:
            return
        self.parts.files[source.saltenv, source.path] = oid
        self.parts.digest.append(f"file {oid}")

    def rendered(self, source: ContentSource, url: str, name: str) -> None:
        """A template, rendered for the minion; `name` is where it goes."""
        context, variables = self.contexts[source.saltenv], self._variables(url, name)
        if self.chunk.state == "file" and self._names_accumulator(source):
            self.parts.texts.append(SourceText(name=name, source=source.path, live=("file.accumulated",)))
            self._not_known_here(source, context, variables)
            self.whole_minion()
            return
        try:
            rendered = render_template(source.path, context, extra=variables)
        except RenderFailed as error:
            if not error.live:
                pos = replace(error.problem.pos, include_chain=self._chain())
                self.found.errors.append(replace(error.problem, pos=pos))
                return
            self.parts.texts.append(SourceText(name=name, source=source.path, live=(error.live,)))
            self._not_known_here(source, context, variables)
            self._volatile(error.live)
            return
        text = None if rendered.volatile else rendered.text
        self.parts.texts.append(SourceText(name=name, source=source.path, text=text, live=rendered.volatile))
        self.parts.files.update(rendered.files)
        if rendered.volatile:
            self.parts.digest.extend(f"file {oid}" for _, oid in sorted(rendered.files.items()))
            self._volatile(*rendered.volatile)
        else:
            # Answered facts are in the text, and so in the digest: it changes when an answer does.
            self.parts.volatile.extend(rendered.facts)
            self.parts.digest.append("text " + rendered.text)

    def _names_accumulator(self, source: ContentSource) -> bool:
        """Whether the template may use what file.accumulated gathers, which is known in the run alone."""
        try:
            return b"accumulator" in self.files.read(source.path, source.saltenv)
        except FileNotFoundError:
            return False

    def _not_known_here(self, source: ContentSource, context: RenderContext, variables: Mapping[str, Value]) -> None:
        """The files that the render read before it came to what only the live machine knows."""
        self.plain(source)
        reads = Recorder(context.sources)
        with contextlib.suppress(RenderFailed):
            render_template(source.path, replace(context, reads=reads), extra=variables)
        for kind, *where in reads.reads:
            if kind == "file":
                saltenv, path = where
                self.plain(ContentSource(path=path, saltenv=saltenv))

    def _variables(self, url: str, name: str) -> dict[str, Value]:
        """What a file template sees besides the usual: Salt's own names, extra arguments, `defaults`, `context`."""
        variables: dict[str, Value] = {"name": name, "source": url}
        variables |= {key: self.arguments.get(key) for key in ("user", "group", "mode", "attrs")}
        if self.chunk.state == "file":
            variables |= template_variables(self.arguments)
        for key in "defaults", "context", "template_context":
            value = self.arguments.get(key)
            if isinstance(value, dict):
                variables |= value
            elif value:
                self.problem(f"{self.label()}: {key} is not formed as a dictionary")
        return variables

    def _volatile(self, *functions: str) -> None:
        self.parts.volatile.extend(functions)
        self.whole_minion()

    def whole_minion(self) -> None:
        """The result may depend on anything that is known of the minion."""
        for root in "pillar", "grains":
            self.record(root)
            self.parts.digest.append(f"{root} {plain_text(self.context.sources.roots[root])}")

    def record(self, root: str, *path: str) -> None:
        """Record that this was read, for the memo of the compile."""
        if self.context.reads is not None:
            self.context.reads.record(("value", root, path))

    def _near(self, source: ContentSource) -> str:
        names = self.files.list("", source.saltenv)
        hint = problems.near(source.path, names)
        others = [env for env in self.files.saltenvs() if env != source.saltenv and self.files.oid(source.path, env)]
        return hint or (f"it is there in saltenv {', '.join(others)}" if others else "")

    def _chain(self) -> tuple[str, ...]:
        """So that the author of a file template sees which SLS uses it."""
        above = self.chunk.pos.include_chain if self.chunk.pos else ()
        return above or (self.chunk.sls,)

    def label(self) -> str:
        """How messages name the chunk."""
        return f"{self.chunk.state}.{self.chunk.fun} of ID {self.chunk.id!r} in SLS {self.chunk.sls!r}"

    def missing(self, named: str, first: ContentSource) -> None:
        """Tell that the sources `named` are not in the tree."""
        message = f"{self.label()}: the source {named} is not in the tree"
        hint = self._near(first) or "bring it, or have its state alone fail: missing_source in saltern.yaml"
        self.found.missing(self._problem_of(message, hint=hint))

    def problem(self, message: str) -> None:
        """Tell what is wrong with the chunk."""
        self.found.errors.append(self._problem_of(message))

    def _problem_of(self, message: str, hint: str = "") -> Problem:
        pos = self.chunk.pos or Pos(file=self.chunk.sls, saltenv=self.chunk.saltenv, stage=Stage.COMPILE)
        return Problem(message=message, pos=pos, excerpt=source_excerpt(self.files, pos), hint=hint)
