"""Documents of Kubernetes: YAML of the tree, of the minion or of the web, rendered where a template engine is named."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Any, NamedTuple

from minion.arguments.types import Map
from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.kubernetes.kinds import ObjectKind

_ENGINES = ("jinja", "mako", "py")


class ObjectSource(NamedTuple):
    """Where a document is, and how it is rendered."""

    source: str = ""
    template: str = ""
    template_context: Map = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    saltenv: str = "base"


def document(machine: Reader, source: ObjectSource, kind: ObjectKind) -> dict[str, Any]:
    """The one object of a source. StateFailed: it is of another kind, or no object."""
    found = documents(machine, source)
    if len(found) != 1 or found[0].get("kind") != kind.kind:
        raise StateFailed(f"The source file should define only a {kind.kind} object")
    return found[0]


def given_documents(machine: Reader, given: Any, source: ObjectSource) -> list[dict[str, Any]]:
    """The objects of a source, or of a mapping, a list of them, or YAML. StateFailed: there are none."""
    if source.source and given is not None:
        raise StateFailed("'source' and 'manifest' are mutually exclusive")
    if source.source:
        found = documents(machine, source)
    elif given is None:
        raise StateFailed("Provide either 'source' or 'manifest'")
    elif isinstance(given, str):
        found = parsed(given, "manifest")
    elif isinstance(given, list | Mapping):
        found = objects_of([given] if isinstance(given, Mapping) else given, "manifest")
    else:
        raise StateFailed(f"manifest must be a dict, list, or YAML string, not {type(given).__name__}")
    if not found:
        raise StateFailed("No manifests to apply")
    return found


def documents(machine: Reader, source: ObjectSource) -> list[dict[str, Any]]:
    """The objects of a source. StateFailed: there is no such file, or it holds something else."""
    return parsed(_text(machine, source), source.source)


def parsed(text: str | bytes, where: str) -> list[dict[str, Any]]:
    """The objects of a text; a `List` stands for its items."""
    import yaml

    try:
        read = list(yaml.safe_load_all(text))
    except yaml.YAMLError as error:
        raise StateFailed(f"{where} is no YAML: {' '.join(str(error).split())}") from None
    return objects_of([one for one in read if one], where)


def objects_of(read: list[Any], where: str) -> list[dict[str, Any]]:
    """Objects of a list; a `List` stands for its items."""
    found: list[dict[str, Any]] = []
    for one in read:
        if not isinstance(one, Mapping):
            raise StateFailed(f"{where} did not render to a dictionary")
        if one.get("kind") == "List" and isinstance(one.get("items"), list):
            found += objects_of(one["items"], where)
        else:
            found.append(dict(one))
    return found


def _text(machine: Reader, source: ObjectSource) -> bytes:
    url, engine = source.source, source.template
    if engine and engine not in _ENGINES:
        raise StateFailed(f"Unknown template specified: {engine}; it can be {', '.join(_ENGINES)}")
    if url.startswith("salt://") and engine == "jinja":
        return machine.render(url.removeprefix("salt://"), source.saltenv, source.template_context)
    try:
        text = _content(machine, url, source.saltenv)
    except OSError:
        raise StateFailed(f"Source file '{url}' not found") from None
    if not engine:
        return text
    return machine.render_text(text.decode(), engine, source.saltenv, source.template_context)


def _content(machine: Reader, url: str, saltenv: str) -> bytes:
    if url.startswith("salt://"):
        return machine.source(url.removeprefix("salt://"), saltenv)
    if url.startswith(("http://", "https://", "ftp://")):
        found = machine.fetch(url)
        if found is None:
            raise StateFailed(f"Source file '{url}' not found")
        return found
    if not posixpath.isabs(url):
        raise StateFailed(f"source: {url} is neither a URL nor an absolute path")
    return machine.read(url)
