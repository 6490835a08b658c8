"""Kubernetes' published API as the fake server holds requests against it: the models of lightkube-models.

They are read as data: what belongs to the client that they are made for is not installed, and is stood in for here.
"""

import dataclasses
import datetime
import functools
import importlib
import sys
import types
import typing
from collections.abc import Iterator, Mapping
from typing import Any


class Invalid(Exception):
    """A value that the schema does not allow: `path`, what is wrong, and whether a field is unknown or lacks."""

    def __init__(self, path: str, why: str, kind: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path, self.why, self.kind = path, why, kind


def _models() -> None:
    if "lightkube.core.schema" in sys.modules:
        return
    schema = types.ModuleType("lightkube.core.schema")
    schema.dataclass = dataclasses.dataclass  # type: ignore[attr-defined]
    schema.field = dataclasses.field  # type: ignore[attr-defined]
    schema.DictMixin = object  # type: ignore[attr-defined]
    core = types.ModuleType("lightkube.core")
    core.__path__ = []
    sys.modules["lightkube.core"], sys.modules["lightkube.core.schema"] = core, schema


@functools.cache
def model(module: str, name: str) -> Any:
    """A class of the API: model("apps_v1", "Deployment")."""
    _models()
    return getattr(importlib.import_module(f"lightkube.models.{module}"), name)


@functools.cache
def fields(cls: Any) -> Mapping[str, tuple[Any, bool]]:
    """Name in JSON -> its type, and whether it has to be there."""
    hints = typing.get_type_hints(cls)
    return {
        str(one.metadata.get("json", one.name)): (
            hints[one.name],
            one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING,
        )
        for one in dataclasses.fields(cls)
    }


def faults(value: Any, kind: Any, path: str = "") -> Iterator[Invalid]:
    """What is wrong with a value."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return
        kinds = [one for one in args if one is not type(None)]
        found = [list(faults(value, one, path)) for one in kinds]
        if all(found):
            yield from found[0]
    elif origin is list:
        if not isinstance(value, list):
            yield Invalid(path, "must be a list", "type")
            return
        for number, one in enumerate(value):
            yield from faults(one, args[0], f"{path}[{number}]")
    elif origin is dict:
        if not isinstance(value, dict):
            yield Invalid(path, "must be a mapping", "type")
            return
        for key, one in value.items() if args else ():
            yield from faults(one, args[1], f"{path}.{key}")
    elif dataclasses.is_dataclass(kind):
        yield from _object_faults(value, kind, path)
    elif kind is datetime.datetime:
        if not isinstance(value, str):
            yield Invalid(path, "must be a time", "type")
    elif kind in (str, int, bool, float):
        right = isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
        if not right and not (kind is float and isinstance(value, int)):
            words = {str: "string", int: "integer", bool: "boolean", float: "number"}
            yield Invalid(path, f"cannot unmarshal {type(value).__name__} into a {words[kind]}", "type")


def _object_faults(value: Any, kind: Any, path: str) -> Iterator[Invalid]:
    if not isinstance(value, dict):
        yield Invalid(path, "must be an object", "type")
        return
    known = fields(kind)
    for key, one in value.items():
        where = f"{path}.{key}" if path else key
        if key not in known:
            yield Invalid(where, f'unknown field "{where}"', "unknown")
        elif one is not None:
            yield from faults(one, known[key][0], where)
    for key, (_, required) in known.items():
        if required and value.get(key) is None:
            yield Invalid(f"{path}.{key}" if path else key, "Required value", "required")
