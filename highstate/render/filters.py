"""Salt's Jinja filters, tests and globals, as far as they are functions of their arguments.

Those that draw random numbers, ask a clock, a network or the machine's disk are there by name and raise: a
compile must give the same result each time (`random_shuffle` and `random_sample` work with a seed, as there
the outcome is fixed). Network filters are in `filters_net`.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import hashlib
import hmac
import itertools
import json
import pprint
import random
import re
import shlex
import uuid
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

import jinja2
import yaml
from jinja2.environment import TemplateModule
from jinja2.exceptions import TemplateRuntimeError
from markupsafe import Markup

from highstate.render.filters_net import NETWORK_FILTERS
from highstate.render.yaml_loader import load_yaml
from highstate.tracked import View, plain
from highstate.traverse import traverse
from highstate.types import Value

_UUID_SPACE = uuid.UUID("91633EBF-1C86-5E33-935A-28061F4B480E")


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
        if isinstance(value, dict | View):
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
    if isinstance(value, View | dict):
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


def from_yaml(value: Value) -> Value:
    """`|load_yaml`, also behind the tags load_yaml and import_yaml."""
    text = str(value) if isinstance(value, TemplateModule) else value
    if not isinstance(text, str):
        raise TemplateRuntimeError(f"Unable to load yaml from {text!r}")
    try:
        return load_yaml(text)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 0
        shown = text.splitlines()[line - 1].strip() if 0 < line <= len(text.splitlines()) else ""
        raise TemplateRuntimeError(f"cannot load YAML: {error.problem} in line {line} of it: {shown}") from error
    except yaml.YAMLError as error:
        raise TemplateRuntimeError(f"cannot load YAML: {error}") from error


def from_json(value: Value) -> Value:
    """`|load_json`, also behind the tags load_json and import_json."""
    text = str(value) if isinstance(value, TemplateModule) else value
    try:
        return json.loads(text)
    except (ValueError, TypeError) as error:
        raise TemplateRuntimeError(f"cannot load JSON: {error}") from error


def from_text(value: Value) -> Value:
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


def to_bool(value: Value) -> bool:
    """Salt's idea of truth: yes, 1, true; positive numbers; collections that are not empty."""
    if value is None or isinstance(value, bool):
        return bool(value)
    if isinstance(value, str):
        return value.lower() in ("yes", "1", "true")
    if isinstance(value, int):
        return value > 0
    return len(value) > 0 if not isinstance(value, Hashable) else False


def _flags(ignorecase: bool, multiline: bool) -> int:
    return (re.IGNORECASE if ignorecase else 0) | (re.MULTILINE if multiline else 0)


def regex_search(text: str, pattern: str, ignorecase: bool = False, multiline: bool = False) -> Value:
    """Groups of the first match anywhere (the whole match if there are none), or None."""
    found = re.search(pattern, text, _flags(ignorecase, multiline))
    return (found.groups() or (found.group(),)) if found else None


def regex_match(text: str, pattern: str, ignorecase: bool = False, multiline: bool = False) -> Value:
    """As `regex_search`, at the start of the text alone."""
    found = re.match(pattern, text, _flags(ignorecase, multiline))
    return (found.groups() or (found.group(),)) if found else None


def regex_replace(text: str, pattern: str, by: str, ignorecase: bool = False, multiline: bool = False) -> str:
    """`text` with each match replaced."""
    return re.sub(pattern, by, text, flags=_flags(ignorecase, multiline))


def matches(text: str, pattern: str, ignorecase: bool = False, multiline: bool = False) -> bool:
    """`is match(...)`."""
    return re.match(pattern, text, _flags(ignorecase, multiline)) is not None


def unique(values: Value) -> Value:
    """Without repeats: a list in its order, a set of anything hashable."""
    if isinstance(values, Hashable):
        return _ordered_set(values)  # type: ignore[arg-type]  # strings and tuples are what is hashable here
    kept: list[Value] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept


def _ordered_set(values: Iterable[Value]) -> list[Value]:
    """A set's content in a fixed order: Salt gives a set here, whose order changes from run to run."""
    return list(dict.fromkeys(values))


def union(one: Value, two: Value) -> Value:
    """What is in either, in order."""
    return unique([*one, *two])


def intersect(one: Value, two: Value) -> Value:
    """What is in both."""
    return unique([item for item in one if item in two])


def difference(one: Value, two: Value) -> Value:
    """What is in the first alone."""
    return unique([item for item in one if item not in two])


def symmetric_difference(one: Value, two: Value) -> Value:
    """What is in one of both."""
    return unique([*(item for item in one if item not in two), *(item for item in two if item not in one)])


def average(values: Value) -> float:
    """`|avg`."""
    return float(sum(values) / len(values)) if not isinstance(values, Hashable) else float(values)  # type: ignore[arg-type]


def flatten(values: Iterable[Value], levels: int | None = None, preserve_nulls: bool = False) -> list[Value]:
    """Lists in lists as one list."""
    flat: list[Value] = []
    for item in values:
        if not preserve_nulls and item in (None, "None", "null"):
            continue
        if isinstance(item, list | tuple | set) and (levels is None or levels >= 1):
            flat.extend(flatten(item, None if levels is None else levels - 1, preserve_nulls))
        else:
            flat.append(item)
    return flat


def to_entries(data: Value) -> list[dict[str, Value]]:
    """[{key: ..., value: ...}, ...] of a mapping or list."""
    pairs = data.items() if isinstance(data, Mapping) else enumerate(data)
    return [{"key": key, "value": value} for key, value in pairs]


def from_entries(entries: Iterable[Mapping[str, Value]]) -> dict[Value, Value]:
    """The inverse of `to_entries`."""
    made: dict[Value, Value] = {}
    for entry in entries:
        lowered = {str(key).lower(): value for key, value in entry.items()}
        key = lowered.get("key") or lowered.get("name")
        if key:
            made[key] = lowered.get("value")
    return made


def sample(values: Sequence[Value], size: int, seed: Value = None) -> list[Value]:
    """`|random_sample` with a seed, as Salt draws it."""
    if seed is None:
        raise TemplateRuntimeError("without a seed this gives another result on each compile: pass seed=grains.id")
    digest = hashlib.sha512(seed.encode() if isinstance(seed, str) else seed).hexdigest()
    return random.Random(digest).sample(values, size)  # noqa: S311  (a fixed choice, no secret)


def shuffle(values: Sequence[Value], seed: Value = None) -> list[Value]:
    """`|random_shuffle` with a seed."""
    return sample(values, len(values), seed)


def method_call(obj: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """`|method_call`: methods of data, as far as the sandbox lets templates call them."""
    if name.startswith("_") or not isinstance(obj, str | bytes | list | dict | set | tuple | int | float | View):
        raise jinja2.exceptions.SecurityError(f"method {name!r} of {type(obj).__name__} may not be called")
    if name in ("format", "format_map"):
        raise jinja2.exceptions.SecurityError("use the format filter")
    method = getattr(obj, name, None)
    return method(*arguments, **named) if callable(method) else None


def date_format(date: Value, form: str = "%Y-%m-%d") -> str:
    """`|strftime` of a date, a time stamp (UTC) or text in ISO form."""
    if not date and date != 0:
        raise TemplateRuntimeError("strftime of nothing means now, and a compile has no clock: pass a date")
    if isinstance(date, datetime.datetime | datetime.date):
        return date.strftime(form)
    try:
        return datetime.datetime.fromtimestamp(float(date), datetime.UTC).strftime(form)
    except (TypeError, ValueError):
        pass
    try:
        return datetime.datetime.fromisoformat(str(date).replace("Z", "+00:00")).strftime(form)
    except ValueError as error:
        raise TemplateRuntimeError(f"{date!r} is no date that can be read here: write it as 2026-01-31") from error


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _hashed(name: str) -> Callable[[Value], str]:
    return lambda value: hashlib.new(name, _bytes(value), usedforsecurity=False).hexdigest()


def _hmac(text: str, secret: str, expected: str) -> bool:
    made = hmac.new(_bytes(secret), _bytes(text), hashlib.sha256).digest()
    return hmac.compare_digest(made, base64.b64decode(expected))


def _human_to_bytes(size: Value, default_unit: str = "B", handle_metric: bool = False) -> int:
    found = re.fullmatch(r"(?P<number>[0-9.]+)\s*(?P<unit>[KMGTPEZY]?)(?P<kind>i?B?)", str(size).strip(), re.IGNORECASE)
    if found is None:
        return 0
    unit = (found["unit"] or default_unit[:1]).upper()
    power = "BKMGTPEZY".find(unit)
    base = 1000 if handle_metric and found["kind"].lower() == "b" else 1024
    return int(float(found["number"]) * base ** max(power, 0))


def _to_num(text: Value) -> Value:
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text


def _to_snake_case(text: str) -> str:
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z]+)", r"\1_\2", text)).lower()


def _to_camelcase(text: str, uppercamel: bool = False) -> str:
    parts = text.split("_")
    first = parts[0].capitalize() if uppercamel else parts[0].lower()
    return first + "".join(part.capitalize() for part in parts[1:])


def _is_hex(text: Value) -> bool:
    try:
        int(text, 16)
    except (TypeError, ValueError):
        return False
    return True


def _count_true(values: Iterable[Value], amount: int = 1) -> bool:
    return sum(1 for value in values if value) == amount


def _compare_dicts(old: Mapping[str, Value], new: Mapping[str, Value]) -> dict[str, Value]:
    keys = [*old, *(key for key in new if key not in old)]
    return {
        key: {"old": old.get(key, ""), "new": new.get(key, "")}
        for key in keys
        if (key in old) != (key in new) or old[key] != new[key]
    }


def _compare_lists(old: list[Value], new: list[Value]) -> dict[str, Value]:
    sides = {"new": [item for item in new if item not in old], "old": [item for item in old if item not in new]}
    return {side: items for side, items in sides.items() if items}


def _at_key(apply: Callable[[dict[Any, Any], Any, Value], None]) -> Callable[..., Value]:
    """A filter that changes the value at a path `a:b`, making the mappings on the way."""

    def change(data: dict[Any, Any], path: str, value: Value, delimiter: str = ":") -> Value:
        *way, last = path.split(delimiter)
        inner: Any = data
        for key in way:
            if not isinstance(inner.get(key), dict | View):
                inner[key] = {}
            inner = inner[key]
        apply(inner, last, value)
        return data

    return change


def _set_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = value


def _update_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = {**(inner.get(key) or {}), **value}


def _append_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = [*(inner.get(key) or []), value]


def _extend_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = [*(inner.get(key) or []), *value]


def _base64_decode(text: Value) -> str:
    try:
        return base64.b64decode(_bytes(text)).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise TemplateRuntimeError(f"this is no base64 of text: {error}") from error


def _refused(name: str, why: str) -> Callable[..., Value]:
    def refuse(*arguments: Any, **named: Any) -> Value:
        raise TemplateRuntimeError(f"the filter {name} {why}: it is not available where states are compiled")

    return refuse


def _raise(message: Value) -> None:
    raise jinja2.TemplateError(str(message))


@jinja2.pass_context
def show_full_context(context: jinja2.runtime.Context) -> dict[str, Value]:
    """All variables with plain values."""
    kinds = (str, int, float, bool, list, dict, type(None))
    return {name: value for name, value in context.get_all().items() if isinstance(value, kinds)}


_CHANCE = "gives another result each time"
_DISK = "looks at the machine's disk"

FILTERS: Mapping[str, Callable[..., Value]] = {
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
    "to_bool": to_bool,
    "skip": lambda value: "",
    "sequence": lambda value: value if isinstance(value, list | tuple | set | dict | View) else [value],
    "quote": lambda text: shlex.quote(text),
    "regex_escape": lambda text: re.escape(text),
    "regex_search": regex_search,
    "regex_match": regex_match,
    "regex_replace": regex_replace,
    "uuid": lambda value: str(uuid.uuid5(_UUID_SPACE, str(value))),
    "unique": unique,
    "min": lambda values: min(values),
    "max": lambda values: max(values),
    "avg": average,
    "union": union,
    "intersect": intersect,
    "difference": difference,
    "symmetric_difference": symmetric_difference,
    "method_call": method_call,
    "flatten": flatten,
    "to_entries": to_entries,
    "from_entries": from_entries,
    "random_sample": sample,
    "random_shuffle": shuffle,
    "combinations": itertools.combinations,
    "combinations_with_replacement": itertools.combinations_with_replacement,
    "compress": itertools.compress,
    "permutations": itertools.permutations,
    "product": itertools.product,
    "zip": zip,
    "zip_longest": itertools.zip_longest,
    "strftime": date_format,
    "date_format": date_format,
    "base64_encode": lambda value: base64.b64encode(_bytes(value)).decode(),
    "base64_decode": _base64_decode,
    "md5": _hashed("md5"),
    "sha1": _hashed("sha1"),
    "sha256": _hashed("sha256"),
    "sha512": _hashed("sha512"),
    "hmac": _hmac,
    "hmac_compute": lambda text, secret: hmac.new(_bytes(secret), _bytes(text), hashlib.sha256).hexdigest(),
    "to_bytes": _bytes,
    "str_to_num": _to_num,
    "to_num": _to_num,
    "is_hex": _is_hex,
    "contains_whitespace": lambda text: any(one.isspace() for one in text),
    "human_to_bytes": _human_to_bytes,
    "to_snake_case": _to_snake_case,
    "to_camelcase": _to_camelcase,
    "exactly_n_true": _count_true,
    "exactly_one_true": _count_true,
    "traverse": lambda data, path, default=None, delimiter=":": traverse(data, path, default, delimiter=delimiter),
    "compare_dicts": _compare_dicts,
    "compare_lists": _compare_lists,
    "json_encode_dict": plain,
    "json_encode_list": plain,
    "json_decode_dict": plain,
    "json_decode_list": plain,
    "set_dict_key_value": _at_key(_set_key),
    "update_dict_key_value": _at_key(_update_key),
    "append_dict_key_value": _at_key(_append_key),
    "extend_dict_key_value": _at_key(_extend_key),
    "substring_in_list": lambda text, values: any(text in value for value in values),
    "is_list": lambda value: isinstance(value, list),
    "is_iter": lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes),
    "sorted_ignorecase": lambda values: sorted(values, key=str.lower),
    "path_join": lambda *parts: re.sub("/+", "/", "/".join(str(part) for part in parts)),
    "random": _refused("random", _CHANCE),
    "shuffle": _refused("shuffle", _CHANCE),
    "random_str": _refused("random_str", _CHANCE),
    "rand_str": _refused("rand_str", _CHANCE),
    "random_hash": _refused("random_hash", _CHANCE),
    "gen_mac": _refused("gen_mac", _CHANCE),
    "which": _refused("which", _DISK),
    "is_empty": _refused("is_empty", _DISK),
    "is_text_file": _refused("is_text_file", _DISK),
    "is_bin_file": _refused("is_bin_file", _DISK),
    "list_files": _refused("list_files", _DISK),
    "file_hashsum": _refused("file_hashsum", _DISK),
    "get_uid": _refused("get_uid", _DISK),
    "http_query": _refused("http_query", "asks the network"),
    "dns_check": _refused("dns_check", "asks the network"),
    **NETWORK_FILTERS,
}

TESTS: Mapping[str, Callable[..., bool]] = {
    "match": matches,
    "equalto": lambda value, other: bool(value == other),
    "list": lambda value: isinstance(value, list),
}

GLOBALS: Mapping[str, Any] = {"raise": _raise, "odict": dict, "show_full_context": show_full_context}
