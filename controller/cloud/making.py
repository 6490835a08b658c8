"""Makes a machine and destroys one, step by step, with Salt's event for each: `salt/cloud/NAME/creating`, ...

A key is made here and accepted before the machine has it. What the new minion then is to have follows from the trees,
as for every other: the controller compiles for it when it connects.
Behaviour: https://docs.saltproject.io/en/latest/topics/cloud/reactor.html
"""

from __future__ import annotations

import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

from controller.cloud.accounts.account import Account, CloudMachine
from controller.cloud.accounts.accounts import account_of
from controller.cloud.configuration import CloudProvider, MachineProfile
from controller.cloud.controller_port import CloudController
from controller.cloud.deployment import Deployment, MinionFiles, SshFolders, check_deployment
from controller.cloud.errors import CloudFailed
from controller.cloud.name_lock import name_lock
from wire.keys import load_or_create, valid_minion_id

_INTERVAL = 0.5
_GONE_SECONDS = 10.0
"""That the minion of a machine that was destroyed has to go."""


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
        locks: folder of the names that are being made.
        say: tells whoever watches what is done.
        for_minion: a minion asks (`peer_run`): it takes over no id that is taken, and chooses no host.
    """

    controller: CloudController
    own_key: Callable[[], Path]
    folder: Path
    locks: Path
    say: Callable[[str], None]
    for_minion: bool = False
    stopped: threading.Event = field(default_factory=threading.Event)
    """Set when nobody wants to wait any more: what is being made is left as it is, and said."""

    def create(self, name: str, profile: MachineProfile) -> dict[str, Any]:
        """Make a machine that is a minion at the end; what is shown of it. CloudFailed."""
        minion = _minion_id(name, profile)
        if self.for_minion:
            self._refuse_minion(name, minion, profile)
        with name_lock(self.locks, name):
            return self._create(name, minion, profile)

    def _create(self, name: str, minion: str, profile: MachineProfile) -> dict[str, Any]:
        deploys = bool(profile.options.get("deploy", True))
        configuration = self._configuration(minion, profile) if deploys else {}
        seconds = profile.seconds("wait_for_ip_timeout", 600), profile.seconds("wait_for_minion", 60)
        if deploys:
            check_deployment(profile, self.folder / "cloud.deploy.d")
        account = account_of(profile.provider)
        if any(each.name == name for each in account.machines()):
            raise CloudFailed(f"{name} already exists")
        self._tell(name, "creating", f"{name} is being made", _public(profile))
        key = self._accepted(minion) if deploys else None
        made: CloudMachine | None = None
        try:
            self._tell(name, "requesting", f"{profile.provider.alias} is asked for it", {"kwargs": _public(profile)})
            made = account.create(name, profile)
            machine = account.reached(made, seconds[0], self._pause)
            if machine.password == "" and made.password:
                machine = replace(machine, password=made.password)  # told once
            if key is not None:
                self._deploy(machine, profile, key, configuration)
        except CloudFailed as error:
            raise self._failed(error, minion if key is not None else "", made, profile) from error
        self._tell(name, "created", f"{name} is there", {"instance_id": machine.id, "provider": _provider(profile)})
        shown = {**machine.shown(), "deployed": deploys}
        if deploys:
            shown["connected"] = self._connects(minion, seconds[1])
        return shown

    def _failed(
        self, error: CloudFailed, minion: str, made: CloudMachine | None, profile: MachineProfile
    ) -> CloudFailed:
        """What is said of it: what stays, and what can be done. The key, which nobody else has, is forgotten."""
        said = [str(error)]
        if minion:
            try:
                self.controller.forget(minion)
            except CloudFailed as other:
                said.append(f"the accepted key stays, since {other}: `saltern key delete {minion}`")
        if made is not None and profile.provider.driver != "saltify":
            where = f" at {', '.join(made.public_ips)}" if made.public_ips else ""
            minions = " and is no minion" if minion else ""
            said.append(f"the machine {made.id}{where} stays{minions}: `saltern cloud -d {made.name}` destroys it")
        elif made is not None:
            said.append("nothing stays accepted: mend this, and run it again")
        return CloudFailed("; ".join(said))

    def destroy(self, provider: CloudProvider, account: Account, machine: CloudMachine) -> None:
        """Destroy a machine, and forget its minion. CloudFailed."""
        event = {"instance_id": machine.id, "name": machine.name}
        self._tell(machine.name, "destroying", f"{provider.alias} is asked to destroy {machine.name}", event)
        account.destroy(machine)
        if not self.for_minion or self._goes(machine.name):
            self.controller.forget(machine.name)
        self._tell(machine.name, "destroyed", f"{machine.name} is gone", event)

    def _deploy(
        self, machine: CloudMachine, profile: MachineProfile, key: _KeyOfMinion, configuration: Mapping[str, Any]
    ) -> None:
        with tempfile.TemporaryDirectory(prefix="saltern-cloud-") as folder:
            folders = SshFolders(known=Path(folder), own_key=self.own_key(), scripts=self.folder / "cloud.deploy.d")
            deployment = Deployment(machine, profile, folders, pause=self._pause, say=self.say)
            host = deployment.target.host
            self._tell(machine.name, "waiting_for_ssh", f"waiting for ssh at {host}", {"ip_address": host})
            deployment.wait_for_ssh()
            self._tell(machine.name, "deploying", f"{machine.name} becomes a minion", {"ip_address": host})
            deployment.deploy(
                MinionFiles(private_key=key.private, configuration=configuration, grains=_grains(profile))
            )

    def _configuration(self, minion: str, profile: MachineProfile) -> dict[str, Any]:
        given = {name: value for name, value in profile.mapping("minion").items() if name != "grains"}
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

    def _refuse_minion(self, name: str, minion: str, profile: MachineProfile) -> None:
        """What a minion may not have made, whoever else may. CloudFailed."""
        if profile.provider.driver == "saltify" and not profile.options.get("ssh_host"):
            raise CloudFailed(
                f"the profile {profile.name!r} has no `ssh_host`, and a minion does not choose where one logs in"
            )
        for each in {name, minion}:
            if self.controller.has_key(each):
                raise CloudFailed(f"there is a key of {each!r}, and a minion makes no machine of an id that is taken")

    def _goes(self, minion: str) -> bool:
        """Whether the minion of a machine that is destroyed goes with it: one that stays is another machine's."""
        return self._becomes(minion, _GONE_SECONDS, connected=False)

    def _connects(self, minion: str, seconds: float) -> bool:
        return self._becomes(minion, seconds, connected=True)

    def _becomes(self, minion: str, seconds: float, *, connected: bool) -> bool:
        deadline = time.monotonic() + seconds
        while self.controller.is_connected(minion) is not connected:
            if time.monotonic() > deadline:
                return False
            if self.stopped.wait(_INTERVAL):
                return False
        return True

    def _pause(self, seconds: float) -> None:
        if self.stopped.wait(seconds):
            raise CloudFailed("it was interrupted")

    def _tell(self, name: str, step: str, event: str, data: Mapping[str, Any]) -> None:
        self.say(f"{name}: {step.replace('_', ' ')}")
        self.controller.fire(f"salt/cloud/{name}/{step}", {"name": name, "event": event, **data})


def _minion_id(name: str, profile: MachineProfile) -> str:
    minion = str(profile.mapping("minion").get("id") or name)
    for each in (name, minion):
        if not valid_minion_id(each):
            raise CloudFailed(f"{each!r} is no id of a minion")
    return minion


def _grains(profile: MachineProfile) -> Mapping[str, Any]:
    """What the machine says of itself: Salt's grain `salt-cloud`, and the grains of profile and map."""
    own = profile.mapping("minion").get("grains") or {}
    if not profile.options.get("enable_cloud_grains", True):
        return {**own, **profile.mapping("grains")}
    where = {"driver": profile.provider.driver, "profile": profile.name, "provider": _provider(profile)}
    return {"salt-cloud": where, **own, **profile.mapping("grains")}


def _provider(profile: MachineProfile) -> str:
    return f"{profile.provider.alias}:{profile.provider.driver}"


def _public(profile: MachineProfile) -> dict[str, Any]:
    """What an event tells: names of images and sizes, and nothing that may be secret."""
    named = ("image", "size", "location", "availability_zone", "ssh_username", "ssh_host")
    told = {name: str(profile.options[name]) for name in named if profile.options.get(name)}
    return {"profile": profile.name, "provider": _provider(profile), **told}
