"""Values of SLS as the Docker SDK takes them: lists, pairs, labels, addresses, ports, rates.

Called by the options of containers and networks. A value that is none of the kind raises `BadDockerValue`.
Behaviour: the section "Container configuration parameters" of doc/ref/states/all/salt.states.docker_container.
"""

from __future__ import annotations

import ipaddress
import posixpath
from collections.abc import Mapping, Sequence
from typing import Any


class BadDockerValue(Exception):
    """The value of one argument, and what it must be."""


def words(value: Any, separator: str = ",") -> list[Any]:
    """A list; a text is split at commas."""
    if isinstance(value, list | tuple):
        return list(value)
    return [part.strip() for part in str(value).split(separator)]


def texts(value: Any) -> list[str]:
    """The same, each as text."""
    return [str(one) for one in words(value)]


def number(value: Any) -> int:
    """A whole number."""
    try:
        return int(value)
    except (TypeError, ValueError):
        raise BadDockerValue(f"'{value}' is not an integer") from None


def size(value: Any) -> int | str:
    """Bytes, or a text such as `512m`, which the SDK reads."""
    try:
        return int(value)
    except (TypeError, ValueError):
        return str(value)


def mapping(value: Any) -> dict[str, Any]:
    """A mapping, or a list of mappings that are taken as one."""
    merged = _merged(value)
    if merged is None:
        raise BadDockerValue(f"'{value}' is not a dictionary")
    return merged


def pairs(value: Any, separator: str = "=") -> dict[str, Any]:
    """A mapping, or texts `key=value`."""
    merged = _merged(value)
    if merged is not None:
        return merged
    found: dict[str, Any] = {}
    for one in words(value):
        if isinstance(one, Mapping):
            found.update(one)
            continue
        key, delimiter, rest = str(one).partition(separator)
        if not delimiter:
            # The value is not told: it may be a password.
            raise BadDockerValue(f"'{key.strip()}' is not a key{separator}value pair")
        found[key.strip()] = rest.strip()
    return found


def labels(value: Any) -> dict[str, str]:
    """Labels with and without values, mixed."""
    if isinstance(value, Mapping):
        return {str(key): str(one) for key, one in value.items()}
    found: dict[str, str] = {}
    for one in words(value):
        if isinstance(one, Mapping):
            if len(one) != 1:
                raise BadDockerValue("Invalid label(s)")
            found.update({str(key): str(text) for key, text in one.items()})
        else:
            key, _, text = str(one).partition("=")
            found[key.strip()] = text.strip()
    return found


def command(value: Any) -> str | list[str]:
    """A text, which the SDK splits as a shell does, or a list of words."""
    return [str(one) for one in value] if isinstance(value, list) else str(value)


def absolute(value: Any) -> str:
    """An absolute path."""
    if not isinstance(value, str) or not posixpath.isabs(value):
        raise BadDockerValue(f"'{value}' is not an absolute path")
    return value


def address(value: Any, checked: bool = True) -> str:
    """An IP address; without `checked` any text."""
    text = str(value)
    try:
        ipaddress.ip_address(text)
    except ValueError:
        if checked:
            raise BadDockerValue(f"'{text}' is not a valid IP address") from None
    return text


def subnet(value: Any, checked: bool = True) -> str:
    """A subnet; without `checked` any text."""
    text = str(value)
    try:
        ipaddress.ip_network(text, strict=False)
    except ValueError:
        if checked:
            raise BadDockerValue(f"'{text}' is not a valid subnet") from None
    return text


def fields(value: Any, *names: str, fill: str | None = None) -> list[dict[str, Any]]:
    """Texts `a:b`, or mappings, as mappings of these names; what is left out is `fill`."""
    given = [value] if isinstance(value, Mapping) else words(value)
    found: list[dict[str, Any]] = []
    for one in given:
        if isinstance(one, Mapping):
            found.append(dict(one))
            continue
        parts = [part.strip() for part in str(one).split(":")]
        if len(parts) > len(names) or (len(parts) < len(names) and fill is None):
            raise BadDockerValue(f"'{one}' contains {len(parts)} value(s) (expected {len(names)})")
        parts += [str(fill)] * (len(names) - len(parts))
        found.append(dict(zip(names, parts, strict=True)))
    return found


def merged_pairs(value: Any) -> Any:
    """A list of mappings of one key each as one mapping; anything else as it is (`salt.utils.data.repack_dictlist`)."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str) and bool(value)
    if is_list and all(isinstance(one, Mapping) and len(one) == 1 for one in value):
        return {key: one for each in value for key, one in each.items()}
    return value


def _merged(value: Any) -> dict[str, Any] | None:
    merged = merged_pairs(value)
    return dict(merged) if isinstance(merged, Mapping) else None
