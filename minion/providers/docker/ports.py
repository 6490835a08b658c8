"""Ports of containers as SLS has them: `8080:80`, `10.1.1.1:5000-5010:80-90/udp`.

Called by the options of containers. Behaviour: `port_bindings` of doc/ref/states/all/salt.states.docker_container.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from minion.providers.docker import values
from minion.providers.docker.values import BadDockerValue

_MOST_PARTS = 3


def opened(value: Any) -> list[Any]:
    """Ports as the SDK takes them: a number, or a number and `udp`."""
    found: list[Any] = []
    for one in [value] if isinstance(value, int) else values.words(value):
        number, _, protocol = str(one).partition("/")
        found += [_port(each, protocol) for each in _range(number)]
    return list(dict.fromkeys(found))


def bindings(value: Any) -> dict[Any, Any]:
    """Port of the container → where it is published, as the SDK takes them."""
    if isinstance(value, Mapping):
        return dict(value)
    found: dict[Any, list[Any]] = {}
    for one in values.texts(value):
        for port, place in _binding(one):
            found.setdefault(port, []).append(place)
    return {port: places if len(places) > 1 else places[0] for port, places in found.items()}


def with_published(ports: Iterable[Any], published: Mapping[Any, Any]) -> list[Any]:
    """The ports, and those that are published."""
    more = []
    for one in published:
        number, _, protocol = str(one).partition("/")
        more.append(_port(int(number), protocol))
    return list(dict.fromkeys([*ports, *more]))


def _binding(text: str) -> list[tuple[Any, Any]]:
    parts = [part.strip() for part in text.rsplit(":", _MOST_PARTS - 1)]
    inside, _, protocol = parts[-1].partition("/")
    if not inside or (len(parts) == _MOST_PARTS - 1 and not parts[0]):
        raise BadDockerValue(f"Empty port in port binding definition '{text}'")
    address = values.address(parts[0].strip("[]")) if len(parts) == _MOST_PARTS else ""
    outside = parts[-2] if len(parts) > 1 else ""
    targets = _range(inside)
    sources: list[int | None] = list(_range(outside)) if outside else [None] * len(targets)
    if len(sources) != len(targets):
        raise BadDockerValue(
            f"Host port range ({outside}) does not have the same number of ports as the container port range ({inside})"
        )
    named = [f"{each}/{protocol}" if protocol and protocol != "tcp" else each for each in targets]
    if not address:
        return list(zip(named, sources, strict=True))
    places = [(address,) if port is None else (address, port) for port in sources]
    return list(zip(named, places, strict=True))


def _port(number: int, protocol: str) -> Any:
    return (number, protocol.lower()) if protocol and protocol.lower() != "tcp" else number


def _range(value: Any) -> range:
    """`80` or `8000-8010`."""
    first, _, last = str(value).partition("-")
    try:
        start, end = int(first), int(last or first)
    except ValueError:
        raise BadDockerValue(f"'{value}' is non-numeric or an invalid port range") from None
    if start > end:
        raise BadDockerValue(f"Start of port range ({start}) cannot be greater than end of port range ({end})")
    return range(start, end + 1)
