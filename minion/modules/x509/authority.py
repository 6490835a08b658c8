"""Functions of `x509` for signing policies, which an authority is asked for.

A minion asks its authority through the controller: another minion, where `peer` of its configuration allows
`x509.sign_remote_certificate`, or the controller itself. Behaviour: doc/ref/modules/all/salt.modules.x509_v2,
sign_remote_certificate.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.providers.x509.authority import FUNCTION
from minion.providers.x509.policies import local_policy, with_short_names

_SECONDS = 60.0
"""How long an authority may take."""


def get_signing_policy(context: Context, signing_policy: str, ca_server: str | None = None) -> dict[str, Any]:
    """A signing policy: of this machine, or of an authority, without what is secret of it."""
    if not ca_server:
        return local_policy(context.pillar, context.opts, signing_policy)
    known = context.signing_policies
    if (ca_server, signing_policy) not in known:
        found = ask(context, ca_server, signing_policy, {}, policy_only=True)
        if not isinstance(found, Mapping):
            raise CallFailed(f"ca_server {ca_server} did not return a signing policy")
        known[ca_server, signing_policy] = with_short_names(found)
    return copy.deepcopy(known[ca_server, signing_policy])


def ask(context: Context, ca_server: str, policy: str, asked: Mapping[str, Any], *, policy_only: bool = False) -> Any:
    """What an authority answers. Raises CallFailed with its reasons."""
    from minion.modules.publish import publish

    answers = publish(context, ca_server, FUNCTION, [policy, dict(asked), policy_only], timeout=_SECONDS)
    if not answers:
        raise CallFailed(
            f"ca_server {ca_server} did not respond; the controller must permit peers to call {FUNCTION} (peer)"
        )
    answer = next(iter(answers.values()))
    if not isinstance(answer, Mapping) or "data" not in answer:
        raise CallFailed(f"ca_server {ca_server}: {answer}")
    if answer.get("errors"):
        raise CallFailed("ca_server reported errors:\n" + "\n".join(map(str, answer["errors"])))
    return answer["data"]


FUNCTIONS = {"get_signing_policy": get_signing_policy}
