"""An Elasticsearch or OpenSearch server: indices, aliases, templates, pipelines and scripts, by its REST API.

Called by the state and the execution module `elasticsearch`. The official client for Python refuses OpenSearch, and
each of its versions knows one version of the server; the paths asked here are the same in all of them.
API: https://www.elastic.co/docs/api/doc/elasticsearch
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from minion.arguments.types import AnyValue, Reads, Texts, Unfit
from minion.machine.configured import configured
from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.stores.rest import NOT_FOUND, RestRefused, RestServer, checked_url

_BRINGING = re.compile(r"archive|cmd|docker_container|elasticsearch|file|module|pkg|pkgrepo|service")
"""State modules that may bring what a question lacks: the server, an index."""
_PORT = 9200


class ElasticsearchLogin(NamedTuple):
    """Arguments of all functions: where the server is.

    `profile`: the name of an option that is a mapping (`elasticsearch` without it), or such a mapping; its `host` or
    `hosts` stand above the argument `hosts`.
    """

    hosts: Texts = ()
    profile: AnyValue = None


class Elasticsearch:
    """A server, or a cluster of them."""

    def __init__(self, server: RestServer) -> None:
        self._server = server
        self.lacking = server.lacking

    def ask(self, method: str, *path: str, body: Any = None, query: Mapping[str, Any] | None = None) -> Any:
        """The answer. `path`: its parts; empty ones are left out. What is null in `query` is not asked.

        Raises as `RestServer.ask`.
        """
        parts = [quote(part, safe=",*") for part in path if part]
        asked = {key: _as_query(value) for key, value in (query or {}).items() if value is not None}
        content = "application/x-ndjson" if isinstance(body, bytes) else "application/json"
        return self._server.ask(method, "/" + "/".join(parts), body, query=asked, content=content)

    def find(self, *path: str, query: Mapping[str, Any] | None = None) -> Any:
        """The answer to GET; None where there is nothing. Raises as `ask`."""
        return self._or_none("GET", *path, query=query)

    def has(self, *path: str, query: Mapping[str, Any] | None = None) -> bool:
        """Whether there is something. Raises as `ask`."""
        try:
            self.ask("HEAD", *path, query=query)
        except RestRefused as error:
            if error.status != NOT_FOUND:
                raise
            return False
        return True

    def delete(self, *path: str, query: Mapping[str, Any] | None = None) -> Any:
        """The answer to DELETE; None where there was nothing. Raises as `ask`."""
        return self._or_none("DELETE", *path, query=query)

    def aliases_of(self, index: str) -> dict[str, dict[str, Any]]:
        """Index → its aliases, of all indices of this name or pattern. StateFailed where there is none."""
        found = self.find(index, "_alias")
        if not found:
            raise self.lacking(f"There is no index {index}")
        return {name: dict(one.get("aliases") or {}) for name, one in found.items()}

    def _or_none(self, method: str, *path: str, query: Mapping[str, Any] | None) -> Any:
        try:
            return self.ask(method, *path, query=query)
        except RestRefused as error:
            if error.status != NOT_FOUND:
                raise
            return None


def elasticsearch_at(
    machine: Reader, login: ElasticsearchLogin, to_come: Collection[tuple[str, str]] = ()
) -> Elasticsearch:
    """The server that arguments and the configuration ask for. StateFailed where the address is none."""
    chosen = login.profile if login.profile is not None else "elasticsearch"
    profile = chosen if isinstance(chosen, Mapping) else configured(machine, str(chosen), None)
    if isinstance(chosen, str) and login.profile is not None and not isinstance(profile, Mapping):
        raise StateFailed(f"There is no profile {chosen}: an option of this name must be a mapping")
    options = profile if isinstance(profile, Mapping) else {}
    hosts = _hosts(options.get("host")) or _hosts(options.get("hosts")) or login.hosts or ("127.0.0.1",)
    tls = bool(options.get("use_ssl"))
    urls = [checked_url("Elasticsearch", host, port=_PORT, tls=tls) for host in hosts]
    for url in urls:
        machine.look_elsewhere(url)
    user, password = options.get("username"), options.get("password")
    server = RestServer(
        what="Elasticsearch",
        urls=urls,
        user=str(user) if user and password else "",
        password=str(password or ""),
        timeout=float(options.get("timeout") or 10),
        verify=bool(options.get("verify_certs", True)),
        ca_certs=options.get("ca_certs"),
        proxies=_proxies(options.get("proxies")),
        to_come=to_come,
        bringing=_BRINGING,
    )
    return Elasticsearch(server)


def as_definition(value: Any) -> Mapping[str, Any]:
    """A mapping, or JSON of one; what is false is an empty one."""
    try:
        found = json.loads(value) if isinstance(value, str) and value else value
    except ValueError:
        found = value
    if not isinstance(found or {}, Mapping):
        raise Unfit("a mapping, or JSON of one")
    return found or {}


Definition = Annotated[Mapping[str, Any], Reads(as_definition, null=True)]


def definition_in(machine: Reader, source: str, saltenv: str) -> Mapping[str, Any]:
    """The definition in a JSON file of `salt://`, the web or the machine. StateFailed where there is none."""
    try:
        if source.startswith("salt://"):
            found: bytes | None = machine.source(source.removeprefix("salt://"), saltenv)
        elif source.startswith(("http://", "https://")):
            found = machine.fetch(source)
        else:
            found = machine.read(source)
    except (FileNotFoundError, IsADirectoryError):
        found = None
    if found is None:
        raise StateFailed(f"There is no file {source}")
    try:
        return as_definition(found.decode())
    except (UnicodeDecodeError, Unfit):
        raise StateFailed(f"{source} is no mapping in JSON") from None


def plain(value: Any) -> Any:
    """The value as it comes back from the server: of what JSON has."""
    return json.loads(json.dumps(value, default=str))


def flat_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of an index by their full names, values as text, as the server keeps them."""
    found: dict[str, Any] = {}
    for key, value in settings.items():
        if isinstance(value, Mapping):
            found |= {f"{key}.{rest}": one for rest, one in flat_settings(value).items()}
        elif value is not None:
            found[str(key)] = [_as_setting(one) for one in value] if isinstance(value, list) else _as_setting(value)
    return found


def template_as_kept(template: Mapping[str, Any]) -> dict[str, Any]:
    """A (legacy) template of indices in one shape, however it was written; without what is empty or a default."""
    given = dict(plain(template))
    patterns = given.pop("index_patterns", None) or given.pop("template", None) or []
    settings = {
        key if key.startswith("index.") else f"index.{key}": value
        for key, value in flat_settings(given.pop("settings", None) or {}).items()
    }
    shaped = {
        **given,
        "index_patterns": [patterns] if isinstance(patterns, str) else patterns,
        "settings": settings,
        "order": given.get("order") or 0,
    }
    return {key: value for key, value in shaped.items() if value not in ({}, [], None)}


def script_as_kept(definition: Mapping[str, Any]) -> dict[str, Any]:
    """A stored script in one shape: `lang` (without it mustache: a search template), and `source`, read where JSON."""
    body = definition["script"] if isinstance(definition.get("script"), Mapping) else definition
    source: Any = next((body[key] for key in ("source", "inline", "template") if key in body), body)
    if isinstance(source, str):
        try:
            parsed = json.loads(source)
        except ValueError:
            parsed = source
        source = parsed if isinstance(parsed, Mapping) else source
    return {"lang": str(body.get("lang") or "mustache"), "source": plain(source)}


def _hosts(value: Any) -> Sequence[str]:
    return [str(one) for one in value if one] if isinstance(value, list | tuple) else [str(value)] if value else []


def _proxies(value: Any) -> dict[str, str]:
    """Of a mapping, or of a list of mappings."""
    each = value if isinstance(value, list | tuple) else [value] if value else []
    return {str(scheme): str(url) for one in each for scheme, url in dict(one).items()}


def _as_query(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def _as_setting(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
