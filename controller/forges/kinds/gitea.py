"""Gitea and Forgejo: https://docs.gitea.com/api/, https://forgejo.org/docs/latest/user/webhooks/.

Checks are commit statuses; comments cannot be folded. Who may write is told to administrators of the repository alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import ClassVar

from controller.forges.addresses import Addresses
from controller.forges.api.access import Proof, proved
from controller.forges.api.adapter import ClientParts
from controller.forges.api.authorization import TokenAuthorization
from controller.forges.api.github_like import CommentAnswer, GitHubLikeClient, shared_comment
from controller.forges.client import AccessResult, ForgeComment, ForgeRefused
from controller.forges.forge import Forge, Webhooks
from controller.forges.pull_hints import PullHint, hint_of, value_at
from controller.forges.verifiers import SignatureHeader


def _form(token: str) -> dict[str, str]:
    return {"authorization": f"token {token}"}


class GiteaClient(GitHubLikeClient):
    """One Gitea or Forgejo. A `ForgeClient`."""

    comment_bytes = 65_535
    newest_change_first: ClassVar[Mapping[str, str | int]] = {"sort": "recentupdate", "limit": 50}
    of_nothing = (400, 404, 422, 500)  # 500 for a status of a commit that there is not; 403 before that

    def authorization(self, parts: ClientParts) -> TokenAuthorization:
        """The token in a form of its own."""
        return TokenAuthorization(self.name, parts.settings.token, _form)

    async def comments(self, project: str, number: int) -> Sequence[ForgeComment]:
        """The newest comments, the oldest of them first. The forge sends all at once."""
        found = await self._http.get(f"{self.repository(project)}/issues/{number}/comments", list[CommentAnswer])
        if len(found) > self._limits.comments:
            self._refused("comments")
        return [shared_comment(each) for each in found[-self._limits.comments :]]

    async def check_access(self, project: str) -> Sequence[AccessResult]:
        """Prove each access that previews need, one by one. Nothing is written: what is written to is not there."""

        async def rights() -> str:
            if not (await self.own_rights(project)).get("admin"):
                raise ForgeRefused("the token's owner is no administrator of the repository")
            return "administrator"

        return await proved(
            Proof(
                what=f"read pull requests of {project}",
                ask=partial(self.count_open, project),
                remedy="Give the token's owner the repository, and read:repository",
            ),
            Proof(
                what=f"see who may write to {project}",
                ask=rights,
                remedy="Make the token's owner an administrator of the repository",
            ),
            *self.write_proofs(
                project,
                comments="Give the token the scope write:issue",
                statuses="Give the token the scope write:repository",
            ),
        )


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
    client=GiteaClient,
    addresses=Addresses(path="/api/v1", compare="compare/{base}...{branch}"),
    webhooks=Webhooks(
        verifiers=(SignatureHeader("x-forgejo-signature"), SignatureHeader("x-gitea-signature")),
        delivery_headers=("x-forgejo-delivery", "x-gitea-delivery"),
        pull_of=_pull_of,
        marks=("x-forgejo-event", "x-gitea-event", "x-gogs-event"),  # it sends GitHub's, too
    ),
)
