"""What chunks write besides their arguments: digests of the source files, and of templates *rendered for the minion*.

Called by `compile_minion` with the finished lowstate. So a push that changes a template, or a pillar value that a
template prints, changes the digest of exactly the chunks whose file changes; and a file template that cannot be
rendered is found here, before it goes live. It writes nothing and keeps no text: the minion renders again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from highstate.bounded_regex import SlowPattern
from highstate.compile.positions import source_excerpt
from highstate.memo.tracked import Recorder
from highstate.patterns import is_part
from highstate.render import RenderContext, RenderFailed, problems, render_template
from highstate.salt_urls import split_salt_url
from highstate.traverse import traverse
from highstate.types import Chunk, Content, Files, Pos, Problem, Stage, Value

_MISSING = object()


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentSource:
    """A `salt://` URL: a path in the tree, and the environment that it is looked up in."""

    path: str
    saltenv: str

    @classmethod
    def parse(cls, url: Value, saltenv: str) -> ContentSource | None:
        """None when it is no `salt://` URL. `?saltenv=` names another environment than the chunk's."""
        if not isinstance(url, str) or not url.startswith("salt://"):
            return None
        path, named = split_salt_url(url, saltenv)
        return cls(path=path, saltenv=named)

    def __str__(self) -> str:
        return f"salt://{self.path} (saltenv {self.saltenv})"


@dataclass(slots=True)
class _Parts:
    """What is known so far of one chunk's content."""

    digest: list[str] = field(default_factory=list)
    files: dict[tuple[str, str], str] = field(default_factory=dict)
    modes: dict[tuple[str, str], int] = field(default_factory=dict)
    volatile: list[str] = field(default_factory=list)

    def content(self) -> Content:
        whole = hashlib.sha256("\0".join(self.digest).encode(errors="surrogatepass")).hexdigest()
        volatile = tuple(dict.fromkeys(self.volatile))
        return Content(digest=whole, files=self.files, modes=self.modes, volatile=volatile)


def contents_of(
    chunks: Sequence[Chunk], contexts: Mapping[str, RenderContext]
) -> tuple[dict[str, Content], tuple[Problem, ...]]:
    """Chunk tag -> content for the chunks that have any, and what is wrong with their sources.

    `contexts` has one for each saltenv.
    """
    contents: dict[str, Content] = {}
    found: list[Problem] = []
    for chunk in chunks:
        if chunk.tag in contents:
            continue
        content = content_of(chunk, contexts, found)
        if content is not None:
            contents[chunk.tag] = content
    return contents, tuple(dict.fromkeys(found))


def content_of(chunk: Chunk, contexts: Mapping[str, RenderContext], found: list[Problem]) -> Content | None:
    """The content of a chunk, None when it has none; what is wrong with its sources is added to `found`."""
    if chunk.saltenv not in contexts:
        return None
    reader = _Reader(chunk, contexts, found)
    reader.read()
    return reader.parts.content() if reader.parts.digest else None


class _Reader:
    """Reads what one chunk uses."""

    def __init__(self, chunk: Chunk, contexts: Mapping[str, RenderContext], found: list[Problem]) -> None:
        self.chunk = chunk
        self.contexts = contexts
        self.context = contexts[chunk.saltenv]
        self.files: Files = self.context.files
        self.arguments = chunk.arguments
        self.found = found
        self.parts = _Parts()

    def read(self) -> None:
        """Fill `parts`."""
        match self.chunk.state, self.chunk.fun:
            case "file", "managed":
                self._managed()
            case "file", "recurse":
                self._recurse()
            case "cmd", "script":
                self._script()
            case _:
                self._mentioned()

    def _managed(self) -> None:
        self._looked_up("contents_pillar", "pillar")
        self._looked_up("contents_grains", "grains")
        has_text = any(
            self.arguments.get(key) is not None for key in ("contents", "contents_pillar", "contents_grains")
        )
        if has_text:
            if self.arguments.get("template"):  # the text is a template itself, rendered on the minion
                self._whole_minion()
            return
        self._first_source(self.arguments.get("source"), self.arguments.get("template"))

    def _script(self) -> None:
        self._first_source(self.arguments.get("source", self.chunk.name), self.arguments.get("template"))

    def _first_source(self, sources: Value, template: Value) -> None:
        """Of several sources the first that exists counts; one that is not in the tree may exist on the machine."""
        urls = sources if isinstance(sources, list) else [sources]
        urls = [next(iter(url), None) if isinstance(url, dict) else url for url in urls]
        for url in urls:
            source = ContentSource.parse(url, self.chunk.saltenv)
            if source is None:
                if url is not None:
                    return
            elif source.saltenv in self.contexts and self.files.oid(source.path, source.saltenv) is not None:
                self._file(source, template, url)
                return
        missing = [source for url in urls if (source := ContentSource.parse(url, self.chunk.saltenv))]
        if missing:
            self._problem(
                f"{self._label()}: the source {' or '.join(map(str, missing))} is not in the tree",
                hint=self._near(missing[0]),
            )

    def _recurse(self) -> None:
        source = ContentSource.parse(self.arguments.get("source"), self.chunk.saltenv)
        if source is None:
            return
        wanted, unwanted = self.arguments.get("include_pat"), self.arguments.get("exclude_pat")
        try:
            paths = [
                path
                for path in self.files.list(source.path, source.saltenv)
                if path != source.path and is_part(path[len(source.path) :].lstrip("/"), wanted, unwanted)
            ]
        except (re.error, SlowPattern) as error:
            self._problem(f"{self._label()}: a pattern of its files cannot be used: {error}")
            return
        if not paths and not self.files.list(source.path, source.saltenv):
            self._problem(f"{self._label()}: the source {source} is not in the tree", hint=self._near(source))
        for path in paths:
            self.parts.digest.append(path[len(source.path) :])
            below = replace(source, path=path)
            relative = path[len(source.path) :].lstrip("/")
            name = f"{str(self.chunk.name).rstrip('/')}/{relative}"
            self._file(below, self.arguments.get("template"), f"salt://{path}", name)

    def _mentioned(self) -> None:
        """Any other state: whatever files its arguments name by a salt:// URL."""
        for url in _urls(self.arguments):
            source = ContentSource.parse(url, self.chunk.saltenv)
            if source is not None:
                for path in self.files.list(source.path, source.saltenv):
                    self._plain(replace(source, path=path))

    def _file(self, source: ContentSource, template: Value, url: str, name: str = "") -> None:
        """`name` is where the file goes, when that is not the chunk's name."""
        self._keeps_mode(source)
        if template == "jinja":
            self._rendered(source, url, name or self.chunk.name)
            return
        self._plain(source)
        if template:
            self._whole_minion()

    def _keeps_mode(self, source: ContentSource) -> None:
        """`mode: keep` (`file_mode` of file.recurse): the mode in the tree is part of what the chunk writes."""
        if "keep" not in (self.arguments.get("mode"), self.arguments.get("file_mode")):
            return
        mode = self.files.mode(source.path, source.saltenv)
        if mode is not None:
            self.parts.modes[source.saltenv, source.path] = mode
            self.parts.digest.append(f"mode {mode:o}")

    def _plain(self, source: ContentSource) -> None:
        oid = self.files.oid(source.path, source.saltenv)
        if oid is None:
            return
        self.parts.files[source.saltenv, source.path] = oid
        self.parts.digest.append(f"file {oid}")

    def _rendered(self, source: ContentSource, url: str, name: str) -> None:
        context, variables = self.contexts[source.saltenv], self._variables(url, name)
        try:
            rendered = render_template(source.path, context, extra=variables)
        except RenderFailed as error:
            if not error.live:
                pos = replace(error.problem.pos, include_chain=self._chain())
                self.found.append(replace(error.problem, pos=pos))
                return
            self._not_known_here(source, context, variables)
            self._volatile(error.live)
            return
        self.parts.files.update(rendered.files)
        if rendered.volatile:
            self.parts.digest.extend(f"file {oid}" for _, oid in sorted(rendered.files.items()))
            self._volatile(*rendered.volatile)
        else:
            # Answered facts are in the text, and so in the digest: it changes when an answer does.
            self.parts.volatile.extend(rendered.facts)
            self.parts.digest.append("text " + rendered.text)

    def _not_known_here(self, source: ContentSource, context: RenderContext, variables: Mapping[str, Value]) -> None:
        """The files that the render read before it came to the function of the live machine."""
        self._plain(source)
        reads = Recorder(context.sources)
        with contextlib.suppress(RenderFailed):
            render_template(source.path, replace(context, reads=reads), extra=variables)
        for kind, *where in reads.reads:
            if kind == "file":
                saltenv, path = where
                self._plain(ContentSource(path=path, saltenv=saltenv))

    def _variables(self, url: str, name: str) -> dict[str, Value]:
        """What a file template sees besides the usual: Salt's own names, then `defaults`, then `context`."""
        variables: dict[str, Value] = {"name": name, "source": url}
        variables |= {key: self.arguments.get(key) for key in ("user", "group", "mode", "attrs")}
        for key in "defaults", "context":
            value = self.arguments.get(key)
            if isinstance(value, dict):
                variables |= value
            elif value:
                self._problem(f"{self._label()}: {key} is not formed as a dictionary")
        return variables

    def _looked_up(self, argument: str, root: str) -> None:
        keys = self.arguments.get(argument)
        for key in keys if isinstance(keys, list) else [keys]:
            if not isinstance(key, str):
                continue
            self._record(root, key.split(":")[0])
            value = traverse(self.context.sources.roots[root], key, _MISSING)
            if value is _MISSING:
                self._problem(f"{self._label()}: {argument} names {key!r}, which this minion does not have")
            else:
                self.parts.digest.append(f"value {_plain_text(value)}")

    def _volatile(self, *functions: str) -> None:
        self.parts.volatile.extend(functions)
        self._whole_minion()

    def _whole_minion(self) -> None:
        """The result may depend on anything that is known of the minion."""
        for root in "pillar", "grains":
            self._record(root)
            self.parts.digest.append(f"{root} {_plain_text(self.context.sources.roots[root])}")

    def _record(self, root: str, *path: str) -> None:
        """Tell whoever memoises the compile that this was read."""
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

    def _label(self) -> str:
        return f"{self.chunk.state}.{self.chunk.fun} of ID {self.chunk.id!r} in SLS {self.chunk.sls!r}"

    def _problem(self, message: str, hint: str = "") -> None:
        pos = self.chunk.pos or Pos(file=self.chunk.sls, saltenv=self.chunk.saltenv, stage=Stage.COMPILE)
        self.found.append(Problem(message=message, pos=pos, excerpt=source_excerpt(self.files, pos), hint=hint))


def _urls(value: Value) -> list[str]:
    """The salt:// URLs anywhere in a value, in order."""
    if isinstance(value, str):
        return [value] if value.startswith("salt://") else []
    inside: Iterable[Value] = ()
    if isinstance(value, (dict, Mapping)):
        inside = value.values()
    elif isinstance(value, (list, tuple)):
        inside = value
    found: list[str] = []
    for one in inside:
        if isinstance(one, str):
            if one.startswith("salt://"):
                found.append(one)
        elif one is not None:
            found += _urls(one)
    return found


def _plain_text(value: Value) -> str:
    """Equal values give equal texts; the order of a mapping counts, since a template may loop over it."""
    return json.dumps(value, default=repr, ensure_ascii=False)
