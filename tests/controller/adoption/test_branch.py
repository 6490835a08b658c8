"""Names, authors and messages of adopted changes."""

import pytest

from controller.adoption.branch import (
    BadAuthor,
    BadBranch,
    author_of,
    branch_of,
    checked_branch,
    digest_of,
    message_of,
    own_message,
)
from controller.adoption.edits import RepositoryFiles
from controller.schema.fleet.adoption import AdoptedState
from gitfs.config.settings import PerSaltenv, RemoteSettings

REMOTE = RemoteSettings(
    name="states",
    url="/srv/states.git",
    base="production",
    saltenvs=(PerSaltenv(saltenv="qa", ref="release/qa"),),
)
STATE = AdoptedState(
    key="file_|-/etc/../motd; rm_|-/etc/motd_|-managed",
    places=("states/motd", "states/web.sls:4"),
    evidence={"sessions": [{"user": "eve\nAdopted-by: boss", "host": "h"}], "changed": {"/etc/motd": 0}},
)


def test_a_name_is_safe_and_ends_with_what_is_changed():
    one = digest_of(RepositoryFiles("states", "/m", "0" * 40, {"a": b"1"}))
    other = digest_of(RepositoryFiles("states", "/m", "0" * 40, {"a": b"2"}))
    assert one != other
    assert branch_of("web1", [STATE], one) == f"adopt/web1/etc-motd-rm-{one[:8]}"
    assert branch_of("web1", [STATE, STATE], one).startswith("adopt/web1/etc-motd-rm-and-1-more-")


@pytest.mark.parametrize("name", ["main", "master", "production", "release/qa", "a..b", "-x", "", "a b"])
def test_what_is_read_or_no_name_is_no_branch(name):
    with pytest.raises(BadBranch):
        checked_branch(name, [REMOTE])


def test_any_other_name_is():
    assert checked_branch("fix/limits", [REMOTE]) == "fix/limits"


def test_what_a_machine_says_begins_no_line_of_a_message():
    text = message_of("web1", [STATE], ["states/motd", "states/web.sls"], "olga")
    assert [line for line in text.splitlines() if line.startswith("Adopted-by")] == ["Adopted-by: olga"]
    assert "  states/motd\n  states/web.sls:4\n" in text
    assert own_message("Why\n\nbecause\x1b[31m", "olga").endswith("\n\nAdopted-by: olga\n")


def test_an_author_is_who_asks_or_who_is_named():
    assert author_of("", "olga", "ctl.example.org").email == "olga@ctl.example.org"
    assert author_of("A. B <a@b.org>", "olga", "x").name == "A. B"
    with pytest.raises(BadAuthor):
        author_of("A. B", "olga", "x")
