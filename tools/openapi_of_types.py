"""An OpenAPI document from the TypeScript types that openapi-typescript makes of one.

Bitbucket's descriptions are in no registry, but such types of them are. Called by `tools.forge_descriptions`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TOKEN = re.compile(
    r"""/\*.*?\*/|//[^\n]*|\s+|(?P<text>"(?:[^"\\]|\\.)*")|(?P<word>[\w$.-]+)|(?P<sign>[{}()\[\]<>;:,?&|=])""", re.S
)
_PLAIN = {"string": {"type": "string"}, "number": {"type": "number"}, "boolean": {"type": "boolean"}, "null": {}}
_METHODS = ("get", "put", "post", "patch", "delete")


def document_of(source: str) -> dict[str, Any]:
    """The paths and schemas of `paths`, `operations` and `components`; other parts of OpenAPI are left out."""
    declared = dict(_Parser(list(_tokens(source))).interfaces())
    operations, components = declared.get("operations", {}), declared["components"]
    paths = {
        path: {
            method: _operation(operations.get(each["$operation"], {}) if "$operation" in each else each)
            for method, each in _fields(item).items()
            if method in _METHODS and (each.get("properties") or "$operation" in each)
        }
        for path, item in _fields(declared["paths"]).items()
    }
    schemas = _fields(_fields(components)["schemas"])
    return {"openapi": "3.0.0", "x-of-types": True, "paths": paths, "components": {"schemas": schemas}}


def _fields(schema: Any) -> dict[str, Any]:
    found: dict[str, Any] = schema.get("properties", {})
    return found


def _operation(schema: dict[str, Any]) -> dict[str, Any]:
    given = _fields(schema)
    query = _fields(given.get("parameters", {})).get("query", {})
    parameters = [
        {"name": name, "in": "query", "schema": each, "required": name in query.get("required", ())}
        for name, each in _fields(query).items()
    ]
    answers = {status: _content(each) for status, each in _fields(given.get("responses", {})).items()}
    found: dict[str, Any] = {"parameters": parameters, "responses": answers}
    if _fields(given.get("requestBody", {})):
        found["requestBody"] = _content(given["requestBody"])
    return found


def _content(schema: dict[str, Any]) -> dict[str, Any]:
    kinds = _fields(_fields(schema).get("content", {}))
    return {"content": {kind: {"schema": each} for kind, each in kinds.items()}}


def _tokens(source: str) -> Iterator[str]:
    for match in _TOKEN.finditer(source):
        if match.lastgroup:
            yield match[0]


class _Parser:
    """Types as JSON Schema; `operations["x"]` is `{"$operation": "x"}`."""

    def __init__(self, tokens: list[str]) -> None:
        self._tokens = tokens
        self._at = 0

    def interfaces(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Name and object of each `export interface`."""
        while self._at < len(self._tokens):
            if self._next() == "interface":
                name = self._next()
                found = self._one()
                yield name, _fields(found) if name == "operations" else found

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1]

    def _peek(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _taken(self, *wanted: str) -> bool:
        if self._peek() not in wanted:
            return False
        self._at += 1
        return True

    def _type(self) -> dict[str, Any]:
        self._taken("|", "&")
        found = [self._one()]
        sign = self._peek()
        while self._peek() in ("|", "&"):
            self._next()
            found.append(self._one())
        if len(found) == 1:
            return found[0]
        if sign == "&":
            return {"allOf": found}
        if all("enum" in each for each in found):
            return {"enum": [value for each in found for value in each["enum"]]}
        return {"anyOf": found}

    def _one(self) -> dict[str, Any]:
        self._taken("readonly")
        found = self._simple()
        while self._peek() == "[":
            self._next()
            if self._taken("]"):
                found = {"type": "array", "items": _referred(found)}
                continue
            key = self._next().strip('"')
            self._taken("]")
            found = {"path": [*found["path"], key]}
        return _referred(found)

    def _simple(self) -> dict[str, Any]:
        word = self._next()
        if word == "{":
            return self._object()
        if word == "(":
            found = self._type()
            self._taken(")")
            return found
        if word.startswith('"'):
            return {"type": "string", "enum": [word[1:-1]]}
        if word in _PLAIN:
            return dict(_PLAIN[word])
        if word in ("components", "operations"):
            return {"path": [word]}
        if self._taken("<"):
            return self._generic(word)
        return {"enum": [int(word)]} if word.isdigit() else {}

    def _generic(self, name: str) -> dict[str, Any]:
        given = [self._type()]
        while self._taken(","):
            given.append(self._type())
        self._taken(">")
        return {"type": "object"} if name == "Record" else given[0]

    def _object(self) -> dict[str, Any]:
        properties: dict[str, Any] = {}
        required = []
        while not self._taken("}"):
            self._taken("readonly")
            if self._taken("["):  # [key: string]: T
                while self._next() != "]":
                    pass
                self._taken(":")
                self._type()
            else:
                name = self._next().strip('"')
                if not self._taken("?"):
                    required.append(name)
                self._taken(":")
                properties[name] = self._type()
            self._taken(";", ",")
        if "type" in properties:  # its value stands for another one in each kind of object, and requests go without
            properties["type"] = {"type": "string"}
            required = [name for name in required if name != "type"]
        return {"type": "object", "properties": properties, **({"required": required} if required else {})}


def _referred(found: dict[str, Any]) -> dict[str, Any]:
    match found.get("path"):
        case ["components", "schemas", name]:
            return {"$ref": f"#/components/schemas/{name}"}
        case ["operations", name]:
            return {"$operation": name}
    return found
