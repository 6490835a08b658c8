"""GitLab: https://docs.gitlab.com/user/project/integrations/webhooks/"""

from __future__ import annotations

from collections.abc import Mapping

from controller.forges.forge import Forge, PullHint, TokenHeader, hint_of, value_at


def _pull_of(headers: Mapping[str, str], payload: object) -> PullHint | None:
    project = value_at(payload, "project", "path_with_namespace")
    match value_at(payload, "object_kind"):
        case "merge_request":
            return hint_of(project, value_at(payload, "object_attributes", "iid"))
        case "note":
            return hint_of(project, value_at(payload, "merge_request", "iid"))
    return None


FORGE = Forge(
    name="GitLab",
    verifiers=(TokenHeader("x-gitlab-token"),),
    delivery_headers=("idempotency-key", "x-gitlab-event-uuid"),
    repository=("project",),
    pull_of=_pull_of,
)
