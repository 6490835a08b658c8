"""The driver `saltify`: machines that are there already, and that get an agent over ssh."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from controller.cloud.accounts.account import CloudMachine, Pause
from controller.cloud.configuration import MachineProfile
from controller.cloud.errors import CloudFailed


class ExistingMachines:
    """`Account`: `ssh_host` of a profile or map says where a machine is."""

    def machines(self) -> Sequence[CloudMachine]:
        """None: who is a minion is what `saltern minions` says."""
        return ()

    def offers(self, what: str) -> Mapping[str, Mapping[str, Any]]:
        """Nothing, as in Salt."""
        return {}

    def create(self, name: str, profile: MachineProfile) -> CloudMachine:
        """The machine that is there."""
        host = str(profile.options.get("ssh_host") or name)
        return CloudMachine(id=name, name=name, state="RUNNING", public_ips=(host,))

    def reached(self, machine: CloudMachine, seconds: float, pause: Pause) -> CloudMachine:
        """It has an address."""
        return machine

    def destroy(self, machine: CloudMachine) -> None:
        """It was not made here."""
        raise CloudFailed(f"{machine.name} was there before: it is not destroyed")

    def act(self, machine: CloudMachine, action: str) -> Any:
        """None is there."""
        raise CloudFailed(f"the driver saltify has no {action}: use `saltern run`")
