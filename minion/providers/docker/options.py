"""Arguments of a container as SLS has them, and as the Docker SDK takes them.

Called by the state and the execution functions that make containers.
Behaviour: the section "Container configuration parameters" of doc/ref/states/all/salt.states.docker_container.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Unsupported
from minion.machine.failure import StateFailed
from minion.providers.docker import ports, values
from minion.providers.docker.values import BadDockerValue


class ContainerOptions(NamedTuple):
    """What a container may be given, by the names of the SDK and those of the command line."""

    auto_remove: AnyValue = None
    rm: AnyValue = None
    binds: AnyValue = None
    blkio_weight: AnyValue = None
    blkio_weight_device: AnyValue = None
    cap_add: AnyValue = None
    cap_drop: AnyValue = None
    cgroup_parent: AnyValue = None
    cgroupns: AnyValue = None
    command: AnyValue = None
    cmd: AnyValue = None
    cpu_period: AnyValue = None
    cpu_quota: AnyValue = None
    cpu_shares: AnyValue = None
    cpuset_cpus: AnyValue = None
    cpuset: AnyValue = None
    cpuset_mems: AnyValue = None
    detach: AnyValue = None
    device_read_bps: AnyValue = None
    device_read_iops: AnyValue = None
    device_write_bps: AnyValue = None
    device_write_iops: AnyValue = None
    devices: AnyValue = None
    dns: AnyValue = None
    dns_opt: AnyValue = None
    dns_option: AnyValue = None
    dns_search: AnyValue = None
    domainname: AnyValue = None
    entrypoint: AnyValue = None
    environment: AnyValue = None
    env: AnyValue = None
    extra_hosts: AnyValue = None
    group_add: AnyValue = None
    healthcheck: AnyValue = None
    hostname: AnyValue = None
    init: AnyValue = None
    ipc_mode: AnyValue = None
    ipc: AnyValue = None
    isolation: AnyValue = None
    labels: AnyValue = None
    label: AnyValue = None
    links: AnyValue = None
    log_config: AnyValue = None
    log_driver: AnyValue = None
    log_opt: AnyValue = None
    mac_address: AnyValue = None
    mem_limit: AnyValue = None
    memory: AnyValue = None
    mem_reservation: AnyValue = None
    mem_swappiness: AnyValue = None
    memswap_limit: AnyValue = None
    memory_swap: AnyValue = None
    nano_cpus: AnyValue = None
    network_disabled: AnyValue = None
    network_mode: AnyValue = None
    oom_kill_disable: AnyValue = None
    oom_score_adj: AnyValue = None
    pid_mode: AnyValue = None
    pids_limit: AnyValue = None
    port_bindings: AnyValue = None
    publish: AnyValue = None
    ports: AnyValue = None
    expose: AnyValue = None
    privileged: AnyValue = None
    publish_all_ports: AnyValue = None
    publish_all: AnyValue = None
    read_only: AnyValue = None
    restart_policy: AnyValue = None
    restart: AnyValue = None
    runtime: AnyValue = None
    security_opt: AnyValue = None
    security_opts: AnyValue = None
    shm_size: AnyValue = None
    stdin_open: AnyValue = None
    interactive: AnyValue = None
    stop_signal: AnyValue = None
    stop_timeout: AnyValue = None
    storage_opt: AnyValue = None
    sysctls: AnyValue = None
    sysctl: AnyValue = None
    tmpfs: AnyValue = None
    tty: AnyValue = None
    ulimits: AnyValue = None
    ulimit: AnyValue = None
    user: AnyValue = None
    userns_mode: AnyValue = None
    user_ns_mode: AnyValue = None
    volumes: AnyValue = None
    volume: AnyValue = None
    volume_driver: AnyValue = None
    volumes_from: AnyValue = None
    working_dir: AnyValue = None
    workdir: AnyValue = None
    ignore_collisions: bool = False
    validate_ip_addrs: bool = True
    cpu_group: Annotated[AnyValue, Unsupported("cpu_quota: the SDK has no cpu_group")] = None
    lxc_conf: Annotated[AnyValue, Unsupported("engines have no LXC any more")] = None
    host_config: Annotated[AnyValue, Unsupported("give its parts as arguments of their own")] = None
    skip_translate: Annotated[AnyValue, Unsupported("give the arguments as they are documented")] = None
    kernel_memory: Annotated[AnyValue, Ignored("kernels have no such limit any more")] = None


ALIASES: Mapping[str, str] = {
    "cmd": "command", "cpuset": "cpuset_cpus", "dns_option": "dns_opt", "env": "environment", "expose": "ports",
    "interactive": "stdin_open", "ipc": "ipc_mode", "label": "labels", "memory": "mem_limit",
    "memory_swap": "memswap_limit", "publish": "port_bindings", "publish_all": "publish_all_ports",
    "restart": "restart_policy", "rm": "auto_remove", "security_opts": "security_opt", "sysctl": "sysctls",
    "ulimit": "ulimits", "user_ns_mode": "userns_mode", "volume": "volumes", "workdir": "working_dir",
}  # fmt: skip
"""Names of the command line → those of the SDK."""

_Reader = Callable[[Any], Any]


def _rates(value: Any, *, is_number: bool) -> list[dict[str, Any]]:
    found = values.fields(value, "Path", "Rate")
    for one in found:
        values.absolute(one["Path"])
        if is_number or str(one["Rate"]).isdigit():
            one["Rate"] = values.number(one["Rate"])
    return found


def _weights(value: Any) -> list[dict[str, Any]]:
    return [{**one, "Weight": values.number(one["Weight"])} for one in values.fields(value, "Path", "Weight")]


def _restart_policy(value: Any) -> dict[str, Any]:
    found = values.fields(value, "Name", "MaximumRetryCount", fill="0")
    if len(found) != 1:
        raise BadDockerValue("Only one policy is permitted")
    return {"MaximumRetryCount": 0, **found[0], **_counted(found[0])}


def _counted(policy: Mapping[str, Any]) -> dict[str, int]:
    return {"MaximumRetryCount": values.number(policy.get("MaximumRetryCount", 0))}


def _ulimits(value: Any) -> list[Any]:
    found = []
    for one in values.words(value):
        if isinstance(one, Mapping):
            found.append(dict(one))
            continue
        name, equals, limits = str(one).partition("=")
        soft, _, hard = limits.partition(":")
        if not equals:
            raise BadDockerValue(f"Ulimit definition '{one}' is not in the format type=soft_limit[:hard_limit]")
        found.append({"Name": name, "Soft": values.number(soft), "Hard": values.number(hard or soft)})
    return found


def _user(value: Any) -> str:
    if not isinstance(value, int | str) or (isinstance(value, int) and value < 0):
        raise BadDockerValue(f"'{value}' is an invalid uid")
    return str(value)


def _volumes(value: Any) -> list[str]:
    return [values.absolute(one) for one in values.texts(value)]


def _binds(value: Any) -> Any:
    return dict(value) if isinstance(value, Mapping) else values.texts(value)


_TEXTS = ("cap_add", "cap_drop", "devices", "dns_opt", "dns_search", "group_add", "security_opt", "volumes_from")
_NUMBERS = ("blkio_weight", "cpu_period", "cpu_quota", "cpu_shares", "mem_swappiness", "nano_cpus", "oom_score_adj",
            "pids_limit", "stop_timeout")  # fmt: skip
_BOOLEANS = ("auto_remove", "detach", "init", "network_disabled", "oom_kill_disable", "privileged",
             "publish_all_ports", "read_only", "stdin_open", "tty")  # fmt: skip
_SIZES = ("mem_limit", "mem_reservation", "memswap_limit", "shm_size")
_PAIRS = ("log_opt", "storage_opt", "sysctls")
_MAPPINGS = ("healthcheck", "log_config", "tmpfs")
_READERS: Mapping[str, _Reader] = {
    **dict.fromkeys(_TEXTS, values.texts),
    **dict.fromkeys(_NUMBERS, values.number),
    **dict.fromkeys(_BOOLEANS, bool),
    **dict.fromkeys(_SIZES, values.size),
    **dict.fromkeys(_PAIRS, values.pairs),
    **dict.fromkeys(_MAPPINGS, values.mapping),
    "binds": _binds,
    "blkio_weight_device": _weights,
    "command": values.command,
    "device_read_bps": partial(_rates, is_number=False),
    "device_read_iops": partial(_rates, is_number=True),
    "device_write_bps": partial(_rates, is_number=False),
    "device_write_iops": partial(_rates, is_number=True),
    "entrypoint": values.command,
    "environment": values.pairs,
    "labels": values.labels,
    "links": partial(values.pairs, separator=":"),
    "port_bindings": ports.bindings,
    "ports": ports.opened,
    "restart_policy": _restart_policy,
    "ulimits": _ulimits,
    "user": _user,
    "volumes": _volumes,
    "working_dir": values.absolute,
}
"""SDK's name → what reads the value; the others are texts."""


def translated(given: ContainerOptions) -> dict[str, Any]:
    """The arguments as the SDK takes them. Raises StateFailed for those that are wrong, without their values."""
    found: dict[str, Any] = {}
    invalid: list[str] = []
    settings = ("ignore_collisions", "validate_ip_addrs")
    for name, value in given._asdict().items():
        if value is None or name in settings:
            continue
        real = ALIASES.get(name, name)
        if real in found and not given.ignore_collisions:
            raise StateFailed(f"'{name}' is an alias for '{real}', they cannot both be used")
        try:
            read = _read(real, value, given.validate_ip_addrs)
        except BadDockerValue as error:
            invalid.append(f"{name}: {error}")
        else:
            found.setdefault(real, read)
    if found.get("port_bindings") is not None and found.get("publish_all_ports"):
        invalid.append("port_bindings: Cannot be used when publish_all_ports=True")
    if found.get("hostname") is not None and found.get("network_mode") == "host":
        invalid.append("hostname: Cannot be used when network_mode=host")
    if invalid:
        raise StateFailed(f"Failed to translate input: {', '.join(invalid)}")
    return _completed(found)


def _read(name: str, value: Any, checked: bool) -> Any:
    if name == "dns":
        return [values.address(one, checked) for one in values.texts(value)]
    if name == "extra_hosts":
        return {key: values.address(one, checked) for key, one in values.pairs(value, ":").items()}
    return _READERS.get(name, str)(value)


def _completed(found: dict[str, Any]) -> dict[str, Any]:
    """With what follows from the arguments: the log's configuration, ports that are published, volumes of binds."""
    driver, options = found.pop("log_driver", None), found.pop("log_opt", None)
    if "log_config" not in found and (driver is not None or options is not None):
        found["log_config"] = {"Type": driver or "none", "Config": options or {}}
    if binds := found.get("binds"):
        if isinstance(binds, Mapping):
            inside = [one["bind"] if isinstance(one, Mapping) else str(one) for one in binds.values()]
        else:
            inside = [parts[1] for one in binds if len(parts := one.split(":")) > 1]
        found["volumes"] = sorted({*found.get("volumes", ()), *inside})
    if published := found.get("port_bindings"):
        found["ports"] = ports.with_published(found.get("ports", []), published)
    return found
