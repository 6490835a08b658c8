"""Every request of a client and every answer of a fake is as the forge's published description has it."""

from __future__ import annotations

import pytest
from forge_descriptions import described
from forges.all_forges import FAKES, NEEDS_ADMIN
from forges.server import Reply

from controller.forges.client import Annotation, CheckState, ForgeCheck, Permission, Reaction

PROJECT = "Org/states"
DESCRIPTIONS = {
    "github": ("github.json", ""),
    "github-app": ("github.json", ""),
    "gitea": ("forgejo.json", ""),
    "azure-devops": ("azure-git.json", ""),
}
"""Fake -> file that was fetched, and what stands before its paths."""

UNDESCRIBED = (
    "POST /api/graphql",  # has a schema of its own
    "GET /_apis/projects/",  # of another description than that of git
)


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


@pytest.mark.parametrize("name", DESCRIPTIONS)
async def test_requests_and_answers_are_as_described(name, connect):
    pytest.importorskip("jsonschema")
    from forges.descriptions import Description

    file, prefix = DESCRIPTIONS[name]
    document = described(file)
    if name == "azure-devops":  # its paths begin with the organisation, which is in the address
        document = {
            **document,
            "paths": {path.removeprefix("/{organization}"): each for path, each in document["paths"].items()},
        }
    description = Description(document, prefix)
    with FAKES[name]() as fake:
        robot = {fake.model.robot: "admin"} if fake.kind in NEEDS_ADMIN else {}
        fake.model.project(PROJECT, alice="write", **robot)
        await whole_use(fake, connect(fake))
        problems = [
            problem
            for request, reply in fake.answers
            if not f"{request.method} {request.path}".startswith(UNDESCRIBED)
            for problem in description.problems(request, unwrapped(reply))
        ]
        assert len(fake.answers) > 15
    assert sorted(set(problems)) == []
