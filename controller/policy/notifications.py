"""The key `notifications` of saltern.yaml: what goes to which receivers, together with what, and in which words.

    notifications:
      group_by: [kind]
      templates:
        short: {title: '{{ title }}', text: '{{ firing | length }} now'}
      routes:
      - receivers: [ops-chat]
        kinds: [minion_*, rollout_stopped]
        environments: [production]

Receivers are named only: what they are, with their addresses and secrets, stands in the controller's configuration.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, NamedTuple, TypeAlias

import msgspec

from highstate.targeting.match import BadTarget, expanded_target
from matching.linear_regex import PatternRefused
from options.document import Fault, Inside, Option
from options.durations import parse_seconds
from options.near_names import did_you_mean
from reactors.events import tag_matches

NoticeSeverity: TypeAlias = Literal["critical", "warning", "info"]
GroupLabel: TypeAlias = Literal["kind", "severity", "minion", "environment", "subject"]


class NoticeKind(NamedTuple):
    """Something that is notified of."""

    severity: NoticeSeverity
    about: str
    """What it is, in a few words."""
    ends: bool = True
    """Whether it is a condition, of whose end is told; else it happens once."""


KINDS: Final[Mapping[str, NoticeKind]] = {
    "minion_failed": NoticeKind("critical", "the last run of a minion failed"),
    "minion_lost": NoticeKind("critical", "a minion is not connected"),
    "minion_drifted": NoticeKind("warning", "a minion differs from what git says"),
    "minion_taken_back": NoticeKind("warning", "a minion is held at an earlier revision"),
    "minion_unconfirmed": NoticeKind("warning", "what a minion applied is taken back unless somebody confirms it"),
    "compile_broken": NoticeKind("critical", "the states of a minion do not compile"),
    "revision_refused": NoticeKind("critical", "the newest revision is not live"),
    "revision_applied": NoticeKind("info", "all minions have the live revision", ends=False),
    "remote_unreachable": NoticeKind("critical", "a git remote cannot be fetched"),
    "rollout_waiting": NoticeKind("warning", "a rollout waits for somebody"),
    "rollout_stopped": NoticeKind("critical", "a rollout stopped, or was taken back"),
    "rollout_finished": NoticeKind("info", "a rollout reached all its minions", ends=False),
    "preview_failing": NoticeKind("warning", "the preview of a pull request cannot be made"),
    "key_pending": NoticeKind("warning", "the key of a minion waits to be accepted"),
    "leader_changed": NoticeKind("warning", "another controller leads", ends=False),
}
"""All that is notified of, by name."""

MOST_ROUTES = 100
MOST_TEMPLATES = 100
TEMPLATE_CHARACTERS = 16 * 1024
"""Of each text of a template."""
_Name: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=100)]
_Names: TypeAlias = Annotated[tuple[_Name, ...], msgspec.Meta(max_length=100)]
_Labels: TypeAlias = Annotated[tuple[GroupLabel, ...], msgspec.Meta(max_length=5)]
_Wait: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=86400)]
_Interval: TypeAlias = Annotated[float, msgspec.Meta(ge=1, le=7 * 86400)]
_Repeat: TypeAlias = Annotated[float, msgspec.Meta(ge=60, le=30 * 86400)]
_TemplateText: TypeAlias = Annotated[str, msgspec.Meta(max_length=TEMPLATE_CHARACTERS)]
TIMES: Final = ("group_wait", "group_interval", "repeat_interval")


class NotificationTemplate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Words of a notification, in Jinja; an empty one leaves those that it has by itself."""

    title: _TemplateText = ""
    text: _TemplateText = ""


class NotificationRoute(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What goes to some receivers. Of what is empty everything fits; times are seconds."""

    receivers: Annotated[tuple[_Name, ...], msgspec.Meta(min_length=1, max_length=20)]
    kinds: _Names = ()
    """Globs of what is notified of."""
    severities: Annotated[tuple[NoticeSeverity, ...], msgspec.Meta(max_length=3)] = ()
    environments: _Names = ()
    """Globs of saltenvs that a minion has its states from."""
    target: Annotated[str, msgspec.Meta(max_length=2000)] = ""
    """Minions, as in a top file; what is about no minion does not fit."""
    group_by: _Labels = ("kind",)
    """What is equal of all that one message tells."""
    group_wait: _Wait = 30.0
    """Before the first message of a group, for what else comes."""
    group_interval: _Interval = 300.0
    """Between messages of a group that has changed."""
    repeat_interval: _Repeat = 4 * 3600.0
    """After which a group that has not changed is told again."""
    send_resolved: bool = True
    """Whether the end of conditions is told."""
    template: str = ""
    """Name of one of `templates`."""

    def takes(self, kind: str, severity: NoticeSeverity, environments: tuple[str, ...]) -> bool:
        """Whether something fits, but for the target."""
        if self.severities and severity not in self.severities:
            return False
        if self.kinds and not any(tag_matches(each, kind) for each in self.kinds):
            return False
        return not self.environments or any(
            tag_matches(pattern, one) for pattern in self.environments for one in environments
        )


class NotificationPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """What is notified of, and who gets it."""

    routes: tuple[NotificationRoute, ...] = ()
    templates: Mapping[str, NotificationTemplate] = {}
    lines: tuple[int, ...] = ()
    """Line of each route in saltern.yaml."""

    @property
    def receivers(self) -> tuple[str, ...]:
        """All that are named, once."""
        return tuple(dict.fromkeys(name for route in self.routes for name in route.receivers))


class WrittenNotifications(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The key as it is written, for the JSON schema. What stands beside the routes holds for each that has it not."""

    group_by: _Labels = ("kind",)
    group_wait: _Wait = 30.0
    group_interval: _Interval = 300.0
    repeat_interval: _Repeat = 4 * 3600.0
    send_resolved: bool = True
    template: str = ""
    templates: Mapping[str, NotificationTemplate] = {}
    routes: Annotated[tuple[NotificationRoute, ...], msgspec.Meta(max_length=MOST_ROUTES)] = ()


_DEFAULTS: Final = (*TIMES, "group_by", "send_resolved", "template")


def read_notifications(option: Option | None, nodegroups: Mapping[str, Any], faults: list[Fault]) -> NotificationPolicy:
    """What the key says; what is wrong with it is appended to the faults.

    Args:
        option: the key with the places of all that is in it; None where there is none.
        nodegroups: of the controller's configuration, for targets.
        faults: what was found so far.
    """
    if option is None or option.value is None:
        return NotificationPolicy()
    given = option.value
    if not isinstance(given, Mapping):
        faults.append(Fault(option.place, "notifications must be a mapping with `routes`"))
        return NotificationPolicy()
    known = WrittenNotifications.__struct_fields__
    for name in given:
        if name not in known:
            hint = did_you_mean(str(name), known, quote="`") or "known keys: " + ", ".join(known)
            faults.append(Fault(option.at((str(name),)), f"notifications: there is no {name!r}", hint))
    templates = _templates(option, given.get("templates"), faults)
    defaults = {name: given[name] for name in _DEFAULTS if name in given}
    routes = given.get("routes")
    if not isinstance(routes, list | tuple | None) or len(routes or ()) > MOST_ROUTES:
        faults.append(Fault(option.at(("routes",)), f"notifications: routes must be a list of at most {MOST_ROUTES}"))
        routes = ()
    found, lines = [], []
    for number, one in enumerate(routes or ()):
        inside = ("routes", number)
        if (route := _route(option, inside, one, defaults, nodegroups, faults)) is None:
            continue
        if route.template and route.template not in templates:
            hint = did_you_mean(route.template, tuple(templates), quote="`")
            text = f"notifications: there is no template {route.template!r}"
            faults.append(Fault(option.at((*inside, "template")), text, hint))
        found.append(route)
        lines.append(int(option.at(inside).rpartition(":")[2] or 0))
    return NotificationPolicy(routes=tuple(found), templates=templates, lines=tuple(lines))


def _route(
    option: Option,
    inside: Inside,
    given: Any,
    defaults: Mapping[str, Any],
    nodegroups: Mapping[str, Any],
    faults: list[Fault],
) -> NotificationRoute | None:
    place = option.at(inside)
    if not isinstance(given, Mapping):
        faults.append(Fault(place, "notifications: a route is a mapping", "write `- receivers: [ops-chat]`"))
        return None
    try:
        route = msgspec.convert(_in_seconds({**defaults, **given}), NotificationRoute)
        target = expanded_target(route.target, nodegroups) if route.target else ""
        if any(word.partition("@")[0] in ("I", "J") for word in target.split()):
            raise BadTarget(f"{route.target!r} asks for pillar: use ids or grains")
    except (msgspec.ValidationError, BadTarget, PatternRefused, ValueError) as error:
        hint = next(
            (
                did_you_mean(str(key), NotificationRoute.__struct_fields__, quote="`")
                for key in given
                if key not in NotificationRoute.__struct_fields__
            ),
            "",
        )
        faults.append(Fault(place, f"notifications: {error}", hint))
        return None
    for kind in route.kinds:
        if not any(tag_matches(kind, one) for one in KINDS):
            hint = did_you_mean(kind, tuple(KINDS), quote="`") or "there are " + ", ".join(KINDS)
            faults.append(Fault(option.at((*inside, "kinds")), f"notifications: nothing is called {kind!r}", hint))
    return msgspec.structs.replace(route, target=target)


def _templates(option: Option, given: Any, faults: list[Fault]) -> dict[str, NotificationTemplate]:
    if given is None:
        return {}
    if not isinstance(given, Mapping) or len(given) > MOST_TEMPLATES:
        text = f"notifications: templates must be a mapping of at most {MOST_TEMPLATES} names"
        faults.append(Fault(option.at(("templates",)), text))
        return {}
    found = {}
    for name, one in given.items():
        try:
            found[str(name)] = msgspec.convert(one, NotificationTemplate)
        except msgspec.ValidationError as error:
            place = option.at(("templates", str(name)))
            faults.append(Fault(place, f"notifications: template {name}: {error}", "it has `title` and `text`"))
    return found


def _in_seconds(given: Mapping[str, Any]) -> dict[str, Any]:
    found = {str(key): value for key, value in given.items()}
    for key in TIMES:
        if key in found:
            try:
                found[key] = parse_seconds(found[key])
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from error
    return found
