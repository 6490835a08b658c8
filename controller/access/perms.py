"""What somebody may call, as Salt's login tells it: `perms`. Pure; called by the shapes of salt-api.

Source: `POST` of `Login` in salt/netapi/rest_cherrypy/app.py.
"""

from __future__ import annotations

from typing import Any

from controller.access.decision import decide_role, rules_of
from controller.access.principals import Principal
from controller.config.access import SCOPES, AccessRule, AccessSettings, FunctionRule


def permissions_of(principal: Principal, settings: AccessSettings) -> list[Any]:
    """Patterns of functions, `{target: [patterns]}`, and `@runner` and `@wheel`; none for who may call nothing."""
    if decide_role(principal, "admin", settings).allowed:
        return [".*", "@runner", "@wheel"]
    if principal.scopes and not any(SCOPES.index(each) >= SCOPES.index("operate") for each in principal.scopes):
        return []
    found: list[Any] = []
    for rule in rules_of(principal, settings)[0]:
        found += _listed(rule)
    return found


def _listed(rule: AccessRule) -> list[Any]:
    functions = [_function(each) for each in rule.functions]
    if rule.kind != "minion":
        return [f"@{rule.kind}"] if functions == [".*"] else [{f"@{rule.kind}": functions}]
    return [{rule.target: functions}] if rule.target else functions


def _function(rule: FunctionRule) -> Any:
    if not rule.arguments:
        return rule.pattern
    conditions = [{"args": list(each.args), "kwargs": dict(each.kwargs)} for each in rule.arguments]
    return {rule.pattern: conditions}
