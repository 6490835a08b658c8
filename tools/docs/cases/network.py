"""Cases of the states of the network: an interface and routes that are written, and not brought up."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_DEBIAN = {"os_family": "Debian", "os": "Debian", "osmajorrelease": 12}
_IFUPDOWN = ("ifupdown",)
_ROUTE = {"ipaddr": "198.51.100.0", "netmask": 24, "gateway": "192.0.2.254"}
_NO_ROUTES = ("rm -f /etc/network/if-up.d/route-case0 /etc/network/if-down.d/route-case0",)

CASES: tuple[Case, ...] = (
    Case(fun="network.managed", name="case0", grains=_DEBIAN, needs=_IFUPDOWN, restores=("/etc/network/interfaces",),
         arguments={"proto": "static", "ipaddr": "192.0.2.7", "netmask": "255.255.255.0", "noifupdown": True}),
    Case(fun="network.routes", name="case0", grains=_DEBIAN, needs=_IFUPDOWN, after=_NO_ROUTES,
         arguments={"routes": [_ROUTE], "require_reboot": True}),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {}
