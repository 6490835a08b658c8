"""Repositories of charts that Helm knows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from minion.machine.failure import StateFailed
from minion.machine.plan import Reader
from minion.providers.helm.program import HelmFlags, HelmProgram

_NONE = "no repositories"


def known_repositories(machine: Reader, helm: HelmProgram, flags: HelmFlags) -> dict[str, str]:
    """Name → URL."""
    found = helm.found(machine, ["repo", "list", *flags.of_cluster().words()], _NONE) or ()
    return {str(one["name"]): str(one["url"]) for one in found}


def wanted_repositories(given: Sequence[Any]) -> dict[str, str]:
    """Name → URL of the argument `present`. StateFailed: it is formed otherwise."""
    found = {}
    for one in given:
        if not isinstance(one, Mapping) or not one.get("name") or not one.get("url"):
            raise StateFailed(
                "Parameter present have to be formatted like [{'name': '<myRepoName>', 'url': '<myRepoUrl>'}]"
            )
        found[str(one["name"])] = str(one["url"])
    return found


def shown_url(url: str) -> str:
    """Without a user and a password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
