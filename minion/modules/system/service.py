"""The execution module `service`: looks at services, starts and stops them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypedDict, Unpack

from minion.execution.arguments import NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.plan import Completed
from minion.providers.service.detection import mask_manager, service_manager
from minion.providers.service.services import ServiceManager, ServiceState, Verb


class OfControl(TypedDict, total=False):
    """What Salt's functions that start services take besides."""

    no_block: NotSupported
    unmask: NotSupported
    unmask_runtime: NotSupported


def status(context: Context, name: str, sig: NotSupported = None) -> Any:
    """Whether it runs; of a glob, each service that fits."""
    if any(sign in name for sign in "*?["):
        import fnmatch

        return {one: _runs(context, one) for one in get_all(context) if fnmatch.fnmatchcase(one, name)}
    return _runs(context, name)


def available(context: Context, name: str) -> bool:
    """Whether there is such a service."""
    return _service(context, name) is not None


def missing(context: Context, name: str) -> bool:
    """Whether there is no such service."""
    return _service(context, name) is None


def enabled(context: Context, name: str, root: NotSupported = None, **options: Any) -> bool:
    """Whether it is started at boot."""
    found = _service(context, name)
    return found is not None and found.enabled


def disabled(
    context: Context,
    name: str,
    root: NotSupported = None,
) -> bool:
    """Whether it is there, and not started at boot."""
    found = _service(context, name)
    return found is not None and not found.enabled


def masked(context: Context, name: str, runtime: bool = False) -> bool:
    """Whether it is masked, so that nobody can start it."""
    return mask_manager(context.machine).masked(context.machine, name, runtime=runtime)


def get_all(
    context: Context,
    root: NotSupported = None,
) -> list[str]:
    """Names of all services."""
    return list(_manager(context).services(context.machine))


def get_enabled(
    context: Context,
    root: NotSupported = None,
) -> list[str]:
    """Names of the services that are started at boot."""
    return [name for name in get_all(context) if (found := _service(context, name)) is not None and found.enabled]


def get_disabled(
    context: Context,
    root: NotSupported = None,
) -> list[str]:
    """Names of the services that are not started at boot, and could be."""
    found = (_service(context, name) for name in get_all(context))
    return [one.name for one in found if one is not None and not one.enabled and one.switchable]


def get_static(
    context: Context,
    root: NotSupported = None,
) -> list[str]:
    """Names of the services that cannot be enabled, since something else starts them."""
    found = (_service(context, name) for name in get_all(context))
    return [one.name for one in found if one is not None and not one.switchable]


def get_running(context: Context) -> list[str]:
    """Names of the services that run."""
    return [name for name in get_all(context) if _runs(context, name)]


def show(context: Context, name: str) -> dict[str, Any]:
    """The properties of a unit, as systemctl shows them."""
    done = _systemctl(context, "show", name)
    return dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)


def execs(context: Context, root: NotSupported = None) -> dict[str, str]:
    """Of each unit of systemd, the program that it starts."""
    done = _systemctl(context, "show", "--property=Id,ExecStart", "--type=service", "*")
    found = {}
    for block in done.stdout.split("\n\n"):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        path = fields.get("ExecStart", "").partition("path=")[2].partition(" ;")[0]
        if path:
            found[fields.get("Id", "").removesuffix(".service")] = path
    return found


def systemctl_reload(context: Context) -> bool:
    """Have systemd read its units again."""
    _systemctl(context, "daemon-reload")
    return True


def mask(
    context: Context,
    name: str,
    runtime: bool = False,
    root: NotSupported = None,
) -> bool:
    """Keep anybody from starting it."""
    manager = mask_manager(context.machine)
    return _done(context, name, lambda _: manager.mask(context.machine, name, masked=True, runtime=runtime))


def unmask(
    context: Context,
    name: str,
    runtime: bool = False,
    root: NotSupported = None,
) -> bool:
    """Let it be started again."""
    _good(mask_manager(context.machine).mask(context.machine, name, masked=False, runtime=runtime))
    return True


def enable(
    context: Context,
    name: str,
    no_block: NotSupported = None,
    unmask: NotSupported = None,
    unmask_runtime: NotSupported = None,
    root: NotSupported = None,
    **options: Any,
) -> bool:
    """Have it started at boot."""
    return _done(context, name, lambda manager: manager.enable(context.machine, name, enabled=True))


def disable(
    context: Context,
    name: str,
    no_block: NotSupported = None,
    root: NotSupported = None,
    **options: Any,
) -> bool:
    """Have it not started at boot."""
    return _done(context, name, lambda manager: manager.enable(context.machine, name, enabled=False))


def _control(context: Context, name: str, verb: Verb) -> bool:
    return _done(context, name, lambda manager: manager.control(context.machine, name, verb))


def start(context: Context, name: str, **ignored: Unpack[OfControl]) -> bool:
    """Start it."""
    return _control(context, name, "start")


def stop(context: Context, name: str, no_block: NotSupported = False) -> bool:
    """Stop it."""
    return _control(context, name, "stop")


def restart(context: Context, name: str, **ignored: Unpack[OfControl]) -> bool:
    """Stop it and start it again."""
    return _control(context, name, "restart")


def reload(context: Context, name: str, **ignored: Unpack[OfControl]) -> bool:
    """Have it read its configuration again."""
    return _control(context, name, "reload")


def _runs(context: Context, name: str) -> bool:
    found = _service(context, name)
    return found is not None and found.running


def _service(context: Context, name: str) -> ServiceState | None:
    return _manager(context).service(context.machine, name)


def _done(context: Context, name: str, act: Callable[[ServiceManager], Completed]) -> bool:
    if _service(context, name) is None:
        raise CallFailed(f"The named service {name} is not available")
    _good(act(_manager(context)))
    return True


def _good(done: Completed) -> None:
    if done.returncode != 0:
        raise CallFailed(done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}")


def _systemctl(context: Context, *words: str) -> Completed:
    if context.machine.stat("/run/systemd/system") is None:
        raise CallFailed("systemd does not run this machine")
    done = context.machine.run(["systemctl", "--no-pager", *words])
    _good(done)
    return done


def _manager(context: Context) -> ServiceManager:
    return service_manager(context.machine)


FUNCTIONS: Mapping[str, Any] = {
    "available": available,
    "disable": disable,
    "disabled": disabled,
    "enable": enable,
    "enabled": enabled,
    "execs": execs,
    "force_reload": reload,
    "get_all": get_all,
    "get_disabled": get_disabled,
    "get_enabled": get_enabled,
    "get_running": get_running,
    "get_static": get_static,
    "mask": mask,
    "masked": masked,
    "missing": missing,
    "reload": reload,
    "restart": restart,
    "show": show,
    "start": start,
    "status": status,
    "stop": stop,
    "systemctl_reload": systemctl_reload,
    "unmask": unmask,
}
