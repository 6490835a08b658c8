"""What the controller knows of one kind of forge: a `Forge`, in the module of its kind.

The module is found by its file (`controller.forges.registry`). Everything else follows from the definition: which
`kind` the configuration takes and with which options, which remotes are whose, webhooks, the client, the table in
docs/forges.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from controller.forges.addresses import Addresses
from controller.forges.pull_hints import PullHint
from controller.forges.settings import ForgeOptions
from controller.forges.verifiers import Verifier

if TYPE_CHECKING:
    from controller.forges.api.adapter import ClientParts
    from controller.forges.client import ForgeClient


def _no_delivery(payload: object) -> str:
    return ""


def _no_pull(headers: Mapping[str, str], payload: object) -> PullHint | None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhooks:
    """The webhooks of a forge. Header names are lower case."""

    verifiers: tuple[Verifier, ...]
    """A webhook is accepted when one of them finds the secret."""
    delivery_headers: tuple[str, ...] = ()
    """Headers with the id of a delivery, the same when it is sent again; the first that is set counts."""
    delivery_of: Callable[[object], str] = _no_delivery
    """The id of a delivery from the payload, where no header has it; empty when there is none."""
    ping: tuple[str, str] | None = None
    """Header and value of a request that only tests whether the webhook is reachable."""
    pull_of: Callable[[Mapping[str, str], object], PullHint | None] = _no_pull
    """The pull request that something happened to (headers, payload); None for other events."""
    marks: tuple[str, ...] = ()
    """Headers that tell it from a forge whose headers it sends, too."""
    repository: tuple[str, ...] = ("repository",)
    """Path of keys to the repository in the payload."""
    clone_urls: tuple[str, ...] = ()
    """Keys there of URLs to clone from, beside `clone_url` and `ssh_url`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Forge:
    """One kind of forge. The `kind` of the configuration is the name of its module, with `-` for `_`."""

    name: str
    """As its makers call it."""
    client: Callable[[ClientParts], ForgeClient]
    """Makes the client of one forge of this kind, not connected yet."""
    addresses: Addresses
    webhooks: Webhooks
    options: type[ForgeOptions] = ForgeOptions
    """Options that a forge of this kind has beside those of all."""
    other_access: str = ""
    """Which of these give access in the place of a token."""
    shows_html: bool = True
    """Whether its comments show HTML; else as text."""
