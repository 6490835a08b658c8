"""The beacon `http_status`: answers of HTTP servers that are not as they should be.

A condition is what should hold: `value: 400, comp: <` says that the status is below 400. Salt compares the other way
round, so that its own example would fire for every good answer.
"""

from __future__ import annotations

import json
import operator
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from matching import bounded_regex
from minion.beacons.beacon import BeaconKind, Complaint, Found, Memory, Options, World

MOST_BYTES = 1024 * 1024
"""Of an answer that are read."""

SECONDS = 30.0
"""That an answer may take where the configuration gives none."""

_COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "search": lambda received, pattern: bounded_regex.search(str(pattern), str(received)),
}
_OF_SITE = frozenset(("url", "timeout", "content_type", "content-type", "status", "content"))
_EXAMPLE = "`- sites:` with a mapping for each that has a url"


def _check(options: Options) -> Iterator[Complaint]:
    sites = options.get("sites")
    if not isinstance(sites, dict) or not sites:
        yield (("sites",) if "sites" in options else ()), f"sites are missing: {_EXAMPLE}"
        return
    for name, site in sites.items():
        inside = ("sites", str(name))
        if not isinstance(site, dict) or not str(site.get("url", "")).startswith(("http://", "https://")):
            yield inside, f"{name} must have a url that begins with http:// or https://"
            continue
        for key, value in site.items():
            if key not in _OF_SITE:
                yield (*inside, str(key)), f"{key} is no option of a site: {', '.join(sorted(_OF_SITE))} are"
            elif key in ("status", "content"):
                for what in _check_conditions(value):
                    yield (*inside, key), what
        if isinstance(site.get("timeout", SECONDS), bool) or not isinstance(site.get("timeout", SECONDS), int | float):
            yield (*inside, "timeout"), f"timeout must be a number of seconds, not {site['timeout']!r}"


def _check_conditions(conditions: Any) -> Iterator[str]:
    for one in conditions if isinstance(conditions, list) else [conditions]:
        if not isinstance(one, dict) or "value" not in one or one.get("comp", "==") not in _COMPARISONS:
            yield f"{one!r} must have a value, and comp must be one of {' '.join(_COMPARISONS)}"


class _Answer(NamedTuple):
    status: int
    body: bytes


def _look(options: Options, memory: Memory, world: World) -> Found:
    found: Found = []
    for site in options["sites"].values():
        try:
            answer = _get(site["url"], float(site.get("timeout", SECONDS)))
        except (OSError, ValueError) as error:
            found.append({"url": site["url"], "status_code": 0, "comment": str(error)})
            continue
        found += _conditions(site, "status", answer.status)
        if "content" in site:
            found += _conditions(site, "content", _decoded(answer.body))
    return found


def _get(url: str, seconds: float) -> _Answer:
    import urllib.error  # with http.client and ssl, in the process of the look alone
    import urllib.request

    request = urllib.request.Request(url, headers={"User-Agent": "saltern"})  # noqa: S310  (the check allows http)
    try:
        with urllib.request.urlopen(request, timeout=seconds) as answer:  # noqa: S310
            return _Answer(answer.status, answer.read(MOST_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            return _Answer(error.code, error.read(MOST_BYTES))


def _decoded(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError:
        return body.decode("utf-8", "replace")


def _conditions(site: Mapping[str, Any], key: str, value: Any) -> Iterator[dict[str, Any]]:
    for one in site.get(key, ()):
        path = str(one.get("path", ""))
        received = _at(value, path) if path else value
        if received is None:
            continue
        try:
            holds = _COMPARISONS[one.get("comp", "==")](received, one["value"])
        except (TypeError, ValueError):
            holds = False
        if not holds:
            yield {"expected": one["value"], "received": received, "url": site["url"], "path": path}


def _at(value: Any, path: str) -> Any:
    """The value at keys and indexes that colons separate; None where there is none."""
    for key in path.split(":"):
        try:
            value = value[int(key)] if isinstance(value, list) else value[key]
        except (LookupError, TypeError, ValueError):
            return None
    return value


_KIND = BeaconKind(
    check=_check,
    look=_look,
    interval=60.0,
    slow=True,
    seconds=300.0,
    known=frozenset(("sites", "emitatstartup", "onchangeonly")),
)

BEACONS: Mapping[str, BeaconKind] = {"http_status": _KIND}
