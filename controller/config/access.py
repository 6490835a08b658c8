"""The options that say who may have what done: Salt's `publisher_acl` and `external_auth`, and `api_roles`.

Sources: salt/utils/minions.py `auth_check` and `spec_check`, salt/acl/__init__.py. Two things are stricter here: a
pattern must match a whole name (in Salt `test.ping` allows `test.ping_all`); and what cannot be read is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from matching.linear_regex import PatternRefused
from matching.matcher import Matcher
from options.document import Fault, Option

RuleKind: TypeAlias = Literal["minion", "runner", "wheel"]
Role: TypeAlias = Literal["viewer", "operator", "approver", "admin"]
ROLES: tuple[Role, ...] = ("viewer", "operator", "approver", "admin")
"""Each may what the ones before it may."""
TokenScope: TypeAlias = Literal["read", "operate", "approve", "admin"]
SCOPES: tuple[TokenScope, ...] = ("read", "operate", "approve", "admin")
"""What a token is for; each covers the role at its place and those before."""
EVERYONE = "*"

_FORM = "write `NAME: [PATTERN, {TARGET: [PATTERN]}]`, as in `alice: [test.*, {'web*': [service.restart]}]`"
_ROLES_FORM = f"write `ROLE: [USER, 'GROUP%']` with the roles {', '.join(ROLES)}"
_BUILT = ("pam", "oidc")
"""Methods of `external_auth`: passwords of this machine, and tokens of the issuer of `api: oidc`."""
_METHODS = {"ldap": "LDAP is not built; use pam with pam_ldap or sssd", "auto": "use tokens"}
_MOST_PAM_SERVICE = 64


class _Unreadable(Exception):
    """A rule that says nothing; its text is the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ArgumentRule:
    """What the arguments of a call must be like; there may be more of them."""

    args: tuple[str | None, ...] = ()
    """Patterns by position; None: any."""
    kwargs: Mapping[str, str | None] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionRule:
    """Functions that may be called."""

    pattern: str
    """A regular expression for the whole name."""
    arguments: tuple[ArgumentRule, ...] = ()
    """One of these must fit; none: any arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """Functions of a kind, for whom."""

    kind: RuleKind = "minion"
    target: str = ""
    """A compound target in which all minions of a job must be; empty: all minions."""
    functions: tuple[FunctionRule, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessEntry:
    """What some people may."""

    who: str
    """A name, a glob or a regular expression of names; with `group`, the name of a group."""
    group: bool = False
    rules: tuple[AccessRule, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessSettings:
    """Who may have what done, beside root and the user of the controller, who may do everything."""

    publisher_acl: tuple[AccessEntry, ...] = ()
    """For users of this machine."""
    external_auth: Mapping[str, tuple[AccessEntry, ...]] = field(default_factory=dict)
    """Method -> for those who have shown who they are with it."""
    blacklist_users: tuple[str, ...] = ()
    blacklist_modules: tuple[str, ...] = ()
    peer: tuple[AccessEntry, ...] = ()
    """For minions: functions on other minions."""
    peer_run: tuple[AccessEntry, ...] = ()
    """For minions: runners."""
    roles: Mapping[Role, tuple[str, ...]] = field(default_factory=dict)
    """Role -> names, and groups with a `%` behind them."""
    permissive: bool = False
    """Whether the entry `*` counts also for those who have one of their own."""
    token_expire: float = 43200.0
    """Seconds that a token lives which somebody gets for a password."""
    pam_service: str = "login"

    @property
    def shared(self) -> bool:
        """Whether other users of the machine than root and the controller's own may ask for anything."""
        return bool(self.publisher_acl or self.external_auth or self.roles)


OPTIONS = (
    "publisher_acl",
    "client_acl",
    "publisher_acl_blacklist",
    "client_acl_blacklist",
    "external_auth",
    "peer",
    "peer_run",
    "api_roles",
    "permissive_acl",
    "token_expire",
    "auth.pam.service",
)
"""All that `read_access` reads."""


def read_access(options: Mapping[str, Option], faults: list[Fault]) -> AccessSettings:
    """The options of access; what is wrong with them is appended to the faults."""
    acl = _renamed(options, "client_acl", "publisher_acl", faults)
    blacklist = _renamed(options, "client_acl_blacklist", "publisher_acl_blacklist", faults)
    users, modules = _blacklist(blacklist, faults)
    return AccessSettings(
        publisher_acl=_entries(acl, (), faults) if acl is not None else (),
        external_auth=_external(options.get("external_auth"), faults),
        peer=_peers(options.get("peer"), "minion", faults),
        peer_run=_peers(options.get("peer_run"), "runner", faults),
        blacklist_users=users,
        blacklist_modules=modules,
        roles=_roles(options.get("api_roles"), faults),
        permissive=_plain(options, "permissive_acl", bool, False, faults),
        token_expire=_plain(options, "token_expire", (int, float), 43200.0, faults),
        pam_service=_service(options.get("auth.pam.service"), faults),
    )


def _renamed(options: Mapping[str, Option], older: str, name: str, faults: list[Fault]) -> Option | None:
    """An option that has an older name. Under both names it would not be clear which rules hold."""
    if older in options and name in options:
        faults.append(
            Fault(options[older].place, f"{older} is an older name of {name}, which is there, too; write one")
        )
    return options.get(name, options.get(older))


def _plain(options: Mapping[str, Option], name: str, kind: Any, default: Any, faults: list[Fault]) -> Any:
    option = options.get(name)
    if option is None:
        return default
    value = option.value
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool) or value < 0:
        wanted = "true or false" if kind is bool else "a number of seconds"
        faults.append(Fault(option.place, f"{name} must be {wanted}, not {value!r}"))
        return default
    return value


def _service(option: Option | None, faults: list[Fault]) -> str:
    """The name of a file in /etc/pam.d."""
    if option is None:
        return "login"
    if isinstance(option.value, str) and re.fullmatch(rf"[\w.-]{{1,{_MOST_PAM_SERVICE}}}", option.value, re.ASCII):
        return option.value
    text = "auth.pam.service must be the name of a file in /etc/pam.d"
    faults.append(Fault(option.place, f"{text}, not {option.value!r}"))
    return "login"


def _external(option: Option | None, faults: list[Fault]) -> dict[str, tuple[AccessEntry, ...]]:
    if option is None:
        return {}
    if not isinstance(option.value, Mapping):
        faults.append(Fault(option.place, f"external_auth must be a mapping, not {option.value!r}", _FORM))
        return {}
    found = {}
    for method in option.value:
        if method not in _BUILT:
            hint = _METHODS.get(str(method)) or f"there are {' and '.join(_BUILT)}"
            faults.append(Fault(option.at((str(method),)), f"external_auth: there is no method {method!r}", hint))
            continue
        inner = Option(option.value[method], option.at((method,)), option.inner)
        found[method] = _entries(inner, (method,), faults)
    return found


def _peers(option: Option | None, kind: RuleKind, faults: list[Fault]) -> tuple[AccessEntry, ...]:
    """Entries whose names are regular expressions of minions' ids; those of `peer_run` name runners."""
    if option is None:
        return ()
    found = _entries(option, (), faults)
    for entry in found:
        named = [rule for rule in entry.rules if rule.kind != "minion" or (kind == "runner" and rule.target)]
        if entry.group or named:
            text = f"the rules for {entry.who!r}: neither groups nor @ have a meaning here"
            faults.append(Fault(option.at((entry.who,)), text + (", nor targets" if kind == "runner" else "")))
    return tuple(
        AccessEntry(who=entry.who, rules=tuple(replace(rule, kind=kind) for rule in entry.rules)) for entry in found
    )


def _entries(option: Option, inside: tuple[str, ...], faults: list[Fault]) -> tuple[AccessEntry, ...]:
    if not isinstance(option.value, Mapping):
        faults.append(Fault(option.place, f"{option.value!r} says nothing about users", _FORM))
        return ()
    found = []
    for who, rules in option.value.items():
        try:
            found.append(_entry(who, rules))
        except _Unreadable as error:
            faults.append(Fault(option.at((*inside, who)), f"the rules for {who!r}: {error}", _FORM))
    return tuple(found)


def _entry(who: Any, rules: Any) -> AccessEntry:
    if not isinstance(who, str) or not who.strip("%"):
        raise _Unreadable("this is no name of a user or a group")
    given = [rules] if isinstance(rules, str) else rules
    if not isinstance(given, Sequence) or not given:
        raise _Unreadable(f"there must be a list of functions, not {rules!r}")
    group = who.endswith("%")
    if not group:
        _check_pattern(who, glob=True)
    return AccessEntry(who=who.rstrip("%") if group else who, group=group, rules=tuple(map(_rule, given)))


def _rule(given: Any) -> AccessRule:
    if isinstance(given, str):
        return _special(given, None) if given.startswith("@") else AccessRule(functions=(_function(given),))
    if not isinstance(given, Mapping) or len(given) != 1:
        raise _Unreadable(f"{given!r} must be a pattern, or one target with a list of patterns")
    [(target, functions)] = given.items()
    if not isinstance(target, str) or not target:
        raise _Unreadable(f"{target!r} is no target")
    if target.startswith("@"):
        return _special(target, functions)
    if any(word.startswith("R@") for word in target.split()):
        raise _Unreadable(f"{target!r}: no range server is asked about rules; name the minions as a list (L@)")
    return AccessRule(target="" if target == EVERYONE else target, functions=_functions(functions))


def _special(name: str, functions: Any) -> AccessRule:
    """`@runner`, `@wheel` with functions or all of them, and `@jobs`: those of one module of runners or wheels."""
    kinds: dict[str, RuleKind] = {"runner": "runner", "runners": "runner", "wheel": "wheel", "wheels": "wheel"}
    module = name[1:]
    if module in kinds:
        return AccessRule(kind=kinds[module], functions=_functions([".*"] if functions is None else functions))
    if not re.fullmatch(r"[a-z_]\w*", module, re.ASCII):
        raise _Unreadable(f"{name!r} is neither @runner nor @wheel nor @ with the name of a module of runners")
    if functions is None:
        return AccessRule(kind="runner", functions=(FunctionRule(pattern=rf"{module}\..*"),))
    inner = _functions(functions)
    return AccessRule(
        kind="runner",
        functions=tuple(
            FunctionRule(pattern=rf"{module}\.(?:{each.pattern})", arguments=each.arguments) for each in inner
        ),
    )


def _functions(given: Any) -> tuple[FunctionRule, ...]:
    each = given if isinstance(given, list | tuple) else [given]
    if not each:
        raise _Unreadable("a target without functions")
    return tuple(map(_function, each))


def _function(given: Any) -> FunctionRule:
    if isinstance(given, str):
        _check_pattern(given)
        return FunctionRule(pattern=given)
    if not isinstance(given, Mapping) or len(given) != 1:
        raise _Unreadable(f"{given!r} must be a pattern, or one pattern with its arguments")
    [(pattern, conditions)] = given.items()
    if not isinstance(pattern, str):
        raise _Unreadable(f"{pattern!r} is no pattern")
    _check_pattern(pattern)
    listed = conditions if isinstance(conditions, list | tuple) else [conditions]
    return FunctionRule(pattern=pattern, arguments=tuple(map(_arguments, listed)))


def _arguments(given: Any) -> ArgumentRule:
    if not isinstance(given, Mapping) or not given or not set(given) <= {"args", "kwargs"}:
        raise _Unreadable(f"{given!r} must have args or kwargs")
    args, kwargs = given.get("args") or [], given.get("kwargs") or {}
    if not isinstance(args, list | tuple) or not isinstance(kwargs, Mapping):
        raise _Unreadable("args must be a list, and kwargs a mapping")
    for pattern in (*args, *kwargs.values()):
        if pattern is not None:
            _check_pattern(str(pattern))
    return ArgumentRule(
        args=tuple(None if each is None else str(each) for each in args),
        kwargs={str(key): None if each is None else str(each) for key, each in kwargs.items()},
    )


def _check_pattern(pattern: str, *, glob: bool = False) -> None:
    try:
        Matcher().check(pattern)
    except re.error as error:
        if not glob:  # `*` and `ops-*` are globs of names
            raise _Unreadable(f"the pattern {pattern!r} cannot be read: {error}") from None
    except PatternRefused as error:
        raise _Unreadable(str(error)) from None


def _blacklist(option: Option | None, faults: list[Fault]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if option is None:
        return (), ()
    given = option.value
    if not isinstance(given, Mapping) or not set(given) <= {"users", "modules"}:
        text = "publisher_acl_blacklist must have lists of users and modules"
        faults.append(Fault(option.place, f"{text}, not {given!r}"))
        return (), ()
    return tuple(_texts(option, "users", faults)), tuple(_texts(option, "modules", faults))


def _texts(option: Option, name: str, faults: list[Fault]) -> Iterator[str]:
    for each in option.value.get(name) or ():
        try:
            if not isinstance(each, str):
                raise _Unreadable(f"{each!r} is no pattern")
            _check_pattern(each, glob=True)
        except _Unreadable as error:
            faults.append(Fault(option.at((name,)), f"publisher_acl_blacklist: {error}"))
        else:
            yield each


def _roles(option: Option | None, faults: list[Fault]) -> dict[Role, tuple[str, ...]]:
    if option is None:
        return {}
    given = option.value
    if not isinstance(given, Mapping):
        faults.append(Fault(option.place, f"api_roles must be a mapping, not {given!r}", _ROLES_FORM))
        return {}
    found: dict[Role, tuple[str, ...]] = {}
    for name, people in given.items():
        role = next((each for each in ROLES if each == name), None)
        listed = [people] if isinstance(people, str) else people
        if role is None:
            faults.append(Fault(option.at((str(name),)), f"api_roles: there is no role {name!r}", _ROLES_FORM))
        elif not isinstance(listed, list | tuple) or not all(isinstance(each, str) for each in listed):
            faults.append(Fault(option.at((role,)), f"api_roles: {role} must have a list of names", _ROLES_FORM))
        else:
            found[role] = tuple(listed)
    return found
