"""`state_compress_ids`: the states of one ID and one result as one entry.

Called by `minion.call.outputters.highstate`; pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

Entries = Mapping[str, Mapping[str, Any]]


def compressed(running: Entries) -> tuple[dict[str, Mapping[str, Any]], dict[str, int]]:
    """The entries, and by key how many states an entry stands for, and how many of them changed something."""
    groups = Counter(_group(key, entry) for key, entry in running.items())
    found: dict[str, Mapping[str, Any]] = {}
    counts: dict[str, int] = {}
    for key, entry in running.items():
        group = _group(key, entry)
        if groups[group] == 1:
            found[key], counts[key] = entry, 1
            continue
        state, _, _, fun = key.split("_|-")
        name = f"state_compressed_{entry['__sls__']}_{entry['__id__']}_{entry['result']}"
        joined = f"{state}_|-{entry['__id__']} ({groups[group]})_|-{name}_|-{fun}"
        found[joined] = _joined(found[joined], entry) if joined in found else entry
        counts[joined] = groups[group]
    return found, counts


def _group(key: str, entry: Mapping[str, Any]) -> tuple[str, ...]:
    return key.split("_|-")[0], str(entry["__id__"]), str(entry["__sls__"]), str(entry["result"])


def _joined(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Earliest start, all durations, the changes by name."""
    changes = one["changes"]
    if other["changes"]:
        by_name = changes.get("compressed changes") or ({one["name"]: changes} if changes else {})
        changes = {"compressed changes": {**by_name, other["name"]: other["changes"]}}
    return {
        **one,
        "__run_num__": min(one["__run_num__"], other["__run_num__"]),
        "duration": round(one["duration"] + other["duration"], 3),
        "start_time": min(one["start_time"], other["start_time"]),
        "changes": changes,
    }
