"""Policy: how a push is applied and drift is handled, as data in git (`saltern.yaml` beside the base top.sls).

    apply: auto            # or manual: wait for `saltern sync`
    push: changed          # or whole: apply the whole highstate on each push
    verify: apply          # or report, none: what is done about what the plan of a push missed
    drift:
      mode: report         # or remediate
      interval: 30m        # seconds, or a number with s, m, h, d; 0 never
      cron: '0 4 * * *'    # instead of interval: a cron expression, in each minion's local time
      splay: 60s           # spread of the minions' clocks
      watch: false         # or true: files of the document that are edited are checked at once
    facts: [cmd.run]       # functions that templates may ask of minions, beside those that only look
    missing_source: refuse # or fail_state: a source that is not in the tree fails its own state alone
    previews:              # what previews of pull requests check, and what may be done there; see PreviewPolicy
      live: 2
    events:                # which kinds of events are durable; see EventPolicy
      durable: ['my/deploy/*']
    reactor:               # which SLS of the tree answer which events, beside those of the controller's file
    - 'salt/minion/*/start': [salt://reactor/start.sls]
    rules: []              # native rules, as docs/reactors.md has them
    beacons: []            # beacons of minions by their ids, as docs/beacons.md has them
    schedule: {}           # runners, and functions on minions, at times, as docs/schedules.md has them

Called by the loop for each new revision. A policy that cannot be read is a problem of the revision, never a default:
a typing error must not turn `manual` into `auto`.
"""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, get_args, get_origin, get_type_hints

import msgspec
import yaml

from controller.reconcile.tree_beacons import read_tree_beacons
from highstate.compile_options import MissingSource
from highstate.targeting.targeted_beacons import TargetedBeacons
from highstate.types import Files, Pos, Problem, Stage
from options.document import Fault, parse_document
from options.durations import parse_seconds
from options.near_names import did_you_mean
from reactors.controller_jobs import ControllerJobs, read_controller_jobs
from reactors.events import tag_matches
from reactors.rules.native_rule import NativeRules, read_rules
from reactors.rules.reactor_map import ReactorMap, read_reactor_map
from reactors.schedule import BadSchedule, parse_schedule

POLICY_FILE = "saltern.yaml"

_TIMES = {"drift": frozenset(("interval", "splay")), "previews": frozenset(("apply_hold",))}
"""Keys of sections that are times."""


_FEW = msgspec.Meta(max_length=100)


class DriftPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What minions do to find drift, and what is done about it. Times in seconds."""

    mode: Literal["report", "remediate"] = "report"
    interval: float = 1800.0
    splay: float = 60.0
    cron: str = ""
    """Takes the place of `interval` when it is not empty."""
    timezone: str = ""
    """Whose clocks `cron` follows, as `Europe/Berlin`; empty: those of each minion."""
    watch: bool = False
    """Whether minions also check a file or service as soon as somebody else changes it."""

    def schedule(self) -> dict[str, float | str | bool]:
        """As the desired document carries it (`minion.agent.drift`); BadSchedule when it cannot be followed."""
        schedule: dict[str, float | str | bool] = {}
        if self.cron:
            schedule = {"cron": self.cron, "splay": self.splay}
            schedule |= {"timezone": self.timezone} if self.timezone else {}
        elif self.timezone:
            raise BadSchedule("timezone says how the times of cron are read, and there is no cron")
        elif self.interval > 0:
            schedule = {"interval": self.interval, "splay": self.splay}
        parse_schedule(schedule)
        return {**schedule, "watch": True} if self.watch else schedule


class EventPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is kept of events."""

    durable: Annotated[tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=255)], ...], _FEW] = ()
    """Globs of tags whose events are on disk before anybody sees them, and are all answered by reactors."""

    def is_durable(self, tag: str) -> bool:
        """Whether events of a tag are durable."""
        return any(tag_matches(pattern, tag) for pattern in self.durable)


_TOP = "top"


class PreviewPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What previews of pull requests check, and what may be done there. That of the base holds, never of the head."""

    live: Annotated[int, msgspec.Meta(ge=0, le=1000)] = 2
    """Connected minions of each class of change that are asked for a test run; 0: none."""
    max_minions: Annotated[int, msgspec.Meta(ge=1)] | None = None
    """Minions that a change may concern."""
    forbid: tuple[str, ...] = ()
    """State functions (globs) that a change may not add, change or trigger."""
    irreversible: Literal["allow", "approve"] = "allow"
    """Whether what a revert does not take back needs an approval."""
    whole_group: Literal["allow", "approve"] = "allow"
    """Whether a restart or stop of a service on all minions of a group needs an approval."""
    strangers: Literal["none", "restricted"] = "none"
    """What a pull request of somebody without write access gets before a maintainer asks for its preview."""
    public_pillar: tuple[str, ...] = ()
    """Keys of the pillar (paths with `:`, each part a glob) that strangers may see, with all below them."""
    comment: Literal["update", "new", "hide-and-new"] = "update"
    """What happens to the comment of an earlier preview."""
    apply: bool = False
    """Whether people with write access may apply a pull request before its merge."""
    canary: int | str = 1
    """Minions of each class of change that `/saltern apply --canary` begins with: a number, or a percentage as text."""
    apply_hold: Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)] = 3600.0
    """Seconds until minions that a pull request was applied to go back, unless it is merged."""
    drafts: bool = True
    """Whether drafts are previewed before somebody with write access asks for it."""
    groups: str | tuple[str, ...] = ("role", "roles")
    """Grains whose values are groups of minions, beside the nodegroups; `top` for the targets of the top file."""

    def canaries_of(self, minions: int) -> int:
        """How many of so many minions of a class are canaries, at least one. ValueError when `canary` is neither."""
        if isinstance(self.canary, int) and not isinstance(self.canary, bool) and self.canary >= 1:
            return min(minions, self.canary)
        share = re.fullmatch(r"(\d{1,3})\s*%", self.canary) if isinstance(self.canary, str) else None
        if share is None or not 1 <= int(share[1]) <= 100:
            raise ValueError(f"previews.canary: {self.canary!r} is no number from 1 and no percentage from 1% to 100%")
        return max(1, math.ceil(minions * int(share[1]) / 100))

    @property
    def group_grains(self) -> tuple[str, ...]:
        """The grains of `groups`."""
        groups = (self.groups,) if isinstance(self.groups, str) else self.groups
        return tuple(name for name in groups if name != _TOP)

    @property
    def group_targets(self) -> bool:
        """Whether the targets of the top file are groups, too."""
        return _TOP in ((self.groups,) if isinstance(self.groups, str) else self.groups)


class Policy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One policy for the fleet."""

    apply: Literal["auto", "manual"] = "auto"
    push: Literal["changed", "whole"] = "changed"
    verify: Literal["apply", "report", "none"] = "apply"
    """What a minion does when it has applied a part: plan the whole once, and apply or report what was missed."""
    drift: DriftPolicy = DriftPolicy()
    facts: tuple[str, ...] = ()
    """Functions (globs) that templates may ask of minions beside those that only look."""
    missing_source: MissingSource = "refuse"
    """What a salt:// source that is not in the tree does: the minion's compile fails, or the state does there."""
    previews: PreviewPolicy = PreviewPolicy()
    events: EventPolicy = EventPolicy()
    reactor: ReactorMap = ReactorMap()
    """Which SLS of the tree answer which events."""
    rules: NativeRules = NativeRules()
    """Native rules: events answered by typed calls."""
    schedule: ControllerJobs = msgspec.field(default_factory=ControllerJobs)
    """What the controller runs at times."""
    beacons: tuple[TargetedBeacons, ...] = ()
    """Beacons of minions."""


_SECTIONS: dict[str, type[msgspec.Struct]] = {"drift": DriftPolicy, "previews": PreviewPolicy, "events": EventPolicy}


class PolicyInvalid(Exception):
    """saltern.yaml cannot be used; `problem` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def read_policy(files: Files) -> Policy:
    """The policy of a tree; the defaults when it has no `saltern.yaml`. PolicyInvalid when it cannot be read."""
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
        given = _with_seconds(data)
        if not isinstance(given, dict):
            raise ValueError("Expected `object`, got something else")
        policy = msgspec.convert({k: v for k, v in given.items() if k not in _OWN_READERS}, Policy)
        if any(key in given for key in _OWN_READERS):
            policy = msgspec.structs.replace(policy, **_with_places(text, files))
        policy.drift.schedule()
        policy.previews.canaries_of(1)
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


_OWN_READERS = ("reactor", "rules", "schedule", "beacons")
"""Keys whose values are read with the places of all that is in them."""


def _with_places(text: str, files: Files) -> dict[str, Any]:
    """What is read by readers of its own. PolicyInvalid when it cannot be used."""
    options, faults = parse_document(text, POLICY_FILE), list[Fault]()
    rules = read_rules(options.get("rules"), faults)
    schedule = read_controller_jobs(options.get("schedule"), faults)
    beacons = read_tree_beacons(options.get("beacons"), files, faults)
    _refuse(text, faults)
    return {"reactor": _reactor(text, files), "rules": rules, "schedule": schedule, "beacons": beacons}


def _refuse(text: str, faults: list[Fault]) -> None:
    """PolicyInvalid for the first of the faults."""
    if faults:
        line = int(faults[0].place.rpartition(":")[2] or 0)
        shown = f"  {line} | {text.splitlines()[line - 1]}" if line else ""
        raise _invalid(faults[0].message, line=line, excerpt=shown, hint=faults[0].hint)


def _path_of(message: str) -> tuple[str, ...]:
    """The keys that lead to what an error is about: those that msgspec names, then one that it does not know."""
    where = re.search(r"at `\$\.?([^`]*)`", message)
    keys = [key for key in (where[1] if where else "").split(".") if key]
    unknown = re.search(r"unknown field `([^`]*)`", message)
    scheduled = re.match(r"(drift|previews)\.(\w+):", message)
    return (*keys, *(unknown.groups() if unknown else ()), *(scheduled.groups() if scheduled else ()))


def _line_of(text: str, path: tuple[str, ...]) -> int:
    """The line on which a key stands; 0 when there is no such key."""
    node, line = yaml.compose(text, Loader=yaml.SafeLoader), 0
    for key in path:
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


def _with_seconds(data: Any) -> Any:
    if not isinstance(data, dict):
        return data
    found = dict(data)
    for section, keys in _TIMES.items():
        if not isinstance(data.get(section), dict):
            continue
        found[section] = dict(data[section])
        for key in keys & data[section].keys():
            try:
                found[section][key] = parse_seconds(data[section][key])
            except ValueError as error:
                raise ValueError(f"{section}.{key}: {error}") from error
    return found


def _near(data: Any) -> str:
    """The known key that a mistyped one is close to."""
    if not isinstance(data, dict):
        return "write a mapping: apply, push, verify, drift, previews, events, reactor, rules, schedule, beacons"
    pairs: list[tuple[Any, type[msgspec.Struct]]] = [(key, Policy) for key in data]
    for name, struct in _SECTIONS.items():
        section = data.get(name)
        pairs += [(key, struct) for key in (section if isinstance(section, dict) else ())]
    for key, struct in pairs:
        known = struct.__struct_fields__
        if key not in known:
            return did_you_mean(str(key), known, quote="`") or "known keys: " + ", ".join(known)
    return ""
