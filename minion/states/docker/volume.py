"""The state module `docker_volume`.

Behaviour: doc/ref/states/all/salt.states.docker_volume.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from minion.arguments.types import AnyValue, Ignored, Pairs, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.docker.engine import DockerEngine


def present(
    machine: Reader,
    name: str,
    *,
    driver: str | None = None,
    driver_opts: Pairs | None = None,
    force: bool = False,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is a volume of this name. One of another driver is an error, unless `force` has it made anew.

    Options of the driver are those of a new volume.
    """
    engine = DockerEngine(machine, to_come=to_come)
    found = engine.found("inspect_volume", name)
    if found is not None and (driver is None or found["Driver"] == driver):
        return Plan(comment=f"Volume '{name}' already exists.")
    if found is not None and not force:
        raise StateFailed(
            f"Driver for existing volume '{name}' ('{found['Driver']}') does not match specified driver ('{driver}') "
            "and force is False"
        )
    options = {str(key): str(value) for key, value in driver_opts.items()} if driver_opts else None

    def create(machine: Machine) -> None:
        machine.begin_elsewhere()
        engine.call("create_volume", name, driver=driver, driver_opts=options)

    if found is None:
        making = Change(key="created", reported={"Name": name, **({"Driver": driver} if driver else {})}, act=create)
        return Plan(
            changes=(making,),
            pending=f"The volume '{name}' will be created",
            done="",
        )

    def remove(machine: Machine) -> None:
        machine.begin_elsewhere()
        engine.call("remove_volume", name)

    return Plan(
        changes=(
            Change(key="removed", reported=True, act=remove),
            Change(key="created", reported={"Name": name, "Driver": driver}, act=create),
        ),
        pending=f"The volume '{name}' will be replaced with a new one using the driver '{driver}'",
        done=f"Volume '{name}' was replaced",
    )


def absent(
    machine: Reader,
    name: str,
    *,
    driver: Annotated[AnyValue, Ignored("Salt does not use it either: a name is of one volume")] = None,
    to_come: ToCome = frozenset(),
) -> Plan:
    """There is no volume of this name. One that a container has is not removed: it fails."""
    engine = DockerEngine(machine, to_come=to_come)
    if engine.found("inspect_volume", name) is None:
        return Plan(comment=f"Volume '{name}' already absent")

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        try:
            engine.call("remove_volume", name)
        except StateFailed as error:
            raise StateFailed(f"Failed to remove volume '{name}': {error}") from None

    return Plan(
        changes=(Change(key="removed", reported=True, act=act),),
        pending=f"The volume '{name}' will be removed",
        done="",
    )


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
