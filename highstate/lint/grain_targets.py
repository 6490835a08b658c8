"""Pillar targeted by a grain: a minion reports its grains itself, so it gets the pillar of any that it claims.

Called by `tops` for the top files of pillar trees. The id is the controller's, and grains of the platform are left out:
pillar by operating system is common and seldom a secret.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from highstate.types import Value

_PLATFORM = """
    cpuarch cpu_model id init kernel kernelrelease kernelversion locale_info lsb_distrib_codename lsb_distrib_id
    lsb_distrib_release mem_total num_cpus os os_family osarch oscodename osfinger osfullname osmajorrelease osrelease
    osrelease_info pythonversion saltversion saltversioninfo systemd virtual virtual_subtype
"""
PLATFORM_GRAINS = frozenset(_PLATFORM.split())
"""Grains that describe the platform, and `id`, which the controller sets."""
_WORD = re.compile(r"\b(?P<kind>[GPN])(?P<delimiter>[^\w\s@])?@(?P<name>[^\s()]+)")


def claimed_grains(target: str, items: Value, nodegroups: Mapping[str, Any]) -> list[str]:
    """Names of the grains that a target of a top file asks for and a minion can claim, in order.

    Args:
        target: as the top file has it.
        items: what the target is given; `match: grain` in it says how the target is read.
        nodegroups: definitions by name, for `N@` and `match: nodegroup`.
    """
    matcher = _matcher(items)
    if matcher in ("grain", "grain_pcre"):
        found: Iterator[str] = iter([target.split(":", 1)[0]])
    elif matcher == "nodegroup":
        found = _of_compound(f"N@{target}", nodegroups, ())
    else:
        found = _of_compound(target, nodegroups, ()) if matcher in ("", "compound") else iter(())
    return list(dict.fromkeys(name for name in found if name not in PLATFORM_GRAINS))


def _matcher(items: Value) -> Value:
    """What `match` says among the items; empty when it is not there."""
    given = items if isinstance(items, list) else []
    return next((item["match"] for item in given if isinstance(item, dict) and "match" in item), "")


def _of_compound(target: str, nodegroups: Mapping[str, Any], inside: tuple[str, ...]) -> Iterator[str]:
    for word in _WORD.finditer(target):
        name = word["name"]
        if word["kind"] != "N":
            yield name.split(word["delimiter"] or ":", 1)[0]
        elif name not in inside and name in nodegroups:
            definition = nodegroups[name]
            text = " ".join(map(str, definition)) if isinstance(definition, list | tuple) else str(definition)
            yield from _of_compound(text, nodegroups, (*inside, name))
