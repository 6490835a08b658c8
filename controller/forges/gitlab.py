"""GitLab: https://docs.gitlab.com/user/project/integrations/webhooks/"""

from controller.forges.forge import Forge, token

FORGE = Forge(
    name="GitLab",
    proofs=(token("x-gitlab-token"),),
    delivery_headers=("idempotency-key", "x-gitlab-event-uuid"),
    repository=("project",),
)
