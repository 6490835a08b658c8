"""Whether somebody may have something done. Pure: called by `access`, which keeps each decision.

1. Root and the user of the controller may do everything.
2. A user of `publisher_acl_blacklist` may do nothing, and nobody else may call a function of it.
3. A role covers what the API does: to look (viewer), to have what git says applied (operator), to approve rollouts
   (approver), everything (admin).
4. Functions on minions, runners and wheels are covered by rules: `publisher_acl` for users of this machine,
   `external_auth` for holders of a token. Each function of a call must be covered by one rule for all its minions.
   What no rule covers is refused.
5. A token that has scopes is for these alone, whatever its holder may.

Rules are found as in salt/utils/minions.py (`fill_auth_list`, `auth_check`, `spec_check`), with one difference: of
several functions at once, Salt asks for a rule for one of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from controller.access.principals import Principal
from controller.config.access import (
    EVERYONE,
    ROLES,
    SCOPES,
    AccessEntry,
    AccessRule,
    AccessSettings,
    ArgumentRule,
    Role,
    RuleKind,
)
from matching.linear_regex import PatternRefused
from matching.matcher import Matcher

SelectMinions: TypeAlias = Callable[[str], frozenset[str]]
"""Compound target -> the accepted minions in it; none for a target that cannot be read."""

_FUNCTION = re.compile(r"[A-Za-z]\w*\.[A-Za-z]\w*", re.ASCII)
"""Names with a `_` in front are private to a module: no minion calls them."""
_ARGUMENT_CHARACTERS = 10_000
"""Of an argument that a pattern is compared with; a longer one fits none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedFunction:
    """One function of a call."""

    kind: RuleKind
    fun: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Whether, and why."""

    allowed: bool
    why: str


_EVERYTHING = Decision(allowed=True, why="root, or the user of the controller")


def decide_role(principal: Principal, role: Role, settings: AccessSettings) -> Decision:
    """Whether somebody has a role, or one that covers it."""
    if principal.everything:
        return _EVERYTHING
    if _is_blacklisted(principal.name, settings.blacklist_users):
        return Decision(allowed=False, why="the user is in publisher_acl_blacklist")
    if not _is_in_scope(principal, role):
        return _out_of_scope(principal)
    for held in ROLES[ROLES.index(role) :]:
        if any(_is(principal, each) for each in settings.roles.get(held, ())):
            return Decision(allowed=True, why=f"api_roles: {held}")
    return Decision(allowed=False, why=f"nobody gave {principal.name or 'who asks'} the role {role} (api_roles)")


def roles_of(principal: Principal, settings: AccessSettings) -> tuple[Role, ...]:
    """The roles that somebody has here and now, the smallest first."""
    return tuple(role for role in ROLES if decide_role(principal, role, settings).allowed)


def decide_calls(
    principal: Principal,
    calls: Sequence[AskedFunction],
    minions: frozenset[str] | None,
    settings: AccessSettings,
    select: SelectMinions,
) -> Decision:
    """Whether somebody may call all of these functions.

    Args:
        principal: who asks.
        calls: the functions.
        minions: on whom, for functions of minions; None: whether there are any on which it is allowed.
        settings: the rules.
        select: finds the minions of a rule.
    """
    if principal.everything:
        return _EVERYTHING
    if decide_role(principal, "admin", settings).allowed:
        return Decision(allowed=True, why="api_roles: admin")
    if _is_blacklisted(principal.name, settings.blacklist_users):
        return Decision(allowed=False, why="the user is in publisher_acl_blacklist")
    if not _is_in_scope(principal, "operator"):
        return _out_of_scope(principal)
    rules, source = rules_of(principal, settings)
    for call in calls:
        if not _FUNCTION.fullmatch(call.fun):
            return Decision(allowed=False, why=f"{call.fun[:80]!r} is no name of a function")
        if any(_is_named(pattern, call.fun) for pattern in settings.blacklist_modules):
            return Decision(allowed=False, why=f"{call.fun} is in publisher_acl_blacklist")
        if named := _named_in_arguments(call, settings.blacklist_modules):
            return Decision(allowed=False, why=f"an argument names {named}, which is in publisher_acl_blacklist")
        if not any(_covers(rule, call, minions, select) for rule in rules):
            return Decision(allowed=False, why=_uncovered(call, principal, source, rules))
    return Decision(allowed=bool(calls), why=source)


def decide_peer(
    minion: str, call: AskedFunction, minions: frozenset[str] | None, settings: AccessSettings, select: SelectMinions
) -> Decision:
    """Whether a minion may have a function called on others, or a runner. Nothing is allowed that no rule names.

    `minions` None: whether there are any on which it may.

    Source: `minion_pub` and `minion_runner` of salt/daemons/masterapi.py.
    """
    source, entries = ("peer", settings.peer) if call.kind == "minion" else ("peer_run", settings.peer_run)
    if not _FUNCTION.fullmatch(call.fun) or call.fun.startswith("publish."):
        return Decision(allowed=False, why=f"{call.fun[:80]!r} is nothing that a minion may publish")
    rules = [rule for entry in entries if _fits(entry.who, minion) for rule in entry.rules]
    if any(_covers(rule, call, minions, select) for rule in rules):
        return Decision(allowed=True, why=source)
    return Decision(allowed=False, why=_missing(call, source, "it", rules))


def _is_in_scope(principal: Principal, role: Role) -> bool:
    """Whether the token that was shown is for what needs a role; where none was, everything is."""
    least = ROLES.index(role)
    return not principal.scopes or any(SCOPES.index(each) >= least for each in principal.scopes)


def _out_of_scope(principal: Principal) -> Decision:
    return Decision(allowed=False, why=f"the token is for {', '.join(principal.scopes)} alone")


def _uncovered(call: AskedFunction, principal: Principal, source: str, rules: Sequence[AccessRule]) -> str:
    if not rules:
        return f"{source} says nothing about {principal.name or 'who asks'}"
    return _missing(call, source, principal.name, rules)


def _missing(call: AskedFunction, source: str, who: str, rules: Sequence[AccessRule]) -> str:
    """Which rule there is not: for the function, for its arguments, or for all of the minions."""
    what = call.fun if call.kind == "minion" else f"the {call.kind} {call.fun}"
    found = f"no rule of {source} lets {who} call {what}"
    of_kind = [rule for rule in rules if rule.kind == call.kind]
    if any(_covers_function(rule, call) for rule in of_kind):
        return f"{found} on all of these minions"
    if any(_fits(each.pattern, call.fun) for rule in of_kind for each in rule.functions):
        return f"{found} with these arguments"
    return found


def rules_of(principal: Principal, settings: AccessSettings) -> tuple[list[AccessRule], str]:
    """All rules for somebody, and the option that they come from; scopes and the blacklist are not looked at."""
    of_socket = principal.method == "socket"
    entries = settings.publisher_acl if of_socket else settings.external_auth.get(principal.method, ())
    source = "publisher_acl" if of_socket else f"external_auth: {principal.method}"
    found: list[AccessRule] = []
    named = False
    for entry in entries:
        if entry.who == EVERYONE and not entry.group:
            continue
        if entry.group:
            found += entry.rules if entry.who in principal.groups else ()
        elif principal.name and _is_named(entry.who, principal.name):
            named = True
            found += entry.rules
    if principal.name and (settings.permissive or not named):
        found += _rules_of_everyone(entries)
    return found, source


def _rules_of_everyone(entries: Iterable[AccessEntry]) -> list[AccessRule]:
    return [rule for entry in entries if entry.who == EVERYONE and not entry.group for rule in entry.rules]


def _covers(rule: AccessRule, call: AskedFunction, minions: frozenset[str] | None, select: SelectMinions) -> bool:
    if rule.kind != call.kind or not _covers_function(rule, call):
        return False
    if call.kind != "minion" or not rule.target or minions is None:
        return True
    return bool(minions) and minions <= select(rule.target)


def _covers_function(rule: AccessRule, call: AskedFunction) -> bool:
    """Whether a rule names the function and its arguments."""
    return any(
        _fits(each.pattern, call.fun) and (not each.arguments or any(_fit(one, call) for one in each.arguments))
        for each in rule.functions
    )


def _fit(rule: ArgumentRule, call: AskedFunction) -> bool:
    if len(call.args) < len(rule.args) or not set(rule.kwargs) <= set(call.kwargs):
        return False
    pairs = [*zip(rule.args, call.args, strict=False), *((each, call.kwargs[key]) for key, each in rule.kwargs.items())]
    return all(pattern is None or _fits(pattern, str(value)) for pattern, value in pairs)


def _fits(pattern: str, text: str) -> bool:
    """Whether a pattern is one of the whole text."""
    if len(text) > _ARGUMENT_CHARACTERS:
        return False
    try:
        return Matcher().matches(rf"(?:{pattern})\Z", text)
    except (re.error, PatternRefused):
        return False


def _named_in_arguments(call: AskedFunction, blacklist: Sequence[str]) -> str:
    """A function of the blacklist that is a text among the arguments, as of `module.run`; empty: there is none."""
    waiting: list[Any] = [call.args, call.kwargs] if blacklist else []
    while waiting:
        match waiting.pop():
            case str(text):
                for name in (each.strip() for each in text.split(",")):
                    if _FUNCTION.fullmatch(name) and any(_is_named(pattern, name) for pattern in blacklist):
                        return name
            case Mapping() as mapping:
                waiting += [*mapping.keys(), *mapping.values()]
            case list() | tuple() as several:
                waiting += several
    return ""


def _is_blacklisted(name: str, patterns: Iterable[str]) -> bool:
    return any(_is_named(pattern, name) for pattern in patterns)


def _is_named(pattern: str, name: str) -> bool:
    """Salt's `expr_match`: a name, a glob or a regular expression for the whole."""
    if pattern == name:
        return True
    try:
        if Matcher().glob(pattern, name):
            return True
    except PatternRefused:
        return False
    return _fits(pattern, name)


def _is(principal: Principal, who: str) -> bool:
    """Whether an entry of `api_roles` means somebody: names stand for themselves there."""
    if who.endswith("%"):
        return who[:-1] in principal.groups
    return bool(principal.name) and who == principal.name
