"""The execution module `service`: looks at services, starts and stops them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from minion.modules.context import Context
from minion.modules.errors import CallFailed
from minion.states.plan import Completed, StateFailed
from minion.system.services import Service, ServiceManager, service_manager


def status(context: Context, name: str) -> bool:
    """Whether it runs."""
    found = _service(context, name)
    return found is not None and found.running


def available(context: Context, name: str) -> bool:
    """Whether there is such a service."""
    return _service(context, name) is not None


def missing(context: Context, name: str) -> bool:
    """Whether there is no such service."""
    return _service(context, name) is None


def enabled(context: Context, name: str) -> bool:
    """Whether it is started at boot."""
    found = _service(context, name)
    return found is not None and found.enabled


def disabled(context: Context, name: str) -> bool:
    """Whether it is there, and not started at boot."""
    found = _service(context, name)
    return found is not None and not found.enabled


def get_all(context: Context) -> list[str]:
    """Names of all services."""
    return list(_asked(lambda: _manager(context).services(context.machine)))


def start(context: Context, name: str) -> bool:
    """Start it."""
    return _done(context, name, lambda manager: manager.control(context.machine, name, "start"))


def stop(context: Context, name: str) -> bool:
    """Stop it."""
    return _done(context, name, lambda manager: manager.control(context.machine, name, "stop"))


def restart(context: Context, name: str) -> bool:
    """Stop it and start it again."""
    return _done(context, name, lambda manager: manager.control(context.machine, name, "restart"))


def reload(context: Context, name: str) -> bool:
    """Have it read its configuration again."""
    return _done(context, name, lambda manager: manager.control(context.machine, name, "reload"))


def enable(context: Context, name: str) -> bool:
    """Have it started at boot."""
    return _done(context, name, lambda manager: manager.enable(context.machine, name, enabled=True))


def disable(context: Context, name: str) -> bool:
    """Have it not started at boot."""
    return _done(context, name, lambda manager: manager.enable(context.machine, name, enabled=False))


def _service(context: Context, name: str) -> Service | None:
    found: Service | None = _asked(lambda: _manager(context).service(context.machine, name))
    return found


def _done(context: Context, name: str, act: Callable[[ServiceManager], Completed]) -> bool:
    if _service(context, name) is None:
        raise CallFailed(f"The named service {name} is not available")
    done: Completed = _asked(lambda: act(_manager(context)))
    if done.returncode != 0:
        raise CallFailed(done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}")
    return True


def _manager(context: Context) -> ServiceManager:
    return service_manager(context.machine)


def _asked(question: Callable[[], Any]) -> Any:
    try:
        return question()
    except StateFailed as error:
        raise CallFailed(str(error)) from error


FUNCTIONS: Mapping[str, Any] = {
    "available": available,
    "disable": disable,
    "disabled": disabled,
    "enable": enable,
    "enabled": enabled,
    "get_all": get_all,
    "missing": missing,
    "reload": reload,
    "restart": restart,
    "start": start,
    "status": status,
    "stop": stop,
}
