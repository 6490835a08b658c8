"""What `saltern forge check` says of each permission that is missing: that line fails, and no other."""

from __future__ import annotations

import pytest
from forges.all_forges import CASES, FAKES

PROJECT = "Org/states"


LACKING = [(name, each) for name, case in CASES.items() for each in case.lacking]


@pytest.fixture
def make_fake():
    made = []

    def make(name):
        fake = FAKES[name]()
        made.append(fake.__enter__())
        fake.model.project(PROJECT, alice="write")
        return fake

    yield make
    for each in made:
        each.__exit__()


@pytest.mark.parametrize(("name", "lacking"), LACKING, ids=[f"{name} {each.line}" for name, each in LACKING])
async def test_each_missing_permission_is_named(name, lacking, make_fake, connect):
    fake = make_fake(name)
    lacking.take(fake)
    found = await connect(fake).check_access(PROJECT)
    (refused,) = [each for each in found if not each.ok]
    assert refused.what.startswith(lacking.line)
    assert lacking.remedy in refused.detail


@pytest.mark.parametrize("name", FAKES)
async def test_nothing_is_proved_by_absence_where_the_project_cannot_be_seen(name, make_fake, connect):
    fake = make_fake(name)
    fake.rights.discard("read")
    found = await connect(fake).check_access(PROJECT)
    by_scope = {f"write comments in {PROJECT}"} if fake.tells_scopes else set()
    assert {each.what for each in found if each.ok} <= by_scope
