"""Functions of `docker` that are about containers: which there are, their life, and what is in them."""

from __future__ import annotations

import fnmatch
import io
import posixpath
import tarfile
import time
from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Map, Seconds
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.docker.commands import BY_THE_ENGINE
from minion.modules.docker.engines import engine_of
from minion.modules.docker.images import shown
from minion.providers.docker import attachments
from minion.providers.docker import images as store
from minion.providers.docker.containers import WantedContainer
from minion.providers.docker.engine import CLIENT_TIMEOUT, SHUTDOWN_TIMEOUT, DockerEngine, EngineRefused
from minion.providers.docker.options import ContainerOptions
from minion.providers.docker.runs import ContainerRun

_KINDS = {0: "Changed", 1: "Added", 2: "Deleted"}
_PROTOCOLS = ("tcp", "udp")


def inspect_container(context: Context, name: str) -> dict[str, Any]:
    """What the engine says of a container."""
    return dict(engine_of(context).call("inspect_container", name))


def exists(context: Context, name: str) -> bool:
    """Whether there is a container."""
    return engine_of(context).found("inspect_container", name) is not None


def state(context: Context, name: str) -> str:
    """`running`, `paused` or `stopped`."""
    return _state(engine_of(context), name)


def _state(engine: DockerEngine, name: str) -> str:
    found = engine.state(name)
    if found is None:
        raise CallFailed(f"Error 404: No such container: {name}")
    return found


def ps(
    context: Context, filters: Map | None = None, all: bool = False, verbose: bool = False  # noqa: A002
) -> dict[str, Any]:  # fmt: skip
    """ID → what the engine says of each container that runs; `all`: of the others, too."""
    engine = engine_of(context)
    found: dict[str, Any] = {}
    for one in engine.call("containers", all=True, filters=filters):
        if not all and not str(one.get("Status", "")).lower().startswith("up "):
            continue
        container = str(one.pop("Id"))
        found[container] = shown(one)
        if verbose:
            found[container]["Info"] = engine.call("inspect_container", container)
    return found


def list_containers(context: Context, all: bool = False) -> list[str]:  # noqa: A002  (Salt's name)
    """Names of the containers that run, sorted; `all`: of the others, too."""
    found = ps(context, all=all).values()
    return sorted(name.lstrip("/") for one in found for name in one.get("Names") or ())


def create(
    context: Context, image: str, name: str | None = None, start: bool = False, *,
    client_timeout: Seconds = CLIENT_TIMEOUT, options: ContainerOptions,
) -> dict[str, Any]:  # fmt: skip
    """Make a container, and `start` it; its ID and name. An image that is not here is pulled."""
    engine = engine_of(context, client_timeout)
    if engine.image_id(image) is None:
        store.pull(engine, image)
    began = time.monotonic()
    made = WantedContainer(engine, image, options, {}).create(name)
    elapsed = time.monotonic() - began
    named = name or str(engine.call("inspect_container", made)["Name"]).lstrip("/")
    done: dict[str, Any] = {"Id": made, "Name": named, "Time_Elapsed": elapsed}
    if start:
        engine.call("start", made)
        done["Started"] = True
    return done


def run_container(
    context: Context, image: str, name: str | None = None, *, client_timeout: Seconds = CLIENT_TIMEOUT,
    bg: bool = False, replace: bool = False, force: bool = False, networks: AnyValue = None, options: ContainerOptions,
) -> dict[str, Any]:  # fmt: skip
    """Make and start a container, and wait for its end unless `bg`; its ID, name, output and exit code."""
    engine = engine_of(context, client_timeout)
    joined = attachments.wanted(engine, networks.split(",") if isinstance(networks, str) else networks)
    removes = not bg and bool(options.auto_remove or options.rm)
    kept = options if bg else options._replace(auto_remove=None, rm=None)
    wanted = WantedContainer(engine, image, kept, joined or {})
    return ContainerRun(
        engine=engine, wanted=wanted, name=name, networks=joined, background=bg, replace=replace, force=force,
        remove=removes,
    ).perform()  # fmt: skip


def _changed(engine: DockerEngine, name: str, method: str, expected: str, **options: Any) -> dict[str, Any]:
    before = _state(engine, name)
    if method != "restart" and before == expected:
        return _nothing(before, f"Container '{name}' already {expected}")
    engine.call(method, name, **options)
    after = engine.state(name)
    return {"result": after == expected, "state": {"old": before, "new": after}}


def _nothing(state: str, comment: str) -> dict[str, Any]:
    return {"result": False, "state": {"old": state, "new": state}, "comment": comment}


def start(context: Context, name: str) -> dict[str, Any]:
    """Start a container."""
    engine = engine_of(context)
    if _state(engine, name) == "paused":
        return _nothing("paused", f"Container '{name}' is paused, cannot start")
    return _changed(engine, name, "start", "running")


def stop(context: Context, name: str, timeout: int | None = None, unpause: bool = False) -> dict[str, Any]:
    """Stop a container; it has `timeout` seconds for it."""
    engine = engine_of(context)
    return _stopped(engine, name, timeout, unpause=unpause)


def _stopped(engine: DockerEngine, name: str, timeout: int | None, *, unpause: bool) -> dict[str, Any]:
    before = _state(engine, name)
    if before == "paused":
        if not unpause:
            return _nothing(before, f"Container '{name}' is paused, run with unpause=True to unpause before stopping")
        engine.call("unpause", name)
    configured = (engine.call("inspect_container", name).get("Config") or {}).get("StopTimeout")
    seconds = timeout if timeout is not None else configured or SHUTDOWN_TIMEOUT
    done = _changed(engine, name, "stop", "stopped", timeout=seconds)
    return {**done, "state": {**done["state"], "old": before}}


def restart(context: Context, name: str, timeout: int = 10) -> dict[str, Any]:
    """Stop a container, and start it again."""
    done = _changed(engine_of(context), name, "restart", "running", timeout=timeout)
    return {**done, "restarted": True} if done["result"] else done


def kill(context: Context, name: str) -> dict[str, Any]:
    """Stop a container at once."""
    return _changed(engine_of(context), name, "kill", "stopped")


def pause(context: Context, name: str) -> dict[str, Any]:
    """Have the processes of a container stand still."""
    engine = engine_of(context)
    if _state(engine, name) == "stopped":
        return _nothing("stopped", f"Container '{name}' is stopped, cannot pause")
    return _changed(engine, name, "pause", "paused")


def unpause(context: Context, name: str) -> dict[str, Any]:
    """Have them go on."""
    engine = engine_of(context)
    if _state(engine, name) == "stopped":
        return _nothing("stopped", f"Container '{name}' is stopped, cannot unpause")
    return _changed(engine, name, "unpause", "running")


def signal(context: Context, name: str, signal: str) -> bool:
    """Send a signal to the first process of a container."""
    engine_of(context).call("kill", name, signal=signal)
    return True


def wait(
    context: Context, name: str, ignore_already_stopped: bool = False, fail_on_exit_status: bool = False
) -> dict[str, Any]:
    """Wait for the end of a container."""
    engine = engine_of(context)
    before = engine.state(name)
    if before is None:
        return {"result": ignore_already_stopped, "comment": f"Container '{name}' absent"}
    try:
        code = engine.call("wait", name, timeout=None)["StatusCode"]
    except EngineRefused as error:  # it removes itself
        if not error.is_missing:
            raise
        code = None
    stopped = before == "stopped"
    after = engine.state(name)
    success = ignore_already_stopped if stopped else after == "stopped"
    done: dict[str, Any] = {"result": success, "state": {"old": before, "new": after}, "exit_status": code}
    if stopped:
        done["comment"] = f"Container '{name}' already stopped"
    if fail_on_exit_status and success:
        done["result"] = code == 0
    return done


def rm(
    context: Context, name: str, force: bool = False, volumes: bool = False, stop: bool = False,
    timeout: int | None = None,
) -> list[str]:  # fmt: skip
    """Remove a container; its ID. `force` and `stop`: one that runs, too; `volumes`: with volumes that have no name."""
    engine = engine_of(context)
    if _state(engine, name) == "running" and not (force or stop):
        raise CallFailed(f"Container '{name}' is running, use force=True to forcibly remove this container")
    found = engine.call("inspect_container", name)
    if stop and not force:
        _stopped(engine, name, timeout, unpause=True)
    if force or not stop or not (found.get("HostConfig") or {}).get("AutoRemove"):
        engine.call("remove_container", name, v=volumes, force=force)
    return [str(found["Id"])]


def rename(context: Context, name: str, new_name: str) -> bool:
    """Give a container another name."""
    engine = engine_of(context)
    found = engine.call("inspect_container", name)["Id"]
    engine.call("rename", found, new_name)
    return bool(engine.call("inspect_container", new_name)["Id"] == found)


def logs(
    context: Context, name: str, stdout: bool = True, stderr: bool = True, timestamps: bool = False,
    tail: AnyValue = "all", since: AnyValue = None, until: AnyValue = None,
) -> str:  # fmt: skip
    """What a container wrote. `since`, `until`: seconds since the epoch."""
    said: bytes = engine_of(context).call(
        "logs", name, stdout=stdout, stderr=stderr, timestamps=timestamps, tail=tail, since=_seconds(since),
        until=_seconds(until),
    )  # fmt: skip
    return said.decode(errors="replace")


def _seconds(value: Any) -> int | None:
    try:
        return None if value is None else int(value)
    except (TypeError, ValueError):
        raise CallFailed(f"{value!r} is no number of seconds since the epoch") from None


def pid(context: Context, name: str) -> int:
    """The process of the machine that is the first of a container; 0 where it does not run."""
    return int(engine_of(context).call("inspect_container", name)["State"]["Pid"])


def port(context: Context, name: str, private_port: AnyValue = None) -> dict[str, Any]:
    """Ports of a container, or of those whose names fit, and where they are to be had on the machine."""
    pattern = "*" if private_port is None else _port(private_port)
    engine, many = engine_of(context), any(character in name for character in "*?[")
    names = fnmatch.filter(engine.names(), name) if many else [name]
    found: dict[str, Any] = {}
    for each in names:
        settings = engine.call("inspect_container", each).get("NetworkSettings") or {}
        ports: Mapping[str, Any] = settings.get("Ports") or {}
        found[each] = {key: ports[key] for key in fnmatch.filter(ports, pattern)}
    return found if many else found.get(name, {})


def _port(value: Any) -> str:
    if isinstance(value, int):
        return f"{value}/*"
    number, _, protocol = str(value).partition("/")
    if not number.isdigit() or protocol.lower() not in _PROTOCOLS:
        raise CallFailed(
            f"Invalid private_port '{value}'. Must either be a port number, or be in port/protocol notation (e.g. "
            "5000/tcp)"
        )
    return f"{number}/{protocol.lower()}"


def top(context: Context, name: str) -> list[dict[str, str]]:
    """The processes of a container."""
    said = engine_of(context).call("top", name)
    return [dict(zip(said["Titles"], one, strict=True)) for one in said["Processes"]]


def diff(context: Context, name: str) -> dict[str, list[str]]:
    """Paths that are other than in the image: `Changed`, `Added`, `Deleted`."""
    found: dict[str, list[str]] = {}
    for one in engine_of(context).call("diff", name) or ():
        found.setdefault(_KINDS.get(one["Kind"], "Unknown"), []).append(one["Path"])
    return found


def copy_from(
    context: Context, name: str, source: str, dest: str, overwrite: bool = False, makedirs: bool = False
) -> bool:
    """Copy a file of a container to the minion."""
    machine = context.machine
    if not posixpath.isabs(dest) or not posixpath.isabs(source):
        raise CallFailed(f"{'Source' if posixpath.isabs(dest) else 'Destination'} path must be absolute")
    there = machine.stat(dest)
    if there is not None and there.kind == "directory":
        dest = posixpath.join(dest, posixpath.basename(source))
        there = machine.stat(dest)
    if there is not None and not overwrite:
        raise CallFailed(f"Destination path {dest} already exists. Use overwrite=True to overwrite it")
    folder = posixpath.dirname(dest)
    if machine.stat(folder) is None:
        if not makedirs:
            raise CallFailed(f"Directory {folder} does not exist")
        machine.mkdir(folder, parents=True)
    machine.write(dest, _file_of(engine_of(context), name, source))
    return True


def _file_of(engine: DockerEngine, name: str, path: str) -> bytes:
    from minion.providers.docker.bounded_client import gathered

    try:
        parts, _ = engine.call("get_archive", name, path)
    except EngineRefused as error:
        raise CallFailed(f"Source file {path} does not exist" if error.is_missing else str(error)) from None
    with tarfile.open(fileobj=io.BytesIO(b"".join(gathered(parts)))) as archive:
        member = archive.next()
        if member is None or not member.isfile():
            raise CallFailed("Source must be a regular file")
        held = archive.extractfile(member)
        return held.read() if held is not None else b""


def copy_to(
    context: Context, name: str, source: str, dest: str, exec_driver: Annotated[AnyValue, BY_THE_ENGINE] = None,
    overwrite: bool = False, makedirs: bool = False,
) -> bool:  # fmt: skip
    """Copy a file of the minion or of `salt://` to a container."""
    if not posixpath.isabs(dest):
        raise CallFailed("Destination path must be absolute")
    machine, engine = context.machine, engine_of(context)
    data = machine.source(source.removeprefix("salt://")) if source.startswith("salt://") else machine.read(source)
    if not overwrite and _has(engine, name, dest):
        raise CallFailed(f"Destination path {dest} already exists. Use overwrite=True to overwrite it")
    folder = posixpath.dirname(dest)
    if not makedirs and not _has(engine, name, folder):
        raise CallFailed(f"Directory {folder} does not exist on container '{name}'")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo(dest.lstrip("/") if makedirs else posixpath.basename(dest))
        member.size, member.mode, member.mtime = len(data), 0o644, int(time.time())
        archive.addfile(member, io.BytesIO(data))
    return bool(engine.call("put_archive", name, "/" if makedirs else folder, packed.getvalue()))


def _has(engine: DockerEngine, name: str, path: str) -> bool:
    try:
        engine.call("get_archive", name, path)
    except EngineRefused as error:
        if error.is_missing:
            return False
        raise
    return True
