"""Requests and answers held against a published description of an API: OpenAPI 3.0 or Swagger 2.0.

Of a request the path, the method, the names and values of the query and the body are checked as described. Of an
answer each field that is there must be described, with its type; fakes leave out most of what a forge sends, so that
nothing is required of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import jsonschema
from forges.server import Reply, Request
from referencing import Registry
from referencing.jsonschema import DRAFT4

_METHODS = ("get", "put", "post", "patch", "delete")
_PARTS = ("components", "definitions", "responses", "parameters", "paths")


class Description:
    """One document."""

    def __init__(self, document: dict[str, Any], before: str = "") -> None:
        """`before`: what the described paths begin with and belongs to the address of the API."""
        self._document = {
            **document,
            "paths": {path.removeprefix(before): each for path, each in document["paths"].items()},
        }
        document = self._document
        self._strict = {name: _adapted(document[name], False) for name in _PARTS if name in document}
        self._relaxed = {name: self._of_answer(document[name]) for name in _PARTS if name in document}
        for reference in set(_bases(document)):
            found: Any = self._relaxed
            for part in reference.removeprefix("#/").split("/"):
                found = found[part]
            found.pop("additionalProperties", None)
        self._paths = [(_pattern(path), path) for path in document["paths"]]

    def _of_answer(self, schema: Any) -> Any:
        """Swagger 2.0 has no word for what may be null, and Bitbucket's descriptions do not use it."""
        return _adapted(schema, True, null="swagger" in self._document or "x-of-types" in self._document)

    def problems(self, request: Request, reply: Reply | None = None) -> list[str]:
        """What of a request, and of its answer where that is given, is not as described; empty when all is."""
        wanted = request.path
        what = f"{request.method} {wanted}"
        operations = [
            (path, self._document["paths"][path][request.method.lower()])
            for pattern, path in self._paths
            if pattern.match(wanted) and request.method.lower() in self._document["paths"][path]
        ]
        if not operations:
            return [f"{what}: is not described"]
        path, operation = min(operations, key=lambda each: each[0].count("{"))
        shared = self._document["paths"][path].get("parameters", [])
        parameters = [self._resolved(each) for each in (*shared, *operation.get("parameters", []))]
        found = self._query(request, parameters) + self._body(request, operation, parameters)
        if reply is not None and 200 <= reply.status < 300:
            found += self._answer(reply, operation)
        return [f"{what}: {each}" for each in found]

    def _query(self, request: Request, parameters: list[dict[str, Any]]) -> list[str]:
        known = {each["name"]: each for each in parameters if each["in"] == "query"}
        found = [f"there is no parameter {name}" for name in request.query if name not in known]
        for name, value in request.query.items():
            schema = self._resolved(known.get(name, {}).get("schema", known.get(name, {})))
            if "enum" in schema and value not in schema["enum"]:
                found.append(f"{name} is none of {schema['enum']}")
            if schema.get("type") == "integer" and not value.isdigit():
                found.append(f"{name} is no number")
            if "maximum" in schema and int(value) > schema["maximum"]:
                found.append(f"{name} is above {schema['maximum']}")
        lacking = [name for name, each in known.items() if each.get("required") and name not in request.query]
        return found + [f"{name} is needed" for name in lacking]

    def _body(self, request: Request, operation: dict[str, Any], parameters: list[dict[str, Any]]) -> list[str]:
        described = next((each["schema"] for each in parameters if each["in"] == "body"), None)
        if "requestBody" in operation:
            described = _json_of(self._resolved(operation["requestBody"]))
        if request.body is None:
            return []
        if described is None:
            return ["takes no body"]
        unknown = self._invalid(request.body, self._of_answer(described), self._relaxed)
        found = self._invalid(request.body, _adapted(described, False), self._strict)
        return found + [each for each in unknown if "Additional properties" in each]

    def _answer(self, reply: Reply, operation: dict[str, Any]) -> list[str]:
        if str(reply.status) not in operation["responses"]:
            return [f"does not answer {reply.status}, but {', '.join(operation['responses'])}"]
        response = self._resolved(operation["responses"][str(reply.status)])
        schema = response.get("schema") or _json_of(response)
        if schema is None or reply.value is None:
            return []
        return self._invalid(reply.value, self._of_answer(schema), self._relaxed)

    def _invalid(self, value: Any, schema: dict[str, Any], document: dict[str, Any]) -> list[str]:
        root = {"id": "urn:description", **document}
        registry = Registry().with_resource("urn:description", DRAFT4.create_resource(root))
        validator = jsonschema.Draft4Validator(_absolute(schema), registry=registry)
        return [
            f"{'.'.join(str(each) for each in error.absolute_path)}: {error.message[:300]}"
            for error in validator.iter_errors(value)
        ]

    def _resolved(self, value: dict[str, Any]) -> dict[str, Any]:
        while "$ref" in value:
            found: Any = self._document
            for part in value["$ref"].removeprefix("#/").split("/"):
                found = found[part.replace("~1", "/").replace("~0", "~")]
            value = found
        return value


def _json_of(described: dict[str, Any]) -> Any:
    kinds = described.get("content", {})
    return next((each["schema"] for kind, each in kinds.items() if kind.startswith(("application/json", "*/*"))), None)


def _pattern(path: str) -> re.Pattern[str]:
    parts = re.split(r"\{[^}]+\}", path)
    return re.compile("([^/]+)".join(re.escape(part) for part in parts) + "$", re.I)


def _adapted(value: Any, relaxed: bool, *, of_all: bool = False, null: bool = False) -> Any:
    """A schema as JSON Schema has it: `nullable` is a type. Relaxed: nothing is required, and nothing else allowed."""
    if isinstance(value, list):
        return [_adapted(each, relaxed, of_all=of_all, null=null) for each in value]
    if not isinstance(value, dict):
        return value
    found = {key: _adapted(each, relaxed, of_all=key == "allOf", null=null) for key, each in value.items()}
    if (null or value.get("nullable") is True) and isinstance(value.get("type"), str):
        found["type"] = [value["type"], "null"]
        if "enum" in value:
            found["enum"] = [*value["enum"], None]
    if relaxed and isinstance(value.get("required"), list):
        found.pop("required")
    composed = {"allOf", "anyOf", "oneOf", "additionalProperties"} & set(value)
    if (
        relaxed
        and isinstance(value.get("properties"), dict)
        and value.get("type") == "object"
        and not composed
        and not of_all
    ):
        found["additionalProperties"] = False
    return found


def _bases(value: Any, *, of_all: bool = False) -> Iterator[str]:
    """References to schemas that others add properties to."""
    if isinstance(value, list):
        for each in value:
            yield from _bases(each, of_all=of_all)
    elif isinstance(value, dict):
        if of_all and isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for key, each in value.items():
            yield from _bases(each, of_all=key == "allOf")


def _absolute(schema: dict[str, Any]) -> dict[str, Any]:
    """References lead to the document."""

    def led(value: Any) -> Any:
        if isinstance(value, list):
            return [led(each) for each in value]
        if not isinstance(value, dict):
            return value
        return {
            key: f"urn:description{each}" if key == "$ref" and isinstance(each, str) else led(each)
            for key, each in value.items()
        }

    found: dict[str, Any] = led(schema)
    return found
