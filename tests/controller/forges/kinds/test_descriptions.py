"""Every request of a client and every answer of a fake is as the forge's published description has it."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest
from forge_descriptions import described
from forges.all_forges import FAKES, NEEDS_ADMIN
from forges.server import Reply

from controller.forges.client import Annotation, CheckState, ForgeCheck, Permission, Reaction

PROJECT = "Org/states"


@dataclass(frozen=True, kw_only=True)
class Published:
    """A description, and where it does not say all."""

    file: str
    """As it was fetched."""
    before: str = ""
    """What its paths begin with and stands in the address of the API."""
    answers: bool = True
    """Whether answers are held against it, too; those of GitLab and Data Center are described wrongly and in part."""
    undescribed: str = "(?!)"
    """Regular expression for `METHOD /path` of requests that it has not."""
    parameters: tuple[str, ...] = ()
    """Of queries, which the forge describes in words."""


OF_PAGES = ("page", "pagelen", "sort", "q")
OF_USERS = ("filter", "permission.1", "permission.1.projectKey", "permission.1.repositorySlug", "limit", "start")
GITHUB = Published(file="github.json", undescribed="^POST /api/graphql")  # it has a schema of its own
PUBLISHED = {
    "github": GITHUB,
    "github-app": GITHUB,
    "gitea": Published(file="forgejo.json"),
    "gitlab": Published(
        file="gitlab.json",
        before="/api/v4",
        answers=False,
        undescribed="^GET /user$|/notes(/[0-9]+)?$",  # later versions describe notes
    ),
    "bitbucket": Published(file="bitbucket.json", parameters=OF_PAGES),
    "bitbucket-datacenter": Published(file="bitbucket-datacenter.json", answers=False, parameters=OF_USERS),
    "azure-devops": Published(
        file="azure-git.json",
        before="/{organization}",
        undescribed="^GET /_apis/projects/",  # of another description than that of git
    ),
}


async def whole_use(fake, client):
    """All that a client can ask for."""
    pull = fake.model.open(PROJECT, fork="mallory/states")
    asked = fake.model.comment(pull, "alice", "/saltern preview")
    await client.open_pull_requests(PROJECT)
    await client.comments(PROJECT, 1)
    made = await client.create_comment(PROJECT, 1, "text")
    await client.edit_comment(PROJECT, 1, made.id, "other")
    await client.hide_comment(PROJECT, 1, made.id)
    for reaction in Reaction:
        await client.react(PROJECT, 1, fake.id_of(asked), reaction)
    annotation = Annotation(path="a.sls", line=1, level="failure", message="m")
    for state in CheckState:
        check = ForgeCheck(
            name="saltern/preview (base)",
            state=state,
            title="t",
            summary="s",
            url="https://saltern.example.org/r/1",
            annotations=(annotation,) * 60,
        )
        await client.set_check(PROJECT, pull.head, check)
        await client.set_check(PROJECT, pull.head, ForgeCheck(name="saltern/x", state=state, title="t"))
    assert await client.permission(PROJECT, "alice") == Permission.WRITE
    assert await client.permission(PROJECT, "nobody") == Permission.NONE
    await client.check_access(PROJECT)
    fake.model.merge(pull)
    await client.pull_request(PROJECT, 1)


def unwrapped(reply):
    """Azure DevOps describes lists as they are inside `{count, value}`."""
    is_list = isinstance(reply.value, dict) and set(reply.value) == {"count", "value"}
    return Reply(status=reply.status, value=reply.value["value"]) if is_list else reply


@pytest.mark.parametrize("name", FAKES)
async def test_requests_and_answers_are_as_described(name, connect):
    pytest.importorskip("jsonschema")
    from forges.descriptions import Description

    published = PUBLISHED[name]
    description = Description(described(published.file), published.before)
    with FAKES[name]() as fake:
        robot = {fake.model.robot: "admin"} if fake.kind in NEEDS_ADMIN else {}
        fake.model.project(PROJECT, alice="write", **robot)
        await whole_use(fake, connect(fake))
    assert len(fake.answers) > 15
    problems = [
        problem
        for request, reply in fake.answers
        if not re.search(published.undescribed, f"{request.method} {request.path}")
        for problem in description.problems(request, unwrapped(reply) if published.answers else None)
        if not problem.endswith(tuple(f"there is no parameter {name}" for name in published.parameters))
    ]
    assert sorted(set(problems)) == []
