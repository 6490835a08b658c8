"""The function by which this minion is the authority of others.

The controller says who asks, and whom a compound target means, where `peer_run` permits to ask. Behaviour:
doc/ref/modules/all/salt.modules.x509_v2, sign_remote_certificate.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Map
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.machine.failure import StateFailed
from minion.providers.x509.authority import check_asker, rules_for, shown
from minion.providers.x509.policies import policy_in

_TARGET_SECONDS = 10.0
"""How long the controller may take to say whom a target means."""


def sign_remote_certificate(
    context: Context, signing_policy: str, kwargs: Map, get_signing_policy_only: bool = False
) -> dict[str, Any]:
    """A certificate that another minion asks for by `ca_server`, below `data`; what is wrong, below `errors`."""
    try:
        policy = policy_in(context.pillar, signing_policy) or policy_in(context.opts, signing_policy)
        if not policy:
            raise StateFailed("signing_policy must be specified and defined on signing minion")
        check_asker(policy, context.asker, lambda target, minion: _is_target(context, target, minion))
        if get_signing_policy_only:
            return {"data": shown(context.machine, policy), "errors": []}
        from minion.modules.x509.issue import issue_here
        from minion.providers.x509.certificates import Wrapping, encode

        certificate = issue_here(context.machine, rules_for(policy, kwargs))
        return {"data": encode(certificate, Wrapping()).decode(), "errors": []}
    except (StateFailed, CallFailed) as error:
        return {"data": None, "errors": [str(error)]}


def _is_target(context: Context, target: str, minion: str) -> bool:
    """Whether a compound target means a minion: the controller knows, where `peer_run` lets this one ask."""
    from minion.modules.publish import runner

    found = runner(context, "match.compound_matches", [target, minion], timeout=_TARGET_SECONDS)
    return isinstance(found, Mapping) and found.get("res") == minion


FUNCTIONS = {"sign_remote_certificate": sign_remote_certificate}
