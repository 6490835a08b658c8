"""The packages: what each has in it, what it needs, and what is done when it is installed and removed.

The same for Debian and RPM. All files lie below /usr/lib/saltern, in the layout of a virtual environment of the
system's Python, so that the program finds what it finds after `pip install`.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
VERSION = str(PROJECT["version"])
RELEASE = "1"
PREFIX = Path("usr/lib/saltern")
PYTHON = f"python{sys.version_info.major}.{sys.version_info.minor}"
"""The system's Python that the packages are for: that of the environment which builds them."""
SITE = PREFIX / "lib" / PYTHON / "site-packages"
OWN_MODULES = "/usr/local/lib/saltern/site-packages"
"""Where libraries for modules of a tree are put, beside what the packages own."""
CONTROLLER_EXTRAS = ("controller", "vault", "pam", "oidc", "postgres", "redis")


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One package."""

    name: str
    summary: str
    description: str
    requirements: tuple[str, ...] = ()
    """Distributions of Python that it brings, with all that they need and no other package of these brings."""
    needs: tuple[str, ...] = ()
    """Other packages of these, in the same version."""
    unit: str = ""
    """Of systemd."""
    setup: str = ""
    """Script of ops/packages that makes users and folders."""


def _needed(*extras: str) -> tuple[str, ...]:
    return tuple(text for extra in extras for text in PROJECT["optional-dependencies"][extra])


PACKAGES = (
    Package(
        name="saltern",
        summary="GitOps for servers: program and libraries",
        description="The program saltern with what a minion needs. Units are in saltern-minion and saltern-controller.",
        requirements=tuple(PROJECT["dependencies"]),
    ),
    Package(
        name="saltern-minion",
        summary="GitOps for servers: the agent of a machine",
        description="The unit of a minion. `saltern minion join` with the line of `saltern init` sets it up.",
        needs=("saltern",),
        unit="saltern-minion.service",
        setup="minion.sh",
    ),
    Package(
        name="saltern-cryptography",
        summary="GitOps for servers: cryptography, for relays",
        description="A library that controllers, relays and minions behind relays need.",
        requirements=_needed("cryptography"),
        needs=("saltern",),
    ),
    Package(
        name="saltern-prometheus",
        summary="GitOps for servers: metrics of controllers and gateways",
        description="A library that controllers and gateways write their metrics with.",
        requirements=("prometheus-client",),
        needs=("saltern",),
    ),
    Package(
        name="saltern-controller",
        summary="GitOps for servers: the controller",
        description="Libraries and unit of a controller. `saltern init` sets it up.",
        requirements=_needed(*CONTROLLER_EXTRAS),
        needs=("saltern", "saltern-cryptography", "saltern-prometheus"),
        unit="saltern-controller.service",
        setup="controller.sh",
    ),
    Package(
        name="saltern-relay",
        summary="GitOps for servers: a relay",
        description="The unit of a relay between a controller and minions that do not reach it.",
        needs=("saltern", "saltern-cryptography"),
        unit="saltern-relay.service",
        setup="relay.sh",
    ),
    Package(
        name="saltern-gateway",
        summary="GitOps for servers: a gateway for stock salt-minions",
        description="Library and unit of a gateway, to which unmodified salt-minions connect as to their master.",
        requirements=_needed("gateway"),
        needs=("saltern", "saltern-cryptography", "saltern-prometheus"),
        unit="saltern-gateway.service",
        setup="gateway.sh",
    ),
)


def libraries_of(package: Package) -> list[str]:
    """Names of the distributions that a package brings, sorted."""
    by_name = {each.name: each for each in PACKAGES}
    found = closure(package.requirements)
    for other in package.needs:
        found -= closure(by_name[other].requirements)
    return sorted(found)


def closure(requirements: tuple[str, ...]) -> set[str]:
    """Names of distributions and of all that they need on this machine, as they are installed in this environment."""
    found: set[tuple[str, str]] = set()
    waiting = [(Requirement(text), "") for text in requirements]
    while waiting:
        requirement, extra = waiting.pop()
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        name = re.sub(r"[-_.]+", "-", requirement.name).lower()
        for wanted in ("", *requirement.extras):
            if (name, wanted) not in found:
                found.add((name, wanted))
                waiting += [(Requirement(text), wanted) for text in metadata.requires(name) or ()]
    return {name for name, _ in found}
