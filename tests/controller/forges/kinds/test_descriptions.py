"""Every request of a client and every answer of a fake is as the forge's published description has it."""

from __future__ import annotations

import re

import pytest
from forge_descriptions import described
from forges.all_forges import CASES
from forges.server import Reply

from controller.forges.client import Annotation, CheckState, ForgeCheck, Permission, Reaction

PROJECT = "Org/states"


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


@pytest.mark.parametrize("name", CASES)
async def test_requests_and_answers_are_as_described(name, connect):
    pytest.importorskip("jsonschema")
    from forges.descriptions import Description

    published = CASES[name].published
    description = Description(described(published.file), published.before)
    with CASES[name].make() as fake:
        fake.model.project(PROJECT, alice="write")
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
