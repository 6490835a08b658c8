"""What states read besides their arguments: digests of the source files, and of templates *rendered for the minion*.

The digest of a chunk covers all that its plan can read of the tree and of what is known of the minion, for every
state function (tests/highstate/compile/test_content_of_states.py goes through all of them). Called by `compile_minion`
with the finished lowstate. So a push that changes a template, or a pillar value that a template prints, changes the
digest of exactly the chunks whose file changes; and a template of file.managed, file.recurse or cmd.script that cannot
be rendered is found here, before it goes live. It writes nothing and a compile keeps no text: the minion renders again.
Previews ask for the texts of single chunks (`source_texts`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from highstate.compile.content_parts import SourceProblems, SourceText, plain_text
from highstate.compile.source_reader import SourceReader
from highstate.content_arguments import SLOT, ContentSource, calls_functions, has_slot, marked, urls_in
from highstate.files import through_link
from highstate.patterns import is_part
from highstate.render.context import RenderContext
from highstate.traverse import traverse
from highstate.types import ABSENT, Chunk, Content, Files, Value
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

_NO_SOURCES = frozenset(
    {"context", "defaults", "template_context", "contents", "content", "text", "dataset", "data", "comment"}
)
"""Arguments that hold text and values: a salt:// URL in them is not fetched by the state."""

_CONFIGURED = {
    "alias": ("aliases.file",),
    "docker": ("docker.machine", "docker.url", "docker.version"),
    "elasticsearch": ("elasticsearch",),
    "host": ("hosts.file",),
    "influxdb": tuple(f"influxdb.{name}" for name in ("host", "password", "port", "user")),
    "iptables": ("iptables.save_filters",),
    "kubernetes": tuple(
        f"kubernetes.{name}"
        for name in (
            "api_key",
            "api_key_prefix",
            "ca_cert",
            "client_cert",
            "client_key",
            "clusters",
            "context",
            "exec",
            "host",
            "in_cluster",
            "kubeconfig",
            "kubeconfig-data",
            "no_proxy",
            "password",
            "proxy",
            "username",
            "verify_ssl",
        )
    ),
    "mongodb": tuple(f"mongodb.{name}" for name in ("host", "password", "port", "user")),
    "mysql": tuple(
        f"mysql.{name}"
        for name in ("db", "default_file", "default_group", "host", "pass", "port", "ssl", "unix_socket", "user")
    ),
    "redis": (
        *(f"redis.{name}" for name in ("db", "host", "password", "port", "unix_socket_path", "username")),
        *(f"redis_sentinel.{name}" for name in ("host", "password", "port")),
    ),
    "postgres": tuple(
        f"postgres.{name}" for name in ("bins_dir", "host", "maintenance_db", "pass", "port", "timeout", "user")
    ),
    "slack": ("slack", "slack.api_key", "slack.api_url", "slack.hook"),
    "syslog": ("syslog_ng.binary_path", "syslog_ng.config_file"),
    "x509": ("x509_signing_policies",),
    "zabbix": ("zabbix", "zabbix.password", "zabbix.url", "zabbix.user"),
}
"""State module, or what its name begins with up to `_` -> the options of the minion's configuration that it reads, and
that grains or pillar may set."""

_PROFILED = frozenset(("elasticsearch",))
"""State modules whose argument `profile` may name such an option."""

_CONDITIONS = frozenset(("onlyif", "unless", "check_cmd"))

_NOT_OF_MANAGED = _NO_SOURCES | {"source", "template"}
_NOT_OF_SCRIPT = _NO_SOURCES | {"source", "name", "template"}
_NOT_OF_RECURSE = _NO_SOURCES | {"source"}

_SHOWS_CONTENT = ("salt://", SLOT)

_MATTER = frozenset(("source", "template", *_LOOKED_UP, *_CHECKED_KEYS, *_CONDITIONS))
"""Arguments whose values decide whether a state has content, other than by a URL or a slot in them."""


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
        self.modules = modules
        self.marked = marked((chunk.name, *chunk.arguments.values()))
        """Whether a URL or a slot can be in it."""
        self.sources = SourceReader(chunk, contexts, found)
        self.parts = self.sources.parts

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
                self.sources.whole_minion()
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
                self.sources.file(source, template, url)
                return
            else:
                self.sources.absent(source)
        missing = [source for url in urls if (source := ContentSource.parse(url, self.chunk.saltenv))]
        if missing:
            self.sources.missing(" or ".join(map(str, missing)), missing[0])

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
                self.sources.absent(source)
                continue
            any_found = True
            self._folder(source, links)
            if self.arguments.get("merge") is not True:
                return
        if sources and not any_found:
            self.sources.missing(str(sources[0]), sources[0])

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
            self.sources.problem(f"{self.sources.label()}: a pattern of its files cannot be used: {error}")
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
            self.sources.file(below, self.arguments.get("template"), f"salt://{path}", name)

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
                    self.sources.rendered(source, url, self.chunk.name)
                else:
                    self.sources.plain(replace(source, path=path))
            if not paths:
                self.sources.absent(source)
            elif template and template != "jinja":
                self.sources.whole_minion()

    def _checked_keys(self) -> None:
        """Keys of pillar that need not be there."""
        for argument in _CHECKED_KEYS:
            keys = self.arguments.get(argument)
            for key in keys if isinstance(keys, list) else [keys]:
                if isinstance(key, str):
                    self.sources.record("pillar", key.split(":")[0])
                    value = traverse(self.context.sources.roots["pillar"], key, _MISSING)
                    self.parts.digest.append("no value" if value is _MISSING else f"value {plain_text(value)}")

    def _unforeseen(self) -> None:
        """Slots, functions in conditions and states of the tree's own modules may read anything of the minion."""
        options = _CONFIGURED.get(self.chunk.state.partition("_")[0], ())
        if self.chunk.state in _PROFILED and isinstance(profile := self.arguments.get("profile"), str):
            options = (*options, profile)
        for option in options:
            for root in ("grains", "pillar"):
                self.sources.record(root, option)
                if option in (known := self.context.sources.roots[root]):
                    self.parts.digest.append(f"option {plain_text(known[option])}")
        module = self._module_of_the_tree()
        if module is not None:
            self.sources.plain(module)
        if module is not None or (self.marked and has_slot(self.arguments)) or self._asks_functions():
            self.sources.whole_minion()

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

    def _looked_up(self, argument: str, root: str) -> None:
        keys, delimiter = self.arguments.get(argument), self.arguments.get("contents_delimiter")
        delimiter = delimiter if isinstance(delimiter, str) and delimiter else ":"
        texts: list[str] = []
        for key in keys if isinstance(keys, list) else [keys]:
            if not isinstance(key, str):
                continue
            self.sources.record(root, key.split(delimiter)[0])
            value = traverse(self.context.sources.roots[root], key, _MISSING, delimiter=delimiter)
            if value is _MISSING:
                self.sources.problem(
                    f"{self.sources.label()}: {argument} names {key!r}, which this minion does not have"
                )
            else:
                self.parts.digest.append(f"value {plain_text(value)}")
                texts.append(_as_lines(value))
        self.parts.texts.append(SourceText(name=self.chunk.name, text="\n".join(texts)))


def _as_lines(value: Value) -> str:
    """A value as the text of a file: lists of texts are lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "\n".join(value)
    return json.dumps(value, default=repr, ensure_ascii=False, indent=2)
