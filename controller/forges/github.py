"""GitHub: https://docs.github.com/en/webhooks/webhook-events-and-payloads"""

from __future__ import annotations

from collections.abc import Mapping

from controller.forges.forge import Forge, PullHint, SignatureHeader, hint_of, value_at

_OF_PULLS = ("pull_request", "pull_request_review", "pull_request_review_comment")
_LIKE_GITHUB = ("x-gitea-event", "x-forgejo-event", "x-gogs-event")
"""Headers of forges that send GitHub's headers, too."""


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    if any(name in headers for name in _LIKE_GITHUB):
        return None
    event, project = headers.get("x-github-event"), value_at(payload, "repository", "full_name")
    if event in _OF_PULLS:
        return hint_of(project, value_at(payload, "pull_request", "number"))
    if event == "issue_comment" and value_at(payload, "issue", "pull_request") is not None:
        return hint_of(project, value_at(payload, "issue", "number"))
    if event == "check_run" and value_at(payload, "action") in ("rerequested", "requested_action"):
        pulls = value_at(payload, "check_run", "pull_requests")
        return hint_of(project, value_at(pulls[0], "number")) if isinstance(pulls, list) and pulls else None
    return None


FORGE = Forge(
    name="GitHub",
    verifiers=(SignatureHeader("x-hub-signature-256"),),
    delivery_headers=("x-github-delivery",),
    ping=("x-github-event", "ping"),
    pull_of=_pull_of,
)
