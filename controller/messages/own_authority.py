"""The controller as the authority `ca_server` of certificates: signing policies of its own configuration.

Called by `peer_calls` for `x509.sign_remote_certificate` on the id `x509_ca_server`. The policy's `minions` is the
permission: no rule of `peer` is asked for. Behaviour: doc/ref/modules/all/salt.modules.x509_v2, signing policies.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from controller.access.decision import SelectMinions
from controller.config.settings import ControllerSettings
from highstate.ports import SecretFailed
from minion.machine.failure import StateFailed
from minion.providers.x509.authority import FUNCTION, check_asker, rules_for, shown
from wire.messages import PublishCall

log = structlog.get_logger("saltern.certificates")

_SECRET = "sdb://"  # noqa: S105  (how the address of one begins)


class SdbValues(Protocol):
    """Profiles of the configuration."""

    def get(self, uri: str) -> Any:
        """The value at `sdb://PROFILE/KEY`; None where there is none. Raises SecretFailed."""


@dataclass(slots=True, kw_only=True)
class OwnAuthority:
    """Signs, where the configuration has policies.

    Args:
        settings: with the policies; a reload of the configuration replaces it.
        secrets: has what policies name by `sdb://`.
        select: finds the minions of a compound target.
    """

    settings: ControllerSettings
    secrets: SdbValues
    select: SelectMinions

    def is_asked(self, question: PublishCall) -> bool:
        """Whether a call of a minion is for this authority."""
        return (
            question.kind == "minion"
            and question.fun == FUNCTION
            and question.target == self.settings.x509_ca_server
            and question.target_kind in ("glob", "list")
            and bool(self.settings.x509_signing_policies)
        )

    async def answer(self, asker: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """What `x509.sign_remote_certificate` returns: `data`, and `errors`."""
        try:
            name, asked, policy_only = _arguments(args, kwargs)
            policy = self.settings.x509_signing_policies.get(name)
            if policy is None:
                raise StateFailed("signing_policy must be specified and defined on the controller")
            check_asker(policy, asker, lambda target, minion: minion in self.select(target))
            return {"data": await asyncio.to_thread(self._made, policy, asked, policy_only), "errors": []}
        except StateFailed as error:
            return {"data": None, "errors": [str(error)]}
        except (OSError, SecretFailed) as error:
            log.error("certificate not issued", minion=asker, error=str(error))
            return {"data": None, "errors": ["the controller cannot read its key or certificate; its log says why"]}

    def _made(self, configured: Mapping[str, Any], asked: Mapping[str, Any], policy_only: bool) -> Any:
        """What is asked for. Runs in a thread; the library is imported when somebody first asks."""
        from highstate.files import MemoryFiles
        from minion.machine.machine import LocalMachine

        files = LocalMachine(sources_port=MemoryFiles({}))
        if policy_only:
            return shown(files, {**configured, "signing_cert": self._plain(configured["signing_cert"])})
        policy = {key: self._plain(value) for key, value in configured.items()}
        from minion.providers.x509.certificates import Wrapping, encode, issued, now_utc, wanted_certificate
        from minion.providers.x509.copies import keep_copy

        rules = rules_for(policy, asked)
        certificate = issued(wanted_certificate(files, rules), now_utc())
        keep_copy(files, certificate, rules)
        return encode(certificate, Wrapping()).decode()

    def _plain(self, value: Any) -> Any:
        if not isinstance(value, str) or not value.startswith(_SECRET):
            return value
        found = self.secrets.get(value)
        if found is None:
            raise SecretFailed(f"{value} has no value")
        return found


def _arguments(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], bool]:
    """The name of the policy, what is asked for, and whether the policy alone is."""
    names = ("signing_policy", "kwargs", "get_signing_policy_only")
    given = {**dict(zip(names, args, strict=False)), **kwargs}
    name, asked = given.get("signing_policy"), given.get("kwargs") or {}
    if len(args) > len(names) or set(given) - set(names) or not isinstance(name, str) or not isinstance(asked, Mapping):
        raise StateFailed(f"{FUNCTION} takes the name of a signing policy and a mapping of arguments")
    return name, asked, given.get("get_signing_policy_only") is True
