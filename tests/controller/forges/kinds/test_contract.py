"""What every adapter does, against a stateful fake of its forge: the life of a pull request."""

from __future__ import annotations

import contextlib

import pytest

from controller.forges.client import (
    Annotation,
    CheckState,
    ForgeCheck,
    ForgeNotFound,
    ForgeRefused,
    Permission,
    PullState,
    Reaction,
)

PROJECT = "Org/states"


async def test_a_pull_request_as_it_is(fake, client):
    pull = fake.model.open(PROJECT, title="Nginx ⟨new⟩", branch="topic/x")
    found = await client.pull_request(PROJECT, pull.number)
    assert (found.project, found.number, found.title) == (PROJECT, 1, "Nginx ⟨new⟩")
    assert (found.author, found.state, found.draft) == ("alice", PullState.OPEN, False)
    assert (found.head, found.head_branch, found.base_branch) == (pull.head, "topic/x", "main")
    assert not found.from_fork
    assert found.merge_commit == ""
    assert found.url.startswith("http://127.0.0.1")
    assert found == await client.pull_request(PROJECT, pull.number)


async def test_its_life(fake, client):
    pull = fake.model.open(PROJECT)
    marks = [(await client.pull_request(PROJECT, 1)).updated]

    async def look():
        found = await client.pull_request(PROJECT, 1)
        assert found.updated not in marks or not fake.has_marks
        marks.append(found.updated)
        return found

    fake.model.push(pull)
    assert (await look()).head == pull.head
    fake.model.push(pull, force=True)
    assert (await look()).head == pull.head
    fake.model.projects[PROJECT].branches["next"] = pull.base
    fake.model.retarget(pull, "next")
    assert (await look()).base_branch == "next"
    fake.model.rename_branch(PROJECT, "next", "later")
    assert (await client.pull_request(PROJECT, 1)).base_branch == "later"
    fake.model.close(pull)
    assert (await client.pull_request(PROJECT, 1)).state is PullState.CLOSED
    fake.model.reopen(pull)
    assert (await client.pull_request(PROJECT, 1)).state is PullState.OPEN


@pytest.mark.parametrize("method", ["merge", "squash", "rebase", "fast-forward"])
async def test_what_a_merge_made(fake, client, method):
    pull = fake.model.open(PROJECT)
    commit = fake.model.merge(pull, method=method)
    found = await client.pull_request(PROJECT, 1)
    assert (found.state, found.merge_commit) == (PullState.MERGED, commit)


async def test_a_fork_is_told(fake, client):
    fake.model.open(PROJECT, fork="mallory/states", author="mallory")
    assert (await client.pull_request(PROJECT, 1)).from_fork
    assert [each.from_fork for each in await client.open_pull_requests(PROJECT)] == [True]


async def test_drafts_are_told(fake, client):
    fake.model.open(PROJECT, draft=True)
    assert (await client.pull_request(PROJECT, 1)).draft


async def test_what_is_not_there(fake, client):
    with pytest.raises(ForgeNotFound):
        await client.pull_request(PROJECT, 7)
    with pytest.raises(ForgeNotFound):
        await client.comments(PROJECT, 7)
    with pytest.raises(ForgeRefused):
        await client.pull_request("org/none", 1)


async def test_open_pull_requests_over_pages(fake, client):
    pulls = [fake.model.open(PROJECT, branch=f"b{number}") for number in range(130)]
    fake.model.close(pulls[5])
    fake.model.merge(pulls[6])
    fake.model.push(pulls[3])
    found = await client.open_pull_requests(PROJECT)
    assert sorted(each.number for each in found) == [each.number for each in pulls if each.state == "open"]
    assert found[0].number in (4, 130)  # not every forge sorts by changes
    assert {each.head for each in found} == {each.head for each in pulls if each.state == "open"}


async def test_comments_over_pages(fake, client):
    pull = fake.model.open(PROJECT)
    made = [fake.model.comment(pull, "alice", f"text {number}") for number in range(130)]
    fake.model.edit_comment(pull, made[4], "other")
    fake.model.delete_comment(pull, made[9])
    found = await client.comments(PROJECT, 1)
    assert [each.id for each in found] == [fake.id_of(each) for each in made if not each.deleted]
    assert found[4].body == "other"
    assert [each.edited for each in found[:6]] == [False, False, False, False, True, False]
    assert found[0].author == "alice"
    assert found[0].created == made[0].created


async def test_our_comment_is_made_edited_and_hidden(fake, client):
    pull = fake.model.open(PROJECT)
    made = await client.create_comment(PROJECT, 1, "## Preview\n<!-- marker -->\n")
    assert [each.id for each in await client.comments(PROJECT, 1)] == [made.id]
    assert made.author == fake.model.robot
    await client.edit_comment(PROJECT, 1, made.id, "## Other ☃\n")
    assert pull.comments[0].body == "## Other ☃\n"
    await client.hide_comment(PROJECT, 1, made.id)
    assert pull.comments[0].hidden or "outdated" in pull.comments[0].body


async def test_a_comment_that_somebody_deleted(fake, client):
    pull = fake.model.open(PROJECT)
    made = await client.create_comment(PROJECT, 1, "text")
    fake.model.delete_comment(pull, pull.comments[0])
    with pytest.raises(ForgeNotFound):
        await client.edit_comment(PROJECT, 1, made.id, "other")


async def test_the_longest_comment(fake, client):
    fake.model.open(PROJECT)
    made = await client.create_comment(PROJECT, 1, "x" * client.comment_bytes)
    assert len(made.body) == client.comment_bytes


async def test_reactions(fake, client):
    pull = fake.model.open(PROJECT)
    asked = fake.model.comment(pull, "alice", "/saltern preview")
    for reaction in Reaction:
        await client.react(PROJECT, 1, fake.id_of(asked), reaction)
        await client.react(PROJECT, 1, fake.id_of(asked), reaction)
    given = [content for who, content in asked.given if who == fake.model.robot]
    assert len(given) == len(set(given)) == (len(Reaction) if fake.has_reactions else 0)


async def test_a_check_from_running_to_done(fake, client):
    pull = fake.model.open(PROJECT)
    check = ForgeCheck(name="saltern/preview (base)", state=CheckState.RUNNING, title="running")
    await client.set_check(PROJECT, pull.head, check)
    for state in (CheckState.FAILURE, CheckState.RUNNING, CheckState.CANCELLED, CheckState.NEUTRAL, CheckState.SUCCESS):
        check = ForgeCheck(
            name="saltern/preview (base)",
            state=state,
            title="t" * 140,
            summary="# 3 changes",
            url="https://saltern.example.org/reports/1",
            annotations=(Annotation(path="web/init.sls", line=3, level="failure", message="not there"),),
        )
        await client.set_check(PROJECT, pull.head, check)
    (found,) = fake.model.checks(PROJECT, pull.head).values()
    assert found.name == "saltern/preview (base)"
    assert fake.outcome(found) is CheckState.SUCCESS
    assert "https://saltern.example.org/reports/1" in str(found.values)


async def test_checks_of_different_names_and_commits(fake, client):
    pull = fake.model.open(PROJECT)
    old = pull.head
    fake.model.push(pull)
    for head, name in ((old, "x/a"), (pull.head, "x/a"), (pull.head, "x/b")):
        await client.set_check(PROJECT, head, ForgeCheck(name=name, state=CheckState.SUCCESS, title="x"))
    assert set(fake.model.checks(PROJECT, old)) == {"x/a"}
    assert set(fake.model.checks(PROJECT, pull.head)) == {"x/a", "x/b"}


async def test_permissions(fake, client):
    wanted = {"alice": Permission.WRITE, "root": Permission.ADMIN, "reader": fake.of_readers, "nobody": Permission.NONE}
    for user, permission in wanted.items():
        found = await client.permission(PROJECT, user)
        assert found == permission, user


@pytest.mark.parametrize("user", ["", "..", "../../admin", "a/b", "a?b=c", "a%2fb", "☃", "a\n"])
async def test_names_of_people_do_not_lead_elsewhere(fake, client, user):
    with contextlib.suppress(ForgeRefused):
        assert await client.permission(PROJECT, user) in (Permission.NONE, Permission.READ)
    assert all(each.method == "GET" for each in fake.requests if "token" not in each.path)


async def test_access_is_proved_line_by_line(fake, client):
    fake.model.open(PROJECT)
    found = await client.check_access(PROJECT)
    assert all(each.ok for each in found), found
    assert len(found) >= 3
    assert not fake.model.projects[PROJECT].checks
    assert not fake.model.projects[PROJECT].pulls[1].comments


async def test_a_project_that_we_may_not_see(fake, client):
    found = await client.check_access("Org/other")
    assert not found[0].ok
    assert "Org/other" in found[0].what


async def test_an_unchanged_answer_is_not_sent_again(fake, client):
    if not fake.has_etags:
        pytest.skip("this forge has no conditional requests")
    fake.model.open(PROJECT)
    first = await client.open_pull_requests(PROJECT)
    fake.statuses.clear()
    assert await client.open_pull_requests(PROJECT) == first
    assert set(fake.statuses) == {304}
    fake.model.open(PROJECT, branch="b")
    assert len(await client.open_pull_requests(PROJECT)) == 2
