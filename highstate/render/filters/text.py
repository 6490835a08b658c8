"""Salt's Jinja filters, tests and globals, as far as they are functions of their arguments.

A compile must give the same result each time: `random_shuffle` and `random_sample` want a seed, and `random` draws by
the minion's id. Those that draw other random numbers, ask a clock, a network or the machine's disk are in `live`; the
filters for data are in `data`, for networks in `network`, for XML in `xml`, for YAML and JSON in `serial`.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import itertools
import posixpath
import re
import shlex
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any
from uuid import UUID, uuid5

import jinja2
from jinja2.exceptions import TemplateRuntimeError

from highstate import seeded
from highstate.memo.tracked import TrackedMapping, plain
from highstate.render.filters.data import DATA_FILTERS
from highstate.render.filters.live import LIVE_FILTERS
from highstate.render.filters.network import NETWORK_FILTERS
from highstate.render.filters.xml import xml
from highstate.render.serial import SERIAL_FILTERS
from highstate.traverse import traverse
from highstate.types import Value
from matching import bounded_regex
from matching.matcher import tree_matcher

_UUID_SPACE = UUID("91633EBF-1C86-5E33-935A-28061F4B480E")


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
    found = bounded_regex.search(pattern, text, _flags(ignorecase, multiline))
    return (found.groups() or (found.group(),)) if found else None


def regex_match(text: str, pattern: str, ignorecase: bool = False, multiline: bool = False) -> Value:
    """As `regex_search`, at the start of the text alone."""
    found = bounded_regex.match(pattern, text, _flags(ignorecase, multiline))
    return (found.groups() or (found.group(),)) if found else None


def regex_replace(text: str, pattern: str, by: str, ignorecase: bool = False, multiline: bool = False) -> str:
    """`text` with each match replaced."""
    return bounded_regex.replace(pattern, by, text, _flags(ignorecase, multiline))


def matches(text: str, pattern: str, ignorecase: bool = False, multiline: bool = False) -> bool:
    """`is match(...)`."""
    return bounded_regex.match(pattern, text, _flags(ignorecase, multiline)) is not None


def method_call(obj: Any, name: str, *arguments: Any, **named: Any) -> Any:
    """`|method_call`: methods of data, as far as the sandbox lets templates call them."""
    if name.startswith("_") or not isinstance(
        obj, str | bytes | list | dict | set | tuple | int | float | TrackedMapping
    ):
        raise jinja2.exceptions.SecurityError(f"method {name!r} of {type(obj).__name__} may not be called")
    if name in ("format", "format_map"):
        raise jinja2.exceptions.SecurityError("use the format filter")
    method = getattr(obj, name, None)
    return method(*arguments, **named) if callable(method) else None


def _matches_name(value: Value, pattern: Value) -> bool:
    """A glob, or a regular expression for the whole text."""
    if not isinstance(value, str) or not isinstance(pattern, str):
        return False
    try:
        return tree_matcher().glob(pattern, value) or tree_matcher().searches(rf"\A{pattern}\Z", value)
    except re.error:
        return False


def check_lists(value: Value, whitelist: Value = None, blacklist: Value = None) -> bool:
    """`|check_whitelist_blacklist`: whether it is in the one (where given) and not in the other."""
    allowed, refused = ([one] if isinstance(one, str) else list(one or ()) for one in (whitelist, blacklist))
    if any(_matches_name(value, pattern) for pattern in refused):
        return False
    return not allowed or any(_matches_name(value, pattern) for pattern in allowed)


def json_query(data: Value, expression: str) -> Value:
    """What a JMESPath expression finds (https://jmespath.org)."""
    import jmespath  # type: ignore[import-untyped]  # it has no type hints; rarely used, so loaded on use

    return jmespath.search(expression, plain(data))


def table_rows(lines: Iterable[str], key: str) -> dict[Value, dict[str, Value]]:
    """`|mysql_to_dict`: the rows of a table that the mysql client drew, by the value of one column."""
    drawn = [line for line in lines if line and not line.startswith("+")]
    header, *rows = ([part.strip() for part in line.split("|")][1:-1] for line in drawn)
    read = [dict(zip(header, map(_to_num, row), strict=False)) for row in rows]
    return {row[key]: row for row in read}


def path_join(start: Value, *parts: Value) -> str:
    """One path of several, as Salt joins them: absolute parts are taken for relative ones."""
    if not all(isinstance(part, str) for part in (start, *parts)):
        raise TemplateRuntimeError("path_join takes texts")
    joined: str = posixpath.join(start, *(part.lstrip("/") for part in parts))
    return posixpath.normpath(joined)


@jinja2.pass_context
def ifelse(context: jinja2.runtime.Context, *arguments: Value, **options: Value) -> Value:
    """`match.ifelse` as a global."""
    chosen: Value = context["salt"]["match.ifelse"](*arguments, **options)
    return chosen


def _bytes(value: Value) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


def _hashed(name: str) -> Callable[[Value], str]:
    return lambda value: hashlib.new(name, _bytes(value), usedforsecurity=False).hexdigest()


def _hmac(string: str, shared_secret: str, challenge_hmac: str) -> bool:
    made = hmac.new(_bytes(shared_secret), _bytes(string), hashlib.sha256).digest()
    return hmac.compare_digest(base64.b64encode(made), _bytes(challenge_hmac))


def _hmac_compute(string: str, shared_secret: str) -> str:
    return hmac.new(_bytes(shared_secret), _bytes(string), hashlib.sha256).hexdigest()


def encoded(data: Value) -> Value:
    """`|json_encode_dict` and its variants: all texts of the data, keys too, as bytes."""
    if isinstance(data, str):
        return data.encode()
    if isinstance(data, Mapping):
        return {encoded(key): encoded(value) for key, value in data.items()}
    return [encoded(value) for value in data] if isinstance(data, list | tuple) else data


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


def _base64_decode(text: Value) -> str:
    try:
        return base64.b64decode(_bytes(text)).decode()
    except (binascii.Error, UnicodeDecodeError) as error:
        raise TemplateRuntimeError(f"this is no base64 of text: {error}") from error


@jinja2.pass_context
def _chosen(context: jinja2.runtime.Context, values: Iterable[Value]) -> Value:
    """`|random`: one of the values, for a minion the same each time."""
    items = list(values)
    if not items:
        raise TemplateRuntimeError("there is nothing to choose from: random was given no values")
    return seeded.one_of(str(context["opts"]["id"]), items)


def _raise(message: Value) -> None:
    raise jinja2.TemplateError(f"TemplateError: {message}")


@jinja2.pass_context
def show_full_context(context: jinja2.runtime.Context) -> dict[str, Value]:
    """All variables, those that are no plain values by the name of their kind."""
    kinds = (str, int, float, bool, list, tuple, dict, TrackedMapping, type(None))
    return {
        name: plain(value) if isinstance(value, kinds) else f"<{type(value).__name__}>"
        for name, value in context.get_all().items()
    }


FILTERS: Mapping[str, Callable[..., Value]] = {
    "to_bool": to_bool,
    "skip": lambda value: "",
    "sequence": lambda value: value if isinstance(value, list | tuple | set | dict | TrackedMapping) else [value],
    "quote": lambda text: shlex.quote(text),
    "regex_escape": lambda text: re.escape(text),
    "regex_search": regex_search,
    "regex_match": regex_match,
    "regex_replace": regex_replace,
    "uuid": lambda value: str(uuid5(_UUID_SPACE, str(value))),
    "min": lambda values: min(values),
    "max": lambda values: max(values),
    "method_call": method_call,
    "combinations": itertools.combinations,
    "combinations_with_replacement": itertools.combinations_with_replacement,
    "compress": itertools.compress,
    "permutations": itertools.permutations,
    "product": itertools.product,
    "zip": zip,
    "zip_longest": itertools.zip_longest,
    "base64_encode": lambda value: base64.b64encode(_bytes(value)).decode(),
    "base64_decode": _base64_decode,
    "md5": _hashed("md5"),
    "sha1": _hashed("sha1"),
    "sha256": _hashed("sha256"),
    "sha512": _hashed("sha512"),
    "hmac": _hmac,
    "hmac_compute": _hmac_compute,
    "to_bytes": _bytes,
    "str_to_num": _to_num,
    "to_num": _to_num,
    "is_hex": _is_hex,
    "contains_whitespace": lambda text: any(one.isspace() for one in text),
    "human_to_bytes": _human_to_bytes,
    "to_snake_case": _to_snake_case,
    "to_camelcase": _to_camelcase,
    "traverse": lambda data, path, default=None, delimiter=":": traverse(data, path, default, delimiter=delimiter),
    "json_encode_dict": encoded,
    "json_encode_list": encoded,
    "json_decode_dict": encoded,
    "json_decode_list": encoded,
    "substring_in_list": lambda text, values: any(text in value for value in values),
    "is_list": lambda value: isinstance(value, list),
    "is_iter": lambda value: isinstance(value, Iterable) and not isinstance(value, str | bytes),
    "sorted_ignorecase": lambda values: sorted(values, key=str.lower),
    "path_join": path_join,
    "check_whitelist_blacklist": check_lists,
    "json_query": json_query,
    "mysql_to_dict": table_rows,
    "random": _chosen,
    "xml": xml,
    **SERIAL_FILTERS,
    **DATA_FILTERS,
    **NETWORK_FILTERS,
    **LIVE_FILTERS,
}


TESTS: Mapping[str, Callable[..., bool]] = {
    "match": matches,
    "equalto": lambda value, other: bool(value == other),
    "list": lambda value: isinstance(value, list),
}


GLOBALS: Mapping[str, Any] = {
    "raise": _raise,
    "odict": OrderedDict,
    "ifelse": ifelse,
    "show_full_context": show_full_context,
}
