"""The OpenAPI document of the API, made of its routes, of what they need and of the types that they take and answer.

Source: OpenAPI Specification 3.1.1; JSON Schema 2020-12, as msgspec writes it. The schema of a line, where an answer
has one JSON value a line, is `x-item-schema`: 3.1 has no word for it (3.2 calls it `itemSchema`). Called by
`controller.api.app`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import UnionType
from typing import Any, Final, Union, get_args, get_origin

import msgspec
from litestar.handlers import HTTPRouteHandler

from controller.api import encoding
from controller.api.credentials import COOKIE
from controller.api.operations import ApiOperation, operation_of
from controller.api.permissions import ANYONE, NEEDS, PREFIX
from controller.schema.errors import ErrorView
from options.field_texts import field_texts

_REF: Final = "#/components/schemas/{name}"
_ABOUT: Final = (
    "What the command line, scripts and the dashboard ask of a controller of Saltern. `x-saltern-needs` of an "
    "operation is the role that it needs: `viewer`, `operator`, `approver`, `admin`, `functions` (rules for the "
    "function that is called), `known` (whoever shows who they are), `anyone`. Refusals are an `ErrorView`."
)
_SCHEMES: Final = {
    "token": {
        "type": "http",
        "scheme": "bearer",
        "description": "A token of the controller, or of an OpenID Connect issuer.",
    },
    "session": {"type": "apiKey", "in": "cookie", "name": COOKIE, "description": "What `POST /session` sets."},
    "csrf": {"type": "apiKey", "in": "header", "name": "X-CSRF-Token", "description": "What `GET /session` tells."},
}


def document(routes: Iterable[HTTPRouteHandler], version: str) -> dict[str, Any]:
    """The document.

    Args:
        routes: of `controller.api.operations`, with paths below `PREFIX`.
        version: of the controller.
    """
    routes = sorted(routes, key=lambda each: (*each.paths, *each.http_methods))
    operations = [operation_of(each) for each in routes]
    schemas = _Schemas(operations)
    paths: dict[str, dict[str, Any]] = {}
    for route, operation in zip(routes, operations, strict=True):
        [path], [method] = route.paths, route.http_methods
        paths.setdefault(path, {})[str(method).lower()] = _described(path, str(method), route, operation, schemas)
    return {
        "openapi": "3.1.1",
        "info": {"title": "Saltern", "version": version, "description": _ABOUT},
        "servers": [{"url": PREFIX}],
        "paths": paths,
        "components": {"schemas": schemas.components, "securitySchemes": _SCHEMES},
    }


def _described(
    path: str, method: str, route: HTTPRouteHandler, operation: ApiOperation, schemas: _Schemas
) -> dict[str, Any]:
    needs = NEEDS.get(f"{method} {path}", "admin")
    found: dict[str, Any] = {
        "operationId": "_".join([method.lower(), *re.findall(r"\w+", path)]),
        "tags": [str(route.fn.__module__).rpartition(".")[2]],
        "summary": " ".join((route.fn.__doc__ or "").split()),
        "x-saltern-needs": needs,
        "security": _security(method, needs),
        "parameters": [*schemas.parameters(operation.query)] if operation.query else [],
        "responses": _responses(operation, schemas),
    }
    if operation.body is not None:
        content = {"application/json": {"schema": schemas.of(operation.body)}}
        found["requestBody"] = {"required": True, "content": content}
    return found


def _security(method: str, needs: str) -> list[dict[str, list[str]]]:
    if needs == ANYONE:
        return [{}]
    session: dict[str, list[str]] = {"session": []} if method == "GET" else {"session": [], "csrf": []}
    return [{"token": []}, session]


def _responses(operation: ApiOperation, schemas: _Schemas) -> dict[str, Any]:
    schema = schemas.of(operation.answer)
    content: dict[str, Any] = {"application/json": {"schema": schema}}
    if operation.lines:
        item = schemas.of(operation.answer | ErrorView)
        content = {encoding.LINES: {"schema": {"type": "string"}, "x-item-schema": item}}
        content |= {form: dict(content[encoding.LINES]) for form in operation.forms}
    headers: dict[str, Any] = {"X-Request-Id": {"schema": {"type": "string"}, "required": True}}
    if operation.paged:
        count = {"description": "On all pages.", "required": True, "schema": {"type": "integer", "minimum": 0}}
        headers["X-Total-Count"] = count
    refusal = {"description": "A refusal.", "content": {"application/json": {"schema": schemas.of(ErrorView)}}}
    answer = {"description": "One JSON value a line." if operation.lines else "The answer.", "content": content}
    return {str(operation.status): {**answer, "headers": headers}, "4XX": refusal, "5XX": refusal}


class _Schemas:
    """The schemas of all types that these operations take and answer."""

    def __init__(self, operations: Sequence[ApiOperation]) -> None:
        asked = [each for one in operations for each in (one.query, one.body) if each is not None]
        answered = [part for one in operations for part in _parts(one.answer)] + [ErrorView]
        structs = {each.__name__: each for each in _structs(msgspec.inspect.multi_type_info([*asked, *answered]))}
        of_questions = {each.__name__ for each in _structs(msgspec.inspect.multi_type_info(asked))}
        _, found = msgspec.json.schema_components([*structs.values()], ref_template=_REF)
        self._queries = {one.query.__name__ for one in operations if one.query} - {
            one.body.__name__ for one in operations if one.body
        }
        for name, schema in found.items():
            texts = field_texts(structs[name])
            for field, value in schema.get("properties", {}).items():
                _describe(value, texts.get(field, ""))
                if name not in of_questions:
                    value.pop("default", None)
            if name not in of_questions and schema.get("properties"):
                schema["required"] = list(schema["properties"])  # answers have all their fields
        self._all = found
        self.components = {name: each for name, each in sorted(found.items()) if name not in self._queries}

    def of(self, kind: Any) -> dict[str, Any]:
        """The schema of a type of an answer or a body."""
        origin, given = get_origin(kind), get_args(kind)
        if origin in (Union, UnionType):
            return {"anyOf": [self.of(each) for each in given]}
        if origin is Sequence:
            return {"type": "array", "items": self.of(given[0])}
        (found,), _ = msgspec.json.schema_components([kind], ref_template=_REF)
        return found

    def parameters(self, query: type[msgspec.Struct]) -> Iterator[dict[str, Any]]:
        """The fields of a question as parameters of an address."""
        schema = self._all[query.__name__]
        needed = schema.get("required", ())
        for name, value in schema["properties"].items():
            plain = {key: each for key, each in value.items() if key != "description"}
            about = {"description": value["description"]} if "description" in value else {}
            yield {"name": name, "in": "query", "required": name in needed, **about, "schema": _without_null(plain)}


def _parts(kind: Any) -> list[Any]:
    """The types that an answer is made of: msgspec knows no union of structs without tags."""
    if get_origin(kind) in (Union, UnionType, Sequence):
        return [part for each in get_args(kind) for part in _parts(each)]
    return [kind]


def _structs(known: Iterable[msgspec.inspect.Type]) -> Iterator[type]:
    """All structs in some types, each once."""
    seen: set[type] = set()
    waiting: list[Any] = [*known]
    while waiting:
        match waiting.pop():
            case msgspec.inspect.StructType(cls=cls, fields=fields):
                if cls not in seen:
                    seen.add(cls)
                    waiting += [each.type for each in fields]
                    yield cls
            case msgspec.inspect.DictType(key_type=key, value_type=value):
                waiting += [key, value]
            case msgspec.inspect.UnionType(types=types) | msgspec.inspect.TupleType(item_types=types):
                waiting += types
            case msgspec.inspect.CollectionType(item_type=item):
                waiting.append(item)
            case msgspec.inspect.Metadata(type=inner):
                waiting.append(inner)


def _describe(schema: dict[str, Any], text: str) -> None:
    if text:
        schema["description"] = text


def _without_null(schema: Mapping[str, Any]) -> dict[str, Any]:
    """A parameter that is not given is no `null`."""
    found = {key: value for key, value in schema.items() if key != "default" or value is not None}
    if "anyOf" in found:
        kinds = [each for each in found.pop("anyOf") if each != {"type": "null"}]
        found |= kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    return found
