"""The execution module `monit`: services that monit watches, starts and stops.

Behaviour: doc/ref/modules/all/salt.modules.monit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.failure import StateFailed
from minion.providers.monit import ACTIONS, asked, named, services, told


def summary(context: Context, svc_name: str = "") -> dict[str, Any]:
    """Kind → name → state of services, all or one."""
    found: dict[str, Any] = {}
    try:
        there = services(context.machine)
    except StateFailed as error:
        if "not running" in str(error):
            return {"monit": "daemon is not running", "result": False}
        raise
    for name, service in there.items():
        if svc_name in ("", name):
            found.setdefault(service.kind, {})[name] = service.rows.get("status", "")
    return found


def status(context: Context, svc_name: str = "") -> Any:
    """What monit tells of services, by name; with a name of that one."""
    found = {name: service.rows for name, service in services(context.machine).items()}
    return found.get(svc_name, "No such service") if svc_name else found


def reload_(context: Context) -> bool:
    """Have the daemon read its configuration anew."""
    told(context.machine, "reload")
    return True


def configtest(context: Context) -> dict[str, Any]:
    """Whether monit can read its configuration."""
    try:
        return {"comment": "Syntax OK", "stdout": asked(context.machine, "-t").strip(), "result": True}
    except StateFailed as error:
        return {"comment": "Syntax Error", "stderr": str(error), "result": False}


def version(context: Context) -> str:
    """The version of monit."""
    return asked(context.machine, "-V").splitlines()[0].split()[-1]


def id_(context: Context, reset: bool = False) -> str:
    """The identity of this monit; with `reset` a new one."""
    if not reset:
        return asked(context.machine, "-i").partition(":")[2].strip()
    done = context.machine.run(["monit", "-r"], stdin="y\n")
    found = re.search(r"New Monit id:?\s+(\w+)", done.stdout)  # its exit code is 1 where it has done so
    if found is None:
        raise CallFailed(f"monit -r: {done.stderr.strip() or done.stdout.strip()}")
    return found[1]


def validate(context: Context) -> bool:
    """Have all services checked now."""
    return context.machine.run(["monit", "validate"]).returncode == 0


def _ordering(order: str) -> Callable[..., bool]:
    def ordered(context: Context, name: str) -> bool:
        told(context.machine, order, named(name))
        return True

    ordered.__doc__ = f"Have monit {order} a service."
    return ordered


FUNCTIONS: Mapping[str, Any] = {
    "configtest": configtest,
    "id": id_,
    "reload": reload_,
    "status": status,
    "summary": summary,
    "validate": validate,
    "version": version,
    **{order: _ordering(order) for order in ACTIONS},
}
