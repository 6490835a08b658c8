"""The JSON schema of saltern.yaml, for editors and checks of pull requests. Made of the types that read it."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from controller.policy.entries import DriftChange, PolicyEntry, RetryChange
from controller.policy.notifications import TIMES as NOTIFICATION_TIMES
from controller.policy.notifications import NotificationRoute, WrittenNotifications
from controller.policy.policy import DriftPolicy, Policy, PreviewPolicy
from controller.policy.rollout import Gate, RolloutPolicy, Wave
from controller.policy.seconds import PLAIN_TIMES, ROLLOUT_LISTS, TIMES
from reactors.remediation import RetryPolicy
from reactors.windows import Window

_TIME = {"anyOf": [{"type": "number", "minimum": 0}, {"type": "string", "pattern": r"^\d+(\.\d+)?\s*[smhd]?$"}]}
_STRUCTS: dict[str, tuple[type[msgspec.Struct], ...]] = {
    "drift": (DriftPolicy, DriftChange),
    "previews": (PreviewPolicy,),
    "retry": (RetryPolicy, RetryChange),
    "windows": (Window,),
    "rollout": (RolloutPolicy,),
}
_LISTED: dict[str, type[msgspec.Struct]] = {"waves": Wave, "gates": Gate}
"""Section -> the types that hold its times."""
_FREE = {"reactor": "array", "rules": "array", "schedule": "object", "beacons": "array"}
"""Keys whose values are described on pages of their own."""


class _Written(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    policies: Annotated[tuple[PolicyEntry, ...], msgspec.Meta(max_length=1000)] = ()
    notifications: WrittenNotifications = WrittenNotifications()


def json_schema() -> dict[str, Any]:
    """The schema, of draft 2020-12."""
    plain = [each for each in msgspec.structs.fields(Policy) if each.name not in (*_FREE, "policies", "notifications")]
    written = msgspec.defstruct(
        "Policy",
        [(each.name, each.type, msgspec.field(default=None)) for each in plain],
        bases=(_Written,),
        kw_only=True,
        forbid_unknown_fields=True,
    )
    (root,), parts = msgspec.json.schema_components([written], ref_template="#/$defs/{name}")
    found = parts.pop(root["$ref"].rpartition("/")[2])
    for name, kind in _FREE.items():
        found["properties"][name] = {"type": kind}
    timed = [(struct, keys) for section, keys in TIMES.items() for struct in _STRUCTS[section]]
    timed += [(_LISTED[name], keys) for name, keys in ROLLOUT_LISTS.items()]
    for struct, keys in timed:
        for key in keys & parts[struct.__name__]["properties"].keys():
            parts[struct.__name__]["properties"][key] = dict(_TIME)
    for name in (NotificationRoute.__name__, WrittenNotifications.__name__):
        parts[name]["properties"].update({key: dict(_TIME) for key in NOTIFICATION_TIMES})
    for part in (found, parts[PolicyEntry.__name__]):
        part["properties"].update({key: dict(_TIME) for key in PLAIN_TIMES})
    for struct in (DriftPolicy, DriftChange):
        parts[struct.__name__]["properties"]["autonomy"] = {"anyOf": [*_TIME["anyOf"], {"const": False}]}
    for part in (found, *parts.values()):
        for each in part["properties"].values():
            each.pop("default", None)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": "saltern.yaml", "$defs": parts}
