"""Bitbucket Cloud and Data Center: https://support.atlassian.com/bitbucket-cloud/docs/event-payloads/"""

from __future__ import annotations

from collections.abc import Mapping

from controller.forges.forge import Forge, PullHint, SignatureHeader, hint_of, value_at


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    event = headers.get("x-event-key", "")
    if event.startswith("pullrequest:"):
        return hint_of(value_at(payload, "repository", "full_name"), value_at(payload, "pullrequest", "id"))
    if event.startswith("pr:"):
        repository = value_at(payload, "pullRequest", "toRef", "repository")
        key, slug = value_at(repository, "project", "key"), value_at(repository, "slug")
        project = f"{key}/{slug}" if isinstance(key, str) and isinstance(slug, str) else None
        return hint_of(project, value_at(payload, "pullRequest", "id"))
    return None


FORGE = Forge(
    name="Bitbucket",
    verifiers=(SignatureHeader("x-hub-signature"),),
    delivery_headers=("x-request-uuid", "x-request-id"),
    ping=("x-event-key", "diagnostics:ping"),
    pull_of=_pull_of,
)
