"""All checks of a machine that has a gateway. Called by `saltern doctor --gateway`."""

from __future__ import annotations

import importlib.util
import json
import os
from collections.abc import Iterator
from pathlib import Path

from gateway.settings import CONTROLLER_FILE, LOCK_FILE, GatewaySettings, controllers_of, load_gateway_settings
from minion.config.files import BadMinionSettings
from minion.doctor import judgements, looks
from minion.doctor.finding import CheckFinding, fail, warn, well
from minion.doctor.minion import of_this_machine
from minion.machine.file_locks import lock_holder
from wire.address import Address
from wire.probe import ProbeOutcome, probe

UNIT = "saltern-gateway.service"
_DESCRIPTORS = 8 * 1000
"""Of a thousand minions. Each takes seven (two connections of it, two to the controller, and what ZeroMQ has to wake up
the process by), and an eighth while it comes."""
_LIBRARIES = ("cryptography", "msgpack", "prometheus_client")


def examine(config_dir: Path, seconds: float) -> Iterator[CheckFinding]:
    """The findings, in the order in which a person would look.

    Args:
        config_dir: of the gateway.
        seconds: that each look at a port may take.
    """
    yield from of_this_machine()
    yield libraries([name for name in _LIBRARIES if importlib.util.find_spec(name) is None])
    file = str(config_dir / "gateway")
    try:
        settings = load_gateway_settings(config_dir)
        addresses = controllers_of(settings, config_dir)
    except (BadMinionSettings, OSError) as error:
        yield judgements.configuration(file, tuple(str(error).splitlines()))
        return
    yield judgements.configuration(file, (), settings.warnings)
    yield judgements.configuration_files(looks.configuration_files(config_dir, "gateway"), os.geteuid())
    key = settings.pki_dir / "master.pem"
    yield judgements.key_file(key, looks.look_at_file(key), os.geteuid())
    yield judgements.disk_space("cache", settings.cachedir, *looks.free_space(settings.cachedir))
    yield judgements.open_files(looks.descriptor_limit(), _DESCRIPTORS, "a gateway of 1,000 minions")
    yield judgements.unit_active(UNIT, looks.unit_state(UNIT))
    for address in addresses.values():
        yield from _controller(address, seconds, file)
    yield controller_used(_runs(settings), _controller_used(settings))
    yield from _own_ports(settings, seconds)


def libraries(missing: list[str]) -> CheckFinding:
    """What the extra `gateway` brings is there."""
    if missing:
        return fail("libraries", f"missing: {', '.join(missing)}", "pip install 'saltern[gateway]'")
    return well("libraries", "those of the extra `gateway` are there")


def salt_port(name: str, where: str, outcome: ProbeOutcome) -> CheckFinding:
    """What listens where salt-minions connect.

    Args:
        name: of the option.
        where: ADDRESS:PORT.
        outcome: of a look at it.
    """
    match outcome:
        case "plain":
            return well("port", f"a program with Salt's protocol listens at {where} ({name})")
        case "curve" | "foreign":
            what = "a controller or relay" if outcome == "curve" else "another program"
            return fail(
                "port",
                f"{what} listens at {where} ({name})",
                f"write another {name}, or have each listen at an `interface` of its own",
            )
        case _:
            return warn("port", f"nothing listens at {where} ({name})", "start the gateway: saltern gateway")


def controller_used(runs: bool, name: str | None) -> CheckFinding:
    """Which controller the gateway speaks to.

    Args:
        runs: whether a gateway has the folders of this configuration.
        name: which one it has noted; empty: none; None: it has noted nothing.
    """
    if not runs or name is None:
        return warn("controller used", "no gateway of this configuration runs", "start the gateway: saltern gateway")
    if not name:
        todo = "its log says why: controller_unreachable, controller_failed"
        return fail("controller used", "the gateway is connected to no controller", todo)
    return well("controller used", f"the gateway speaks to {name}")


def _runs(settings: GatewaySettings) -> bool:
    return lock_holder(settings.pki_dir / LOCK_FILE) is not None


def _controller_used(settings: GatewaySettings) -> str | None:
    try:
        return str(json.loads((settings.cachedir / CONTROLLER_FILE).read_bytes())["controller"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _controller(address: Address, seconds: float, file: str) -> Iterator[CheckFinding]:
    where = f"{address.host} port {address.request_port}"
    outcome, error = probe(address.host, address.request_port, seconds)
    yield judgements.controller_port(where, outcome, error, host="controller", port="controller_port")
    if outcome == "curve":
        key, option = (
            (address.relay_key, "relay_key") if address.relay_key else (address.controller_key, "controller_key")
        )
        look = looks.shake_hands(address.host, address.request_port, key, None, seconds)
        yield judgements.controller_key(f"the relay {where}" if address.relay_key else where, look, file, option)


def _own_ports(settings: GatewaySettings, seconds: float) -> Iterator[CheckFinding]:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.interface, settings.interface)  # noqa: S104 - a name
    for name, number in (("ret_port", settings.ret_port), ("publish_port", settings.publish_port)):
        outcome, _ = probe(host, number, seconds)
        yield salt_port(name, f"{settings.interface}:{number}", outcome)
