"""Gitea and Forgejo: https://forgejo.org/docs/latest/user/webhooks/"""

from __future__ import annotations

from collections.abc import Mapping

from controller.forges.forge import Forge, PullHint, SignatureHeader, hint_of, value_at


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    event = headers.get("x-forgejo-event") or headers.get("x-gitea-event") or ""
    project = value_at(payload, "repository", "full_name")
    if event.startswith("pull_request") and value_at(payload, "pull_request") is not None:
        return hint_of(project, value_at(payload, "pull_request", "number"))
    is_pull = value_at(payload, "is_pull") is True or value_at(payload, "issue", "pull_request") is not None
    if event in ("issue_comment", "pull_request_comment") and is_pull:
        return hint_of(project, value_at(payload, "issue", "number"))
    return None


FORGE = Forge(
    name="Gitea, Forgejo",
    verifiers=(SignatureHeader("x-forgejo-signature"), SignatureHeader("x-gitea-signature")),
    delivery_headers=("x-forgejo-delivery", "x-gitea-delivery"),
    pull_of=_pull_of,
)
