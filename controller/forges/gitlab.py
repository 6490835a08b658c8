"""GitLab: https://docs.gitlab.com/user/project/integrations/webhooks/"""

from controller.forges.forge import Forge, TokenHeader

FORGE = Forge(
    name="GitLab",
    verifiers=(TokenHeader("x-gitlab-token"),),
    delivery_headers=("idempotency-key", "x-gitlab-event-uuid"),
    repository=("project",),
)
