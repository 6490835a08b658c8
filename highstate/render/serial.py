"""How templates write and read data: YAML, JSON and what `{{ ... }}` prints."""

from __future__ import annotations

import json
import pprint
from collections.abc import Callable, Mapping
from typing import Any

import jinja2
import yaml
from jinja2.environment import TemplateModule
from jinja2.exceptions import TemplateRuntimeError
from markupsafe import Markup

from highstate.memo.tracked import TrackedMapping
from highstate.render.yaml.loader import load_yaml
from highstate.types import Value

_PRINTED_AS_THEY_ARE = frozenset((str, int, float, bool, type(None), Markup))


class Printable(dict[Any, Any]):
    """A mapping that prints as YAML flow style reads it."""

    def __str__(self) -> str:
        return self._text(str)

    def __repr__(self) -> str:
        return self._text(repr)

    def _text(self, show: Callable[[Any], str]) -> str:
        return "{" + ", ".join(f"{key!r}: {_scalar(value, show)}" for key, value in self.items()) + "}"

    @staticmethod
    def of(value: Value) -> Value:
        """What `{{ value }}` prints: mappings in it become `Printable`."""
        if type(value) in _PRINTED_AS_THEY_ARE:
            return value
        if isinstance(value, dict | TrackedMapping):
            return Printable((key, Printable.of(inner)) for key, inner in value.items())
        if type(value) in (list, tuple, set):
            return type(value)(Printable.of(inner) for inner in value)
        return value


def _scalar(value: Value, show: Callable[[Any], str]) -> str:
    if not isinstance(value, str):
        return show(value)
    if any(one in value for one in "\n\r\t"):
        return yaml_dquote(value)
    return repr(value)


def _checked(value: Value) -> Value:
    """Plain data; an undefined value anywhere in it raises, as it would when printed."""
    if isinstance(value, jinja2.Undefined):
        str(value)
    if isinstance(value, TrackedMapping | dict):
        return {_checked(key): _checked(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_checked(inner) for inner in value) if type(value) in (list, tuple) else list(value)
    return value


def to_yaml(value: Value, flow_style: bool = True) -> Markup:
    """`|yaml`."""
    text: str = yaml.dump(_checked(value), Dumper=_Dumper, default_flow_style=flow_style, allow_unicode=True)
    return Markup(text.strip().removesuffix("\n...").strip())  # noqa: S704  (as Salt: never escaped)


class _Dumper(yaml.CSafeDumper):
    """Dumps what templates hold: tuples and sets as lists are, text that is marked safe as text."""

    def ignore_aliases(self, data: Any) -> bool:
        """Never write anchors: the text is often pasted into another document."""
        return True


_Dumper.add_multi_representer(dict, yaml.CSafeDumper.represent_dict)


_Dumper.add_multi_representer(tuple, yaml.CSafeDumper.represent_list)


def to_json(value: Value, sort_keys: bool = True, indent: int | None = None) -> Markup:
    """`|json`."""
    text = json.dumps(_checked(value), sort_keys=sort_keys, indent=indent, ensure_ascii=False)
    return Markup(text.strip())  # noqa: S704  (as Salt: never escaped)


def tojson(value: Value, indent: int | None = None, **options: Any) -> str:
    """Jinja's `|tojson`, with the options of json.dumps."""
    text = json.dumps(_checked(value), indent=indent, **{"ensure_ascii": True, **options})
    for character in "<>&'":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def to_python(value: Value) -> Markup:
    """`|python`."""
    return Markup(pprint.pformat(_checked(value)).strip())  # noqa: S704  (as Salt: never escaped)


def from_yaml(value: Value, file: str = "") -> Value:
    """`|load_yaml`, also behind the tags load_yaml and import_yaml, which names the file."""
    of, text = f" of {file}" if file else "", str(value) if isinstance(value, TemplateModule) else value
    if not isinstance(text, str):
        raise TemplateRuntimeError(f"Unable to load yaml from {text!r}")
    try:
        return load_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 0
        shown = text.splitlines()[line - 1].strip() if 0 < line <= len(text.splitlines()) else ""
        raise TemplateRuntimeError(f"cannot load YAML{of}: {error.problem} in line {line} of it: {shown}") from error
    except yaml.YAMLError as error:
        raise TemplateRuntimeError(f"cannot load YAML{of}: {error}") from error


def from_json(value: Value, file: str = "") -> Value:
    """`|load_json`, also behind the tags load_json and import_json, which names the file."""
    text = str(value) if isinstance(value, TemplateModule) else value
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise TemplateRuntimeError(f"cannot load JSON{f' of {file}' if file else ''}: {error}") from error


def from_text(value: Value, file: str = "") -> Value:
    """`|load_text`, also behind the tags load_text and import_text."""
    return str(value) if isinstance(value, TemplateModule) else value


def dict_to_sls_yaml_params(value: Mapping[str, Value], flow_style: bool = False) -> Markup:
    """A mapping as the list of single keys that states take."""
    return to_yaml([{key: inner} for key, inner in value.items()], flow_style=flow_style)


def yaml_dquote(text: Value) -> str:
    """A double-quoted YAML scalar."""
    written: str = yaml.dump(str(text), Dumper=_Dumper, default_style='"', width=2**31 - 1, allow_unicode=True)
    return written.removesuffix("\n")


def yaml_squote(text: Value) -> str:
    """A single-quoted YAML scalar."""
    written: str = yaml.dump(str(text), Dumper=_Dumper, default_style="'", width=2**31 - 1, allow_unicode=True)
    return written.removesuffix("\n")


def yaml_encode(value: Value) -> str:
    """A single YAML scalar, quoted where it must be."""
    if isinstance(value, Markup) or not isinstance(value, str | int | float | bool | None):
        raise TypeError(f"yaml_encode takes one scalar, not a {type(value).__name__}")
    if isinstance(value, str):
        return yaml_dquote(value)
    text: str = yaml.dump(value, Dumper=_Dumper)
    return text.removesuffix("\n").removesuffix("\n...")


SERIAL_FILTERS: Mapping[str, Callable[..., Value]] = {
    "yaml": to_yaml,
    "json": to_json,
    "tojson": tojson,
    "python": to_python,
    "load_yaml": from_yaml,
    "load_json": from_json,
    "load_text": from_text,
    "dict_to_sls_yaml_params": dict_to_sls_yaml_params,
    "yaml_dquote": yaml_dquote,
    "yaml_squote": yaml_squote,
    "yaml_encode": yaml_encode,
}
