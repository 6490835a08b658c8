"""What the functions share: the body of a request, and what is asked beside it.

Functions take further parameters of their request by name, as Salt's do by long lists: the server refuses those that
it does not know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from minion.execution.context import Context
from minion.machine.failure import StateFailed
from minion.providers.stores.elasticsearch import (
    Definition,
    Elasticsearch,
    ElasticsearchLogin,
    definition_in,
    elasticsearch_at,
)


class RequestBody(NamedTuple):
    """The body of a request: a mapping or its JSON, or the URL of a file with it."""

    body: Definition = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    source: str | None = None
    saltenv: str = "base"

    def read(self, context: Context, parts: Mapping[str, Any]) -> dict[str, Any]:
        """All of it, with parts that are arguments of their own."""
        given = {key: value for key, value in parts.items() if value is not None}
        if self.source and (self.body or given):
            raise StateFailed("Either body or source should be specified but not both.")
        found = definition_in(context.machine, self.source, self.saltenv) if self.source else self.body
        return {**found, **given}


def server_of(context: Context, login: ElasticsearchLogin) -> Elasticsearch:
    """The server that the arguments of a call name."""
    return elasticsearch_at(context.machine, login)


def acknowledged(answer: Any, missing: bool = False) -> bool:
    """Whether the server has done it. `missing`: what no answer, of what is not there, stands for."""
    return missing if answer is None else bool(answer.get("acknowledged"))


def asked(options: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of a request, of arguments: Salt ends names that Python has, too, in `_`."""
    return {key.rstrip("_"): value for key, value in options.items() if not key.startswith("__")}


def split(options: Mapping[str, Any], of_body: tuple[str, ...]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(parts of the body, parameters of the request)."""
    found = asked(options)
    return {key: found.pop(key) for key in of_body if key in found}, found
