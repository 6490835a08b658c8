"""Makes a policy of the saltern.yaml of a tree. Called by the loop for each new revision.

A policy that cannot be read is a problem of the revision, never a default: a typing error must not turn `manual` into
`auto`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import yaml

from controller.policy.entries import read_entries
from controller.policy.ignored import check_ignored
from controller.policy.notifications import read_notifications
from controller.policy.policy import (
    DriftPolicy,
    EventPolicy,
    Policy,
    PreviewPolicy,
    check_autonomy,
    check_prune_limit,
)
from controller.policy.rollout import RolloutPolicy, with_nodegroups
from controller.policy.seconds import with_seconds
from controller.policy.tree_beacons import read_tree_beacons
from highstate.types import Files, Pos, Problem, Stage
from options.document import Fault, parse_document
from options.near_names import did_you_mean
from reactors.controller_jobs import read_controller_jobs
from reactors.remediation import RetryPolicy
from reactors.rules.native_rule import read_rules
from reactors.rules.reactor_map import ReactorMap, read_reactor_map
from reactors.windows import check_window

POLICY_FILE = "saltern.yaml"

_SECTIONS: dict[str, type[msgspec.Struct]] = {
    "drift": DriftPolicy,
    "retry": RetryPolicy,
    "previews": PreviewPolicy,
    "events": EventPolicy,
    "rollout": RolloutPolicy,
}


class PolicyInvalid(Exception):
    """saltern.yaml cannot be used; `problem` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_policy(files: Files, nodegroups: Mapping[str, Any] | None = None) -> Policy:
    """The policy of a tree; the defaults when it has no `saltern.yaml`. PolicyInvalid when it cannot be read.

    `nodegroups`: of the controller's configuration, for the targets of `policies`.
    """
    try:
        text = files.read(POLICY_FILE).decode()
    except FileNotFoundError:
        return Policy()
    except UnicodeDecodeError as error:
        raise _invalid(f"not UTF-8: {error}") from error
    try:
        data = yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = mark.line + 1 if mark else 0
        excerpt = mark.get_snippet(indent=2) or "" if mark else ""
        raise _invalid(f"no YAML: {getattr(error, 'problem', None) or error}", line=line, excerpt=excerpt) from error
    try:
        given = with_seconds(data)
        if not isinstance(given, dict):
            raise ValueError("Expected `object`, got something else")
        policy = msgspec.convert({k: v for k, v in given.items() if k not in _OWN_READERS}, Policy)
        if given.keys() & set(_OWN_READERS) - {"policies"}:
            policy = msgspec.structs.replace(policy, **_with_places(text, files, nodegroups or {}))
        policy.drift.schedule()
        check_autonomy(policy.drift)
        for window in policy.windows:
            check_window(window)
        check_ignored(policy.ignore_differences)
        check_prune_limit(policy.prune_limit)
        policy.previews.canaries_of(1)
        if policy.rollout is not None:
            policy = msgspec.structs.replace(policy, rollout=with_nodegroups(policy.rollout, nodegroups or {}))
        if "policies" in given:
            faults: list[Fault] = []
            entries = read_entries(parse_document(text, POLICY_FILE).get("policies"), policy, nodegroups or {}, faults)
            _refuse(text, faults)
            policy = msgspec.structs.replace(policy, policies=entries)
        return policy
    except (msgspec.ValidationError, ValueError) as error:
        path = _path_of(str(error))
        line = _line_of(text, path)
        excerpt = f"  {line} | {text.splitlines()[line - 1]}" if line else ""
        raise _invalid(str(error), line=line, excerpt=excerpt, hint=_values_of(path) or _near(data)) from error


def _reactor(text: str, files: Files) -> ReactorMap:
    """The reactors of a tree: each SLS must be in it. PolicyInvalid when they cannot be used."""
    faults: list[Fault] = []
    found = read_reactor_map(parse_document(text, POLICY_FILE).get("reactor"), faults)
    for entry in found.entries:
        for sls in entry.sls:
            path, _, saltenv = sls.removeprefix("salt://").partition("?saltenv=")
            if not sls.startswith("salt://"):
                faults.append(Fault(entry.place, f"reactor: {sls!r} is no file of the tree", "write salt://PATH"))
            elif files.oid(path, saltenv or "base") is None:
                faults.append(Fault(entry.place, f"reactor: there is no {path} in saltenv {saltenv or 'base'}"))
    _refuse(text, faults)
    return found


_OWN_READERS = ("reactor", "rules", "schedule", "beacons", "notifications", "policies")
"""Keys whose values are read with the places of all that is in them."""


def _with_places(text: str, files: Files, nodegroups: Mapping[str, Any]) -> dict[str, Any]:
    """What is read by readers of its own. PolicyInvalid when it cannot be used."""
    options, faults = parse_document(text, POLICY_FILE), list[Fault]()
    rules = read_rules(options.get("rules"), faults)
    schedule = read_controller_jobs(options.get("schedule"), faults)
    beacons = read_tree_beacons(options.get("beacons"), files, faults)
    notifications = read_notifications(options.get("notifications"), nodegroups, faults)
    _refuse(text, faults)
    return {
        "reactor": _reactor(text, files),
        "rules": rules,
        "schedule": schedule,
        "beacons": beacons,
        "notifications": notifications,
    }


def _refuse(text: str, faults: list[Fault]) -> None:
    """PolicyInvalid for the first of the faults."""
    if faults:
        line = int(faults[0].place.rpartition(":")[2] or 0)
        shown = f"  {line} | {text.splitlines()[line - 1]}" if line else ""
        raise _invalid(faults[0].message, line=line, excerpt=shown, hint=faults[0].hint)


def _path_of(message: str) -> tuple[str, ...]:
    """The keys that lead to what an error is about: those that msgspec names, then one that it does not know."""
    where = re.search(r"at `\$\.?([^`]*)`", message)
    keys = [key for key in re.split(r"[.\[\]]", where[1] if where else "") if key]
    unknown = re.search(r"unknown field `([^`]*)`", message)
    scheduled = re.match(r"(drift|previews|retry|windows|ignore_differences|rollout)[.:](\w*)", message)
    return (*keys, *(unknown.groups() if unknown else ()), *(filter(None, scheduled.groups()) if scheduled else ()))


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The line on which a key stands; 0 when there is no such key."""
    node, line = yaml.compose(text, Loader=yaml.SafeLoader), 0
    for key in path:
        if isinstance(node, yaml.SequenceNode) and key.isdigit() and int(key) < len(node.value):
            node = node.value[int(key)]
            line = node.start_mark.line + 1
            continue
        pairs = node.value if isinstance(node, yaml.MappingNode) else ()
        found = next((pair for pair in pairs if pair[0].value == key), None)
        if found is None:
            break
        line, node = found[0].start_mark.line + 1, found[1]
    return line


def _values_of(path: tuple[str, ...]) -> str:
    """What a key may be, where that is a choice."""
    structs: dict[tuple[str, ...], type[msgspec.Struct]] = {
        (): Policy,
        **{(key,): each for key, each in _SECTIONS.items()},
    }
    struct = structs.get(path[:-1]) if path else None
    chosen = get_type_hints(struct).get(path[-1]) if struct is not None else None
    values = get_args(chosen) if get_origin(chosen) is Literal else ()
    return f"{'.'.join(path)} is {' or '.join(values)}" if values else ""


def _invalid(message: str, *, line: int = 0, excerpt: str = "", hint: str = "") -> PolicyInvalid:
    pos = Pos(file=POLICY_FILE, line=line, stage=Stage.YAML)
    return PolicyInvalid(Problem(message=message, pos=pos, excerpt=excerpt, hint=hint))


def _near(data: Any) -> str:
    """The known key that a mistyped one is close to."""
    if not isinstance(data, dict):
        return "write a mapping: apply, drift, windows, policies, previews ... (docs/policy.md)"
    pairs: list[tuple[Any, type[msgspec.Struct]]] = [(key, Policy) for key in data]
    for name, struct in _SECTIONS.items():
        section = data.get(name)
        pairs += [(key, struct) for key in (section if isinstance(section, dict) else ())]
    for key, struct in pairs:
        known = struct.__struct_fields__
        if key not in known:
            return did_you_mean(str(key), known, quote="`") or "known keys: " + ", ".join(known)
    return ""
