"""What states read besides their arguments: digests of the source files, and of templates *rendered for the minion*.

The digest of a chunk covers all that its plan can read of the tree and of what is known of the minion, for every
state function (tests/highstate/compile/test_content_of_states.py goes through all of them). Called by `compile_minion`
with the finished lowstate. So a push that changes a template, or a pillar value that a template prints, changes the
digest of exactly the chunks whose file changes; and a template of file.managed, file.recurse or cmd.script that cannot
be rendered is found here, before it goes live. It writes nothing and a compile keeps no text: the minion renders again.
Previews ask for the texts of single chunks (`source_texts`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from highstate.compile.positions import source_excerpt
from highstate.compile.template_variables import template_variables
from highstate.compile_options import MissingSource
from highstate.content_arguments import SLOT, ContentSource, calls_functions, has_slot, marked, urls_in
from highstate.files import is_binary_template, through_link
from highstate.memo.tracked import Recorder
from highstate.missing_sources import missing_source_warning
from highstate.patterns import is_part
from highstate.render import problems
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_template
from highstate.traverse import traverse
from highstate.types import ABSENT, Chunk, Content, Files, Pos, Problem, Stage, Value
from matching.linear_regex import PatternRefused

StateModules: TypeAlias = "dict[tuple[str, str], ContentSource | None]"
"""Environment and state module -> the file of the tree that brings it, of those that were looked for."""

_MISSING = object()

_JINJA_UNLESS_TOLD = frozenset({("file", "append"), ("file", "prepend"), ("file", "blockreplace")})
"""State functions whose `template` is jinja where it is not given."""

_LOOKED_UP = {"contents_pillar": "pillar", "dataset_pillar": "pillar", "contents_grains": "grains"}
"""Arguments that name keys -> where the keys are looked up."""

_CHECKED_KEYS = ("present", "boolean", "integer", "string", "listing", "dictionary")
"""Arguments of test.check_pillar that name keys of pillar."""

_NO_SOURCES = frozenset({"context", "defaults", "contents", "content", "text", "dataset", "data", "comment"})
"""Arguments that hold text and values: a salt:// URL in them is not fetched by the state."""

_CONFIGURED = {"alias": "aliases.file", "host": "hosts.file", "iptables": "iptables.save_filters"}
"""State module -> the option of the minion's configuration that it reads, and that grains or pillar may set."""

_CONDITIONS = frozenset(("onlyif", "unless", "check_cmd"))

_NOT_OF_MANAGED = _NO_SOURCES | {"source", "template"}
_NOT_OF_SCRIPT = _NO_SOURCES | {"source", "name", "template"}
_NOT_OF_RECURSE = _NO_SOURCES | {"source"}

_SHOWS_CONTENT = ("salt://", SLOT)

_MATTER = frozenset(("source", "template", *_LOOKED_UP, *_CHECKED_KEYS, *_CONDITIONS))
"""Arguments whose values decide whether a state has content, other than by a URL or a slot in them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceText:
    """What a chunk makes of a template, or of pillar or grains that it names."""

    name: str
    """Path on the minion."""
    source: str = ""
    """Path in the tree; empty where it is no file of the tree."""
    text: str | None = None
    """None where the minion alone can render it."""
    live: tuple[str, ...] = ()
    """Functions of the machine that it needs for that, as far as they are known."""


@dataclass(slots=True)
class _Parts:
    """What is known so far of one chunk's content."""

    digest: list[str] = field(default_factory=list)
    texts: list[SourceText] = field(default_factory=list)
    files: dict[tuple[str, str], str] = field(default_factory=dict)
    modes: dict[tuple[str, str], int] = field(default_factory=dict)
    links: dict[tuple[str, str], str] = field(default_factory=dict)
    volatile: list[str] = field(default_factory=list)

    def content(self) -> Content:
        whole = hashlib.sha256("\0".join(self.digest).encode(errors="surrogatepass")).hexdigest()
        volatile = tuple(dict.fromkeys(self.volatile))
        return Content(digest=whole, files=self.files, modes=self.modes, links=self.links, volatile=volatile)


@dataclass(slots=True, kw_only=True)
class SourceProblems:
    """What is wrong with the sources of chunks."""

    missing_source: MissingSource = "refuse"
    errors: list[Problem] = field(default_factory=list)
    warnings: list[Problem] = field(default_factory=list)
    """Sources that are not in the tree, where that fails their states alone."""

    def missing(self, problem: Problem) -> None:
        """A source is not in the tree."""
        if self.missing_source == "fail_state":
            self.warnings.append(missing_source_warning(problem))
        else:
            self.errors.append(problem)

    @property
    def any(self) -> bool:
        """Whether something is wrong."""
        return bool(self.errors or self.warnings)


def contents_of(
    chunks: Sequence[Chunk], contexts: Mapping[str, RenderContext], found: SourceProblems
) -> dict[str, Content]:
    """Chunk tag -> content for the chunks that have any; what is wrong with their sources is added to `found`.

    `contexts` has one for each saltenv.
    """
    contents: dict[str, Content] = {}
    modules: StateModules = {}
    for chunk in chunks:
        tag = chunk.tag
        if tag in contents:
            continue
        content = content_of(chunk, contexts, found, modules)
        if content is not None:
            contents[tag] = content
    return contents


def content_of(
    chunk: Chunk, contexts: Mapping[str, RenderContext], found: SourceProblems, modules: StateModules | None = None
) -> Content | None:
    """The content of a chunk, None when it has none; what is wrong with its sources is added to `found`.

    `modules` is kept from one chunk to the next, where what they read is recorded together.
    """
    if chunk.saltenv not in contexts:
        return None
    reader = _Reader(chunk, contexts, found, {} if modules is None else modules)
    reader.read()
    return reader.parts.content() if reader.parts.digest else None


def source_texts(chunk: Chunk, contexts: Mapping[str, RenderContext]) -> tuple[str, tuple[SourceText, ...]]:
    """The digest of a chunk's content, as `content_of` gives it, and its texts; empty when it has none."""
    if chunk.saltenv not in contexts:
        return "", ()
    reader = _Reader(chunk, contexts, SourceProblems(), {})
    reader.read()
    parts = reader.parts
    return (parts.content().digest, tuple(parts.texts)) if parts.digest else ("", ())


def gives_no_content(argument: str, old: Value, new: Value) -> bool:
    """Whether a state without content surely still has none when this argument is `new` in place of `old`."""
    if old is new:
        return True
    return (
        argument not in _MATTER
        and isinstance(old, str)
        and isinstance(new, str)
        and not (old.startswith(_SHOWS_CONTENT) or new.startswith(_SHOWS_CONTENT))
    )


class _Reader:
    """Reads what one chunk uses."""

    def __init__(
        self, chunk: Chunk, contexts: Mapping[str, RenderContext], found: SourceProblems, modules: StateModules
    ) -> None:
        self.chunk = chunk
        self.contexts = contexts
        self.context = contexts[chunk.saltenv]
        self.files: Files = self.context.files
        self.arguments = chunk.arguments
        self.found = found
        self.modules = modules
        self.marked = marked((chunk.name, *chunk.arguments.values()))
        """Whether a URL or a slot can be in it."""
        self.parts = _Parts()

    def read(self) -> None:
        """Fill `parts`."""
        for argument, root in _LOOKED_UP.items():
            if argument in self.arguments:  # asked of every chunk
                self._looked_up(argument, root)
        match self.chunk.state, self.chunk.fun:
            case "file", "managed":
                self._managed()
            case "file", "recurse":
                self._recurse()
            case "cmd", "script":
                self._script()
            case "test", "check_pillar":
                self._checked_keys()
            case _:
                self._mentioned(_NO_SOURCES)
        self._unforeseen()

    def _managed(self) -> None:
        self._mentioned(_NOT_OF_MANAGED)
        has_text = any(
            self.arguments.get(key) is not None for key in ("contents", "contents_pillar", "contents_grains")
        )
        if has_text:
            if self.arguments.get("template"):  # the text is a template itself, rendered on the minion
                self.parts.texts[:] = [SourceText(name=self.chunk.name)]
                self._whole_minion()
            return
        self._first_source(self.arguments.get("source"), self.arguments.get("template"))

    def _script(self) -> None:
        self._mentioned(_NOT_OF_SCRIPT)
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
            else:
                self._absent(source)
        missing = [source for url in urls if (source := ContentSource.parse(url, self.chunk.saltenv))]
        if missing:
            self._missing(" or ".join(map(str, missing)), missing[0])

    def _recurse(self) -> None:
        self._mentioned(_NOT_OF_RECURSE)
        given = self.arguments.get("source")
        found = [
            ContentSource.parse(url, self.chunk.saltenv) for url in (given if isinstance(given, list) else [given])
        ]
        sources = [source for source in found if source is not None]
        any_found = False
        for source in sources:
            links = self._kept_links(source)
            if not self.files.list(source.path, source.saltenv) and not links:
                self._absent(source)
                continue
            any_found = True
            self._folder(source, links)
            if self.arguments.get("merge") is not True:
                return
        if sources and not any_found:
            self._missing(str(sources[0]), sources[0])

    def _kept_links(self, source: ContentSource) -> Mapping[str, str]:
        """The symlinks of a folder that file.recurse makes as such."""
        if self.arguments.get("keep_symlinks") is not True:
            return {}
        links = self.files.links(source.path, source.saltenv)
        for path, target in links.items():
            self.parts.links[source.saltenv, path] = target
            self.parts.digest.append(f"link {path[len(source.path) :]} {target}")
        return links

    def _folder(self, source: ContentSource, links: Mapping[str, str]) -> None:
        wanted, unwanted = self.arguments.get("include_pat"), self.arguments.get("exclude_pat")
        try:
            paths = [
                path
                for path in self.files.list(source.path, source.saltenv)
                if path != source.path and is_part(path[len(source.path) :].lstrip("/"), wanted, unwanted)
            ]
        except (re.error, PatternRefused) as error:
            self._problem(f"{self._label()}: a pattern of its files cannot be used: {error}")
            return
        for path in paths:
            below = replace(source, path=path)
            if links and through_link(path, links):
                # Nothing is made of it; but a document that names a folder names all that is in it.
                self.parts.files[source.saltenv, path] = self.files.oid(path, source.saltenv) or ABSENT
                continue
            self.parts.digest.append(path[len(source.path) :])
            relative = path[len(source.path) :].lstrip("/")
            name = f"{str(self.chunk.name).rstrip('/')}/{relative}"
            self._file(below, self.arguments.get("template"), f"salt://{path}", name)

    def _mentioned(self, but: Collection[str]) -> None:
        """Whatever files the arguments, `but` for some, name by a salt:// URL."""
        if not self.marked:
            return
        default = "jinja" if (self.chunk.state, self.chunk.fun) in _JINJA_UNLESS_TOLD else None
        template = self.arguments.get("template", default) if "template" not in but else None
        named = {"name": self.chunk.name, **self.arguments}
        for url in dict.fromkeys(urls_in({key: value for key, value in named.items() if key not in but})):
            source = ContentSource.parse(url, self.chunk.saltenv)
            if source is None:
                continue
            paths = self.files.list(source.path, source.saltenv)
            for path in paths:
                if template == "jinja" and path == source.path:
                    self._rendered(source, url, self.chunk.name)
                else:
                    self._plain(replace(source, path=path))
            if not paths:
                self._absent(source)
            elif template and template != "jinja":
                self._whole_minion()

    def _checked_keys(self) -> None:
        """Keys of pillar that need not be there."""
        for argument in _CHECKED_KEYS:
            keys = self.arguments.get(argument)
            for key in keys if isinstance(keys, list) else [keys]:
                if isinstance(key, str):
                    self._record("pillar", key.split(":")[0])
                    value = traverse(self.context.sources.roots["pillar"], key, _MISSING)
                    self.parts.digest.append("no value" if value is _MISSING else f"value {_plain_text(value)}")

    def _unforeseen(self) -> None:
        """Slots, functions in conditions and states of the tree's own modules may read anything of the minion."""
        option = _CONFIGURED.get(self.chunk.state, "")
        for root in ("grains", "pillar") if option else ():
            self._record(root, option)
            if option in (known := self.context.sources.roots[root]):
                self.parts.digest.append(f"option {_plain_text(known[option])}")
        module = self._module_of_the_tree()
        if module is not None:
            self._plain(module)
        if module is not None or (self.marked and has_slot(self.arguments)) or self._asks_functions():
            self._whole_minion()

    def _asks_functions(self) -> bool:
        """Whether a condition calls a function of the minion."""
        if _CONDITIONS.isdisjoint(self.arguments):
            return False
        return any(calls_functions(self.arguments.get(key)) for key in _CONDITIONS)

    def _module_of_the_tree(self) -> ContentSource | None:
        """The file of `_states` that brings this state."""
        known_as = self.chunk.saltenv, self.chunk.state
        if known_as not in self.modules:
            self.modules[known_as] = self._found_module()
        return self.modules[known_as]

    def _found_module(self) -> ContentSource | None:
        for path in f"_states/{self.chunk.state}.py", f"_states/{self.chunk.state}/__init__.py":
            if self.files.oid(path, self.chunk.saltenv) is not None:
                return ContentSource(path=path, saltenv=self.chunk.saltenv)
        return None

    def _absent(self, source: ContentSource) -> None:
        """The minion need not ask for it; when it comes, the chunk is another."""
        if source.saltenv in self.contexts:
            self.parts.files[source.saltenv, source.path] = ABSENT
            self.parts.digest.append(f"absent {source}")

    def _file(self, source: ContentSource, template: Value, url: str, name: str = "") -> None:
        """`name` is where the file goes, when that is not the chunk's name."""
        self._keeps_mode(source)
        if template == "jinja" and self._is_text(source):
            self._rendered(source, url, name or self.chunk.name)
            return
        self._plain(source)
        if template:
            self.parts.texts.append(SourceText(name=name or self.chunk.name, source=source.path))
            self._whole_minion()

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

    def _plain(self, source: ContentSource) -> None:
        oid = self.files.oid(source.path, source.saltenv)
        if oid is None:
            return
        self.parts.files[source.saltenv, source.path] = oid
        self.parts.digest.append(f"file {oid}")

    def _rendered(self, source: ContentSource, url: str, name: str) -> None:
        context, variables = self.contexts[source.saltenv], self._variables(url, name)
        if self.chunk.state == "file" and self._names_accumulator(source):
            self.parts.texts.append(SourceText(name=name, source=source.path, live=("file.accumulated",)))
            self._not_known_here(source, context, variables)
            self._whole_minion()
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
        self._plain(source)
        reads = Recorder(context.sources)
        with contextlib.suppress(RenderFailed):
            render_template(source.path, replace(context, reads=reads), extra=variables)
        for kind, *where in reads.reads:
            if kind == "file":
                saltenv, path = where
                self._plain(ContentSource(path=path, saltenv=saltenv))

    def _variables(self, url: str, name: str) -> dict[str, Value]:
        """What a file template sees besides the usual: Salt's own names, extra arguments, `defaults`, `context`."""
        variables: dict[str, Value] = {"name": name, "source": url}
        variables |= {key: self.arguments.get(key) for key in ("user", "group", "mode", "attrs")}
        if self.chunk.state == "file":
            variables |= template_variables(self.arguments)
        for key in "defaults", "context":
            value = self.arguments.get(key)
            if isinstance(value, dict):
                variables |= value
            elif value:
                self._problem(f"{self._label()}: {key} is not formed as a dictionary")
        return variables

    def _looked_up(self, argument: str, root: str) -> None:
        keys, delimiter = self.arguments.get(argument), self.arguments.get("contents_delimiter")
        delimiter = delimiter if isinstance(delimiter, str) and delimiter else ":"
        texts: list[str] = []
        for key in keys if isinstance(keys, list) else [keys]:
            if not isinstance(key, str):
                continue
            self._record(root, key.split(delimiter)[0])
            value = traverse(self.context.sources.roots[root], key, _MISSING, delimiter=delimiter)
            if value is _MISSING:
                self._problem(f"{self._label()}: {argument} names {key!r}, which this minion does not have")
            else:
                self.parts.digest.append(f"value {_plain_text(value)}")
                texts.append(_as_lines(value))
        self.parts.texts.append(SourceText(name=self.chunk.name, text="\n".join(texts)))

    def _volatile(self, *functions: str) -> None:
        self.parts.volatile.extend(functions)
        self._whole_minion()

    def _whole_minion(self) -> None:
        """The result may depend on anything that is known of the minion."""
        for root in "pillar", "grains":
            self._record(root)
            self.parts.digest.append(f"{root} {_plain_text(self.context.sources.roots[root])}")

    def _record(self, root: str, *path: str) -> None:
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

    def _label(self) -> str:
        return f"{self.chunk.state}.{self.chunk.fun} of ID {self.chunk.id!r} in SLS {self.chunk.sls!r}"

    def _missing(self, named: str, first: ContentSource) -> None:
        message = f"{self._label()}: the source {named} is not in the tree"
        hint = self._near(first) or "bring it, or have its state alone fail: missing_source in saltern.yaml"
        self.found.missing(self._problem_of(message, hint=hint))

    def _problem(self, message: str) -> None:
        self.found.errors.append(self._problem_of(message))

    def _problem_of(self, message: str, hint: str = "") -> Problem:
        pos = self.chunk.pos or Pos(file=self.chunk.sls, saltenv=self.chunk.saltenv, stage=Stage.COMPILE)
        return Problem(message=message, pos=pos, excerpt=source_excerpt(self.files, pos), hint=hint)


def _as_lines(value: Value) -> str:
    """A value as the text of a file: lists of texts are lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return json.dumps(value, default=repr, ensure_ascii=False, indent=2)


def _plain_text(value: Value) -> str:
    """Equal values give equal texts; the order of a mapping counts, since a template may loop over it."""
    return json.dumps(value, default=repr, ensure_ascii=False)
