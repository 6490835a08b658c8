"""What `saltern forge check` says of each permission that is missing: that line fails, and no other."""

from __future__ import annotations

import pytest
from forges.all_forges import FAKES, NEEDS_ADMIN

PROJECT = "Org/states"


def without(right):
    return lambda fake: fake.rights.discard(right)


def as_a(role):
    def take(fake):
        fake.model.projects[PROJECT].permissions[fake.model.robot] = role

    return take


def without_permission(name):
    return lambda fake: fake.app_permissions.pop(name)


def with_scopes(*scopes):
    return lambda fake: setattr(fake, "scopes", list(scopes))


WHO, COMMENTS, STATUSES = "see who may write to", "write comments in", "set commit statuses in"
BUILDS = "set build statuses in"
LACKING = [
    ("github", as_a("read"), WHO, "a collaborator with the role Write"),
    ("github", without("comments"), COMMENTS, "Pull requests: write"),
    ("github", without("statuses"), STATUSES, "Commit statuses: write"),
    ("github-app", without_permission("metadata"), "read the collaborators", "metadata: none. Set it to read"),
    ("github-app", without_permission("contents"), "read commits", "contents: none. Set it to read"),
    ("github-app", without_permission("pull_requests"), "write pull requests", "pull_requests: none. Set it to write"),
    ("github-app", without_permission("checks"), "write checks", "checks: none. Set it to write"),
    ("gitea", as_a("write"), WHO, "an administrator of the repository"),
    ("gitea", without("comments"), COMMENTS, "write:issue"),
    ("gitea", without("statuses"), STATUSES, "write:repository"),
    ("gitlab", with_scopes("read_api"), COMMENTS, "has the scopes read_api, and needs api"),
    ("gitlab", as_a("read"), STATUSES, "the role of the token is 20, and Developer (30) is needed"),
    ("bitbucket", as_a("write"), WHO, "read:permission:bitbucket"),
    ("bitbucket", without("comments"), COMMENTS, "write:pullrequest:bitbucket"),
    ("bitbucket", without("statuses"), BUILDS, "write:repository:bitbucket"),
    ("bitbucket-datacenter", without("comments"), COMMENTS, "Repository write"),
    ("bitbucket-datacenter", without("statuses"), BUILDS, "Repository write"),
    ("azure-devops", without("comments"), COMMENTS, "Code: read & write"),
    ("azure-devops", without("statuses"), STATUSES, "Code: status"),
]


@pytest.fixture
def make_fake():
    made = []

    def make(name):
        fake = FAKES[name]()
        made.append(fake.__enter__())
        robot = {fake.model.robot: "admin"} if fake.kind in NEEDS_ADMIN else {}
        fake.model.project(PROJECT, alice="write", **robot)
        return fake

    yield make
    for each in made:
        each.__exit__()


@pytest.mark.parametrize(("name", "take", "line", "remedy"), LACKING)
async def test_each_missing_permission_is_named(name, take, line, remedy, make_fake, connect):
    fake = make_fake(name)
    take(fake)
    found = await connect(fake).check_access(PROJECT)
    (lacking,) = [each for each in found if not each.ok]
    assert lacking.what.startswith(line)
    assert remedy in lacking.detail


@pytest.mark.parametrize("name", FAKES)
async def test_nothing_is_proved_by_absence_where_the_project_cannot_be_seen(name, make_fake, connect):
    fake = make_fake(name)
    fake.rights.discard("read")
    found = await connect(fake).check_access(PROJECT)
    assert {each.what for each in found if each.ok} <= {f"write comments in {PROJECT}"} & _by_scope(fake)


def _by_scope(fake):
    """GitLab tells the scopes of a token whatever it may see."""
    return {f"write comments in {PROJECT}"} if fake.kind == "gitlab" else set()
