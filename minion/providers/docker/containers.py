"""A container as it shall be, and what differs in the one that there is.

Salt makes a second container to compare with. Here what the engine makes of the arguments is computed: of what nobody
gives, the image's value, then the engine's default. What no argument can set is not compared.
Behaviour: `running` of doc/ref/states/all/salt.states.docker_container; `merge` and `adaptContainerSettings` of moby.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from minion.machine.plan import Reader
from minion.providers.docker import podman
from minion.providers.docker.engine import DockerEngine
from minion.providers.docker.options import ContainerOptions, translated

_DAEMON = "/etc/docker/daemon.json"
_HOST_ARGUMENTS = """
    auto_remove binds blkio_weight blkio_weight_device cap_add cap_drop cgroup_parent cgroupns cpu_period cpu_quota
    cpu_shares cpuset_cpus cpuset_mems device_read_bps device_read_iops device_write_bps device_write_iops devices dns
    dns_opt dns_search extra_hosts group_add init ipc_mode isolation links log_config mem_limit mem_reservation
    mem_swappiness memswap_limit nano_cpus network_mode oom_kill_disable oom_score_adj pid_mode pids_limit
    port_bindings privileged publish_all_ports read_only restart_policy runtime security_opt shm_size storage_opt
    sysctls tmpfs ulimits userns_mode volume_driver volumes_from
"""
_OF_HOST = frozenset(_HOST_ARGUMENTS.split())
"""Arguments of the SDK's `create_host_config`; the others are of `create_container`."""

_HOST_FIELDS = """
    AutoRemove Binds BlkioWeight BlkioWeightDevice BlkioDeviceReadBps BlkioDeviceReadIOps BlkioDeviceWriteBps
    BlkioDeviceWriteIOps CapAdd CapDrop CgroupParent CpuPeriod CpuQuota CpuShares CpusetCpus CpusetMems Devices Dns
    DnsOptions DnsSearch ExtraHosts GroupAdd Init IpcMode Isolation Links LogConfig Memory MemoryReservation
    MemorySwap MemorySwappiness NanoCpus NetworkMode OomKillDisable OomScoreAdj PidMode PidsLimit PortBindings
    Privileged PublishAllPorts ReadonlyRootfs RestartPolicy Runtime SecurityOpt ShmSize StorageOpt Sysctls Tmpfs
    Ulimits UsernsMode VolumeDriver VolumesFrom
"""
_FIELDS = """
    AttachStderr AttachStdout Cmd Domainname Entrypoint Env ExposedPorts Healthcheck Labels NetworkDisabled OpenStdin
    StdinOnce StopSignal StopTimeout Tty User Volumes WorkingDir
"""
_SECRET = "******"  # noqa: S105  (what stands for one)


class WantedContainer:
    """A container as the arguments ask for it."""

    def __init__(
        self, engine: DockerEngine, image: str, given: ContainerOptions, networks: Mapping[str, Mapping[str, Any]]
    ) -> None:
        """Raises StateFailed for arguments that are wrong."""
        self._engine = engine
        self.image = image
        options = translated(given)
        mode = options.get("network_mode")
        host = {key: value for key, value in options.items() if key in _OF_HOST}
        self._own = {key: value for key, value in options.items() if key not in _OF_HOST}
        self._own["host_config"] = engine.call("create_host_config", **host)
        self.network_mode = str(mode or "default")
        if mode is not None and mode in networks:
            endpoint = engine.call("create_endpoint_config", **networks[mode])
            self._own["networking_config"] = engine.call("create_networking_config", {mode: endpoint})

    def create(self, name: str | None) -> str:
        """Make it, with this name or one that the engine chooses; its ID."""
        return str(self._engine.call("create_container", self.image, name=name, **self._own)["Id"])

    def differences(self, machine: Reader, found: Mapping[str, Any], image: Mapping[str, Any]) -> dict[str, Any]:
        """What is another in a container that there is, as Salt's `changes` has it; values of `Env` are not told."""
        asked = dict(self._engine.call("create_container_config", self.image, **_config_arguments(self._own)))
        expected = {**_with_image(asked, image.get("Config") or {})}
        of_host = asked.get("HostConfig") or {}
        defaults = _defaults(machine, self._engine, of_host)
        has, has_of_host = found.get("Config") or {}, found.get("HostConfig") or {}
        if self._engine.is_podman:
            has = podman.container_as_docker(has, asked, expected)
            has_of_host = podman.host_as_docker(has_of_host, of_host, defaults)
        differ = {
            "Config": _compared(has, expected, _FIELDS.split()),
            "HostConfig": _compared(has_of_host, defaults, _HOST_FIELDS.split()),
        }
        return {key: one for key, one in differ.items() if one}


def _config_arguments(own: Mapping[str, Any]) -> dict[str, Any]:
    return {"command": None, **own}


def _with_image(asked: Mapping[str, Any], image: Mapping[str, Any]) -> dict[str, Any]:
    """The configuration that the engine makes of what is asked for and what the image has."""
    merged = dict(asked)
    env = dict(_variable(each) for each in asked.get("Env") or ())
    inherited = dict(_variable(each) for each in image.get("Env") or ())
    merged["Env"] = [key if value is None else f"{key}={value}" for key, value in {**inherited, **env}.items()]
    for key in ("Labels", "ExposedPorts", "Volumes"):
        merged[key] = {**(image.get(key) or {}), **(asked.get(key) or {})}
    for key in ("User", "WorkingDir", "StopSignal", "StopTimeout"):
        merged[key] = asked.get(key) or image.get(key)
    merged["Healthcheck"] = _healthcheck(asked.get("Healthcheck"), image.get("Healthcheck"))
    if not asked.get("Entrypoint"):
        merged["Entrypoint"] = image.get("Entrypoint")
        merged["Cmd"] = asked.get("Cmd") or image.get("Cmd")
    return merged


def _variable(text: str) -> tuple[str, str | None]:
    name, equals, value = text.partition("=")
    return name, value if equals else None


def _healthcheck(asked: Mapping[str, Any] | None, image: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    if not asked or not image:
        return asked or image
    return {**image, **{key: value for key, value in asked.items() if value}}


def _defaults(machine: Reader, engine: DockerEngine, asked: Mapping[str, Any]) -> dict[str, Any]:
    """What is asked of the host, with the engine's defaults for what is not asked."""
    said = engine.call("info")
    kept = _daemon_configuration(machine)
    expected = {key: value for key, value in asked.items() if value is not None}
    memory = expected.get("Memory") or 0
    defaults = {
        "IpcMode": kept.get("default-ipc-mode", "private"),
        "LogConfig": {"Type": said.get("LoggingDriver"), "Config": kept.get("log-opts") or {}},
        "MemorySwap": memory * 2,
        "Runtime": said.get("DefaultRuntime"),
        "ShmSize": kept.get("default-shm-size", 64 << 20),
    }
    return {**defaults, **expected}


def _daemon_configuration(machine: Reader) -> Mapping[str, Any]:
    """The engine's own configuration, where it is a file of this machine."""
    if machine.stat(_DAEMON) is None:
        return {}
    try:
        found = json.loads(machine.read(_DAEMON))
    except ValueError:
        return {}
    return found if isinstance(found, Mapping) else {}


def _compared(found: Mapping[str, Any], wanted: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for key in keys:
        old, new = found.get(key), wanted.get(key)
        if _plain(key, old) == _plain(key, new):
            continue
        if key == "MemorySwap" and old == -1 and wanted.get("Memory"):
            continue  # the kernel has no accounting of swap
        if key == "NetworkDisabled" and not new:
            continue  # an engine without a bridge says so by itself
        seen[key] = _told_variables(old, new) if key == "Env" else {"old": old, "new": new}
    return seen


def _told_variables(old: Sequence[str] | None, new: Sequence[str] | None) -> dict[str, Any]:
    """The variables that differ, without their values: they may be passwords."""
    before, after = (dict(_variable(each) for each in one or ()) for one in (old, new))
    names = sorted(name for name in {*before, *after} if before.get(name) != after.get(name) or name not in before)
    return {
        "old": [f"{name}={_SECRET}" for name in names if name in before],
        "new": [f"{name}={_SECRET}" for name in names if name in after],
    }


def _plain(key: str, value: Any) -> Any:
    """In one form, whatever the engine's version makes of it; what says nothing is None."""
    if not value or value == {"Test": None}:
        return None
    match key:
        case "RestartPolicy":
            named = value.get("Name") not in ("", "no", None)
            return (value["Name"], value.get("MaximumRetryCount") or 0) if named else None
        case "NetworkMode":
            return None if value in ("default", "bridge") else value
        case "Env" | "Dns" | "DnsSearch" | "DnsOptions" | "ExtraHosts" | "GroupAdd" | "Binds":
            return sorted(value)
        case "CapAdd" | "CapDrop":
            return sorted(str(each).upper().removeprefix("CAP_") for each in value)
        case "IpcMode":
            return None if value in ("private", "shareable") else value
        case "SecurityOpt":
            return sorted(each for each in value if each != "label=disable") or None
        case "Links":
            # The engine has /other:/name/alias where it was told other:alias.
            return sorted(
                (each.split(":")[0].lstrip("/"), each.rsplit("/", 1)[-1].rsplit(":", 1)[-1]) for each in value
            )
        case "PortBindings":
            return {
                port: sorted((one.get("HostIp") or "", one.get("HostPort") or "") for one in places or ())
                for port, places in value.items()
            }
        case "Ulimits":
            return sorted((one["Name"], one.get("Soft"), one.get("Hard")) for one in value)
        case "MemorySwappiness":
            return None if value == -1 else value
        case "LogConfig":
            return value.get("Type"), {str(name): str(one) for name, one in (value.get("Config") or {}).items()}
        case _:
            return value
