"""Accounts by Apache Libcloud. It is imported when an account is asked, and by nothing that stays.

Names of drivers and options are Salt's; what they are for Libcloud stands in the table. Whatever else a driver of
Libcloud takes is given by `libcloud` (of its constructor) and `create` (of its create_node).
Source: https://libcloud.readthedocs.io/en/stable/compute/api.html
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlsplit

from controller.cloud.accounts.account import CloudMachine, Pause
from controller.cloud.configuration import CloudProvider, MachineProfile
from controller.cloud.errors import CloudFailed

_Found = TypeVar("_Found")
_SECONDS = 60
"""For one request."""
_INTERVAL = 3.0
"""Seconds between two looks at a machine that comes up."""


@dataclass(frozen=True, slots=True)
class _Driver:
    """A driver of Libcloud, and the options that its constructor takes: Salt's name -> Libcloud's."""

    name: str
    options: Mapping[str, str]
    optional: Collection[str] = ()
    """Of Salt's names: those without which it works."""


_DRIVERS: Mapping[str, _Driver] = {
    "digitalocean": _Driver("digitalocean", {"personal_access_token": "key"}),
    "dummy": _Driver("dummy", {"creds": "creds"}, ("creds",)),
    "ec2": _Driver(
        "ec2", {"id": "key", "key": "secret", "location": "region", "token": "token"}, ("location", "token")
    ),
    "gce": _Driver(
        "gce",
        {
            "service_account_email_address": "user_id",
            "service_account_private_key": "key",
            "project": "project",
            "location": "datacenter",
        },
        ("location",),
    ),
    "linode": _Driver("linode", {"apikey": "key"}),
    "openstack": _Driver(
        "openstack",
        {
            "user": "key",
            "password": "secret",
            "tenant": "ex_tenant_name",
            "identity_url": "ex_force_auth_url",
            "compute_region": "ex_force_service_region",
        },
        ("tenant", "compute_region"),
    ),
    "scaleway": _Driver("scaleway", {"access_key": "key", "token": "secret"}),
    "vultr": _Driver("vultr", {"api_key": "key"}),
}
_OF_EC2 = {
    "keyname": "ex_keyname",
    "securitygroup": "ex_security_groups",
    "securitygroupid": "ex_security_group_ids",
    "userdata": "ex_userdata",
    "iam_profile": "ex_iamprofile",
    "ebs_optimized": "ex_ebs_optimized",
    "tag": "ex_metadata",
}
"""Options of a profile of ec2 -> what create_node takes."""
_LISTS = ("ex_security_groups", "ex_security_group_ids")


class LibcloudAccount:
    """`Account`."""

    def __init__(self, provider: CloudProvider) -> None:
        self._provider = provider
        self._driver = _asked(lambda: _driver_of(provider), f"the provider {provider.alias!r}")

    def machines(self) -> Sequence[CloudMachine]:
        """See `Account`."""
        nodes = self._ask(self._driver.list_nodes, "list its machines")
        return [found for node in nodes if (found := _machine(node)).state not in ("TERMINATED", "UNKNOWN")]

    def offers(self, what: str) -> Mapping[str, Mapping[str, Any]]:
        """See `Account`."""
        found = self._ask(getattr(self._driver, f"list_{what}"), f"list its {what}")
        return {str(each.name): _described(each) for each in found}

    def create(self, name: str, profile: MachineProfile) -> CloudMachine:
        """See `Account`."""
        options = profile.options
        arguments: dict[str, Any] = {
            "name": name,
            "image": self._image(str(options.get("image") or "")),
            "size": self._chosen("sizes", str(options.get("size") or "")),
        }
        zone = options.get("availability_zone") if profile.provider.driver == "ec2" else options.get("location")
        if zone:
            arguments["location"] = self._chosen("locations", str(zone))
        if profile.provider.driver == "ec2":
            for salts, own in _OF_EC2.items():
                if options.get(salts):
                    value = options[salts]
                    arguments[own] = [value] if own in _LISTS and isinstance(value, str) else value
        arguments |= profile.mapping("create")
        return _machine(self._ask(lambda: self._driver.create_node(**arguments), f"make {name}"))

    def reached(self, machine: CloudMachine, seconds: float, pause: Pause) -> CloudMachine:
        """See `Account`."""
        deadline = time.monotonic() + seconds
        while True:
            now = next((each for each in self.machines() if each.id == machine.id), None)
            if now is not None and now.state == "RUNNING" and (now.public_ips or now.private_ips):
                return now
            if time.monotonic() > deadline:
                state = now.state if now is not None else "gone"
                raise CloudFailed(f"{machine.name} has no address after {seconds:g} s; it is {state}")
            pause(_INTERVAL)

    def destroy(self, machine: CloudMachine) -> None:
        """See `Account`."""
        node = self._node(machine)
        if not self._ask(lambda: self._driver.destroy_node(node), f"destroy {machine.name}"):
            raise CloudFailed(f"{self._provider.alias} does not destroy {machine.name}")

    def act(self, machine: CloudMachine, action: str) -> Any:
        """See `Account`."""
        node = self._node(machine)
        ask = {
            "reboot": self._driver.reboot_node,
            "start": self._driver.start_node,
            "stop": self._driver.stop_node,
        }[action]
        return bool(self._ask(lambda: ask(node), f"{action} {machine.name}"))

    def _node(self, machine: CloudMachine) -> Any:
        nodes = self._ask(self._driver.list_nodes, "list its machines")
        found = next((node for node in nodes if str(node.id) == machine.id), None)
        if found is None:
            raise CloudFailed(f"{machine.name} is gone")
        return found

    def _image(self, wanted: str) -> Any:
        # A region of EC2 has tens of thousands of images: one that is named by its id is asked for by that.
        if wanted.startswith("ami-"):
            return self._ask(lambda: self._driver.get_image(wanted), f"find the image {wanted}")
        return self._chosen("images", wanted)

    def _chosen(self, what: str, wanted: str) -> Any:
        """The one of the account's images, sizes or locations with this id or name."""
        if not wanted:
            raise CloudFailed(f"the profile has no `{what.removesuffix('s')}`")
        found = list(self._ask(getattr(self._driver, f"list_{what}"), f"list its {what}"))
        for each in found:
            zone = getattr(getattr(each, "availability_zone", None), "name", None)
            if wanted in (str(each.id), str(each.name), zone):
                return each
        raise CloudFailed(f"{self._provider.alias} has no {what.removesuffix('s')} {wanted!r}: --list-{what}")

    def _ask(self, ask: Callable[[], _Found], what: str) -> _Found:
        return _asked(ask, f"{self._provider.alias} does not {what}")


def knows(driver: str, options: Mapping[str, Any]) -> bool:
    """Whether an account of this driver can be asked."""
    return driver in _DRIVERS or "libcloud" in options


def known_drivers() -> Iterable[str]:
    """Names of drivers."""
    return _DRIVERS


def _driver_of(provider: CloudProvider) -> Any:
    try:
        from libcloud.compute.providers import get_driver
    except ModuleNotFoundError as error:
        raise CloudFailed(f"machines of clouds need {error.name}: pip install 'saltern[cloud]'") from error
    known = _DRIVERS.get(provider.driver, _Driver(provider.driver, {}))
    options = provider.options
    if missing := [name for name in known.options if not options.get(name) and name not in known.optional]:
        raise CloudFailed(
            f"the provider {provider.alias!r} has no {' and no '.join(f'`{name}`' for name in missing)}, "
            f"which the driver {provider.driver} needs"
        )
    arguments = {own: options[salts] for salts, own in known.options.items() if options.get(salts) is not None}
    if provider.driver == "dummy":
        arguments.setdefault("creds", "")
    else:
        arguments["timeout"] = _SECONDS
    if endpoint := options.get("endpoint"):
        where = urlsplit(str(endpoint) if "//" in str(endpoint) else f"https://{endpoint}")
        arguments |= {"host": where.hostname, "secure": where.scheme == "https"}
        if where.port:
            arguments["port"] = where.port
    return get_driver(known.name)(**arguments, **(options.get("libcloud") or {}))


def _asked(ask: Callable[[], _Found], what: str) -> _Found:
    try:
        return ask()
    except CloudFailed:
        raise
    except Exception as error:  # drivers raise what they like: OSError, ValueError, LibcloudError, Exception
        said = " ".join(str(error).split())[:500]
        raise CloudFailed(f"{what}: {type(error).__name__}: {said}") from error


def _machine(node: Any) -> CloudMachine:
    extra = dict(node.extra or {})
    return CloudMachine(
        id=str(node.id),
        name=str(node.name),
        image=str(getattr(node.image, "id", None) or extra.get("image_id") or extra.get("image") or ""),
        size=str(getattr(node.size, "id", None) or extra.get("instance_type") or extra.get("size") or ""),
        state=str(node.state).rpartition(".")[2].upper(),
        public_ips=tuple(map(str, node.public_ips or ())),
        private_ips=tuple(map(str, node.private_ips or ())),
        extra={name: value for name, value in extra.items() if name != "password"},
        password=str(extra.get("password") or ""),
    )


def _described(each: Any) -> dict[str, Any]:
    fields = ("id", "name", "country", "ram", "disk", "bandwidth", "price")
    return {name: getattr(each, name) for name in fields if getattr(each, name, None) is not None}
