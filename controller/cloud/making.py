"""Makes a machine and destroys one, step by step, with Salt's event for each: `salt/cloud/NAME/creating`, ...

A key is made here and accepted before the machine has it. What the new minion then is to have follows from the trees,
as for every other: the controller compiles for it when it connects.
Behaviour: https://docs.saltproject.io/en/latest/topics/cloud/reactor.html
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from controller.cloud.accounts.account import Account, CloudMachine
from controller.cloud.accounts.accounts import account_of
from controller.cloud.configuration import CloudProvider, MachineProfile
from controller.cloud.controller_port import CloudController
from controller.cloud.deployment import Deployment, MinionFiles, SshFolders
from controller.cloud.errors import CloudFailed
from wire.keys import load_or_create, valid_minion_id

_INTERVAL = 0.5


class _KeyOfMinion(NamedTuple):
    private: bytes
    public: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """Makes and destroys machines.

    Args:
        controller: whose minions they become.
        own_key: makes sure of the private key for ssh, and gives it.
        folder: of the configuration, with `cloud.deploy.d`.
        say: tells whoever watches what is done.
    """

    controller: CloudController
    own_key: Callable[[], Path]
    folder: Path
    say: Callable[[str], None]

    def create(self, name: str, profile: MachineProfile) -> dict[str, Any]:
        """Make a machine that is a minion at the end; what is shown of it. CloudFailed."""
        minion = _minion_id(name, profile)
        deploys = bool(profile.options.get("deploy", True))
        configuration = self._configuration(minion, profile) if deploys else {}
        self._tell(name, "creating", f"{name} is being made", _public(profile))
        account = account_of(profile.provider)
        key = self._accepted(minion) if deploys else None
        made: CloudMachine | None = None
        try:
            self._tell(name, "requesting", f"{profile.provider.alias} is asked for it", {"kwargs": _public(profile)})
            made = account.create(name, profile)
            timeout = float(profile.options.get("wait_for_ip_timeout") or 600)
            machine = account.reached(made, timeout)
            if machine.password == "" and made.password:
                machine = replace(machine, password=made.password)  # told once
            if key is not None:
                self._deploy(machine, profile, key, configuration)
        except CloudFailed:
            if key is not None and made is None:
                self.controller.forget(minion)
            raise
        self._tell(name, "created", f"{name} is there", {"instance_id": machine.id, "provider": _provider(profile)})
        shown = {**machine.shown(), "deployed": deploys}
        if deploys:
            shown["connected"] = self._connects(minion, float(profile.options.get("wait_for_minion", 60)))
        return shown

    def destroy(self, provider: CloudProvider, account: Account, machine: CloudMachine) -> None:
        """Destroy a machine, and forget its minion. CloudFailed."""
        event = {"instance_id": machine.id, "name": machine.name}
        self._tell(machine.name, "destroying", f"{provider.alias} is asked to destroy {machine.name}", event)
        account.destroy(machine)
        self.controller.forget(machine.name)
        self._tell(machine.name, "destroyed", f"{machine.name} is gone", event)

    def _deploy(
        self, machine: CloudMachine, profile: MachineProfile, key: _KeyOfMinion, configuration: Mapping[str, Any]
    ) -> None:
        with tempfile.TemporaryDirectory(prefix="saltern-cloud-") as folder:
            folders = SshFolders(known=Path(folder), own_key=self.own_key(), scripts=self.folder / "cloud.deploy.d")
            deployment = Deployment(machine, profile, folders)
            host = deployment.target.host
            self._tell(machine.name, "waiting_for_ssh", f"waiting for ssh at {host}", {"ip_address": host})
            deployment.wait_for_ssh()
            self._tell(machine.name, "deploying", f"{machine.name} becomes a minion", {"ip_address": host})
            deployment.deploy(
                MinionFiles(private_key=key.private, configuration=configuration, grains=_grains(profile))
            )

    def _configuration(self, minion: str, profile: MachineProfile) -> dict[str, Any]:
        given = {name: value for name, value in (profile.options.get("minion") or {}).items() if name != "grains"}
        master = given.pop("master", None) or profile.options.get("master")
        if not master:
            raise CloudFailed(
                f"{minion} has no controller: say `minion: {{master: NAME}}` in the profile, its provider or `cloud`"
            )
        return {"id": minion, "master": master, "controller_key": self.controller.home().public_key, **given}

    def _accepted(self, minion: str) -> _KeyOfMinion:
        with tempfile.TemporaryDirectory(prefix="saltern-cloud-") as folder:
            path = Path(folder) / "minion.key"
            public = load_or_create(path).public
            private = path.read_bytes()
        self.controller.accept(minion, public)
        return _KeyOfMinion(private, public)

    def _connects(self, minion: str, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while not self.controller.is_connected(minion):
            if time.monotonic() > deadline:
                return False
            time.sleep(_INTERVAL)
        return True

    def _tell(self, name: str, step: str, event: str, data: Mapping[str, Any]) -> None:
        self.say(f"{name}: {step.replace('_', ' ')}")
        self.controller.fire(f"salt/cloud/{name}/{step}", {"name": name, "event": event, **data})


def _minion_id(name: str, profile: MachineProfile) -> str:
    minion = str((profile.options.get("minion") or {}).get("id") or name)
    for each in (name, minion):
        if not valid_minion_id(each):
            raise CloudFailed(f"{each!r} is no id of a minion")
    return minion


def _grains(profile: MachineProfile) -> Mapping[str, Any]:
    """What the machine says of itself: Salt's grain `salt-cloud`, and the grains of profile and map."""
    own = (profile.options.get("minion") or {}).get("grains") or {}
    if not profile.options.get("enable_cloud_grains", True):
        return {**own, **(profile.options.get("grains") or {})}
    where = {"driver": profile.provider.driver, "profile": profile.name, "provider": _provider(profile)}
    return {"salt-cloud": where, **own, **(profile.options.get("grains") or {})}


def _provider(profile: MachineProfile) -> str:
    return f"{profile.provider.alias}:{profile.provider.driver}"


def _public(profile: MachineProfile) -> dict[str, Any]:
    """What an event tells: names of images and sizes, and nothing that may be secret."""
    named = ("image", "size", "location", "availability_zone", "ssh_username", "ssh_host")
    told = {name: str(profile.options[name]) for name in named if profile.options.get(name)}
    return {"profile": profile.name, "provider": _provider(profile), **told}
