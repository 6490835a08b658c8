"""The user and group states on the real databases of this machine."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.providers import accounts
from minion.providers.password import hash_of, matches

USER, GROUP = "slttestuser", "slttestgroup"
HASH = "$6$saltsalt$notahashofanything"
as_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("useradd") is None, reason="makes users: needs root, and the shadow tools"
)


def _machine() -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles({}))


def _run(state: str, name: str, *, test: bool = False, **arguments: Any) -> StateResult:
    kind, fun = state.split(".")
    chunk = Chunk(state=kind, fun=fun, id=name, name=name, sls="people", arguments=arguments)
    engine = StateEngine(_machine(), test=test)
    prepared = engine.plan(chunk, arguments, watched=False)
    assert prepared is not None
    result = engine.act(prepared)
    assert HASH not in repr(result)
    assert HASH not in repr(prepared.predicted)
    return result


@pytest.fixture
def nobody_yet() -> Iterator[None]:
    def clean() -> None:
        _run("user.absent", USER, purge=True, force=True)
        _run("group.absent", USER)
        _run("group.absent", GROUP)

    clean()
    yield
    clean()


@pytest.mark.e2e
@as_root
def test_a_group_is_made_changed_and_removed(nobody_yet: None) -> None:
    assert _run("group.present", GROUP, gid=49871, test=True).comment == f"Group {GROUP} set to be added"
    made = _run("group.present", GROUP, gid=49871)
    assert made.comment == f"New group {GROUP} created"
    assert made.changes == {"name": GROUP, "passwd": "x", "gid": 49871, "members": []}
    assert _run("group.present", GROUP, gid=49871).comment == f"Group {GROUP} is present and up to date"
    predicted = _run("group.present", GROUP, gid=49872, members=["root"], test=True)
    done = _run("group.present", GROUP, gid=49872, members=["root"])
    assert predicted.changes == done.changes
    assert done.comment == "The following group attributes are set to be changed:\ngid: 49872\nmembers: ['root']\n"
    moved = _run("group.present", GROUP, addusers=["daemon"], delusers=["root", "bin"])
    assert moved.changes == {"members": {"old": ["root"], "new": ["daemon"]}}
    unknown = _run("group.present", GROUP, members=["no-such-user"])
    assert (unknown.result, dict(unknown.changes)) == (False, {})
    assert "who do not exist: no-such-user" in unknown.comment
    assert _run("group.absent", GROUP).changes == {GROUP: ""}
    assert _run("group.absent", GROUP).comment == "Group not present"


@pytest.mark.e2e
@as_root
def test_a_taken_gid_is_refused(nobody_yet: None) -> None:
    taken = _run("group.present", GROUP, gid=0)
    assert taken.result is False
    assert taken.comment == f"Group {GROUP} is not present but gid 0 is already taken by group root"


@pytest.mark.e2e
@as_root
def test_a_user_is_made_changed_and_removed(nobody_yet: None, tmp_path: Path) -> None:
    _run("group.present", GROUP)
    wanted = {"groups": [GROUP], "password": HASH, "fullname": "A Test", "shell": "/bin/false", "uid": 49873}
    predicted = _run("user.present", USER, test=True, home=str(tmp_path / "home"), **wanted)
    assert (predicted.result, predicted.comment) == (None, f"User {USER} set to be added")
    made = _run("user.present", USER, home=str(tmp_path / "home"), **wanted)
    assert (made.result, made.comment) == (True, f"New user {USER} created")
    assert set(predicted.changes.items()) <= {(k, v) for k, v in made.changes.items() if not isinstance(v, list)}
    assert made.changes["groups"] == [GROUP, USER]
    assert made.changes["password"] == "XXX-REDACTED-XXX"
    assert _shadow().password == HASH
    assert _run("user.present", USER, **wanted).comment == f"User {USER} is present and up to date"

    change = {"groups": [], "fullname": "Other", "roomnumber": 5, "shell": "/bin/sh", "home": str(tmp_path / "new")}
    predicted, done = _run("user.present", USER, test=True, **change), _run("user.present", USER, **change)
    assert (done.result, done.comment, done.changes) == (True, f"Updated user {USER}", predicted.changes)
    assert (tmp_path / "new").stat().st_uid == 49873
    assert _run("user.present", USER, **change).changes == {}
    kept = _run("user.present", USER, groups=["daemon"], remove_groups=False)
    assert kept.changes == {"groups": ["daemon", USER]}
    optional = _run("user.present", USER, optional_groups=[GROUP, "no-such-group"])
    assert optional.changes == {"groups": [GROUP, USER]}

    gone = _run("user.absent", USER, purge=True)
    assert gone.changes == {USER: "removed", f"{USER} group": "removed"}
    assert _run("user.absent", USER).comment == f"User {USER} is not present"


@pytest.mark.e2e
@as_root
def test_ids_change_only_when_that_is_allowed(nobody_yet: None, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    _run("user.present", USER, uid=49873, home=home)
    _run("group.present", GROUP, gid=49874)
    refused = _run("user.present", USER, uid=49875, gid=GROUP)
    assert refused.result is False
    assert "Changing uid (49873 -> 49875) not permitted, set allow_uid_change to True" in refused.comment
    assert f"-> {GROUP}) not permitted, set allow_gid_change" in refused.comment
    unknown = _run("user.present", USER, gid="no-such-group", allow_gid_change=True)
    assert "There is no group no-such-group" in unknown.comment
    done = _run("user.present", USER, uid=49875, gid=GROUP, allow_uid_change=True, allow_gid_change=True)
    assert done.changes == {"uid": 49875, "gid": 49874}


@pytest.mark.e2e
@as_root
def test_passwords_change_only_when_enforced(nobody_yet: None, tmp_path: Path) -> None:
    _run("user.present", USER, home=str(tmp_path / "home"), password="$6$first$hash")
    assert _run("user.present", USER, password=HASH, enforce_password=False).changes == {}
    changed = _run("user.present", USER, password=HASH)
    assert changed.changes == {"passwd": "XXX-REDACTED-XXX"}
    assert _shadow().password == HASH


def _shadow() -> accounts.Shadow:
    found = accounts.shadow(_machine(), USER)
    assert found is not None
    return found


@pytest.mark.e2e
@as_root
def test_passwords_age(nobody_yet: None, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    days = {"date": 19000, "mindays": 1, "maxdays": 90, "inactdays": 5, "warndays": 9, "expire": 30000}
    predicted = _run("user.present", USER, home=home, password=HASH, test=True, **days)
    made = _run("user.present", USER, home=home, password=HASH, **days)
    assert made.result is True
    assert days.items() <= made.changes.items()
    assert set(predicted.changes) <= set(made.changes)
    assert _shadow().days == {"lstchg": 19000, "min": 1, "max": 90, "inact": 5, "warn": 9, "expire": 30000}
    assert _run("user.present", USER, **days).comment == f"User {USER} is present and up to date"
    predicted = _run("user.present", USER, mindays=0, inactdays=-1, test=True)
    assert predicted.comment == "The following user attributes are set to be changed:\nmindays: 0\ninactdays: -1\n"
    assert _run("user.present", USER, mindays=0, inactdays=-1).changes == {"min": 0, "inact": -1} == predicted.changes
    again = _run("user.present", USER, password="$6$another$hash", date=19000)
    assert (again.result, again.changes) == (True, {"passwd": "XXX-REDACTED-XXX", "lstchg": 19000})


@pytest.mark.e2e
@as_root
def test_a_password_is_hashed_emptied_and_locked(nobody_yet: None, tmp_path: Path) -> None:
    plain = {"password": "correct horse: battery", "hash_password": True}
    made = _run("user.present", USER, home=str(tmp_path / "home"), **plain)
    assert made.result is True
    hashed = _shadow().password
    assert matches("correct horse: battery", hashed)
    assert not matches("another", hashed)
    assert "horse" not in repr(made)
    assert _run("user.present", USER, **plain).changes == {}
    assert _run("user.present", USER, password_lock=True).changes == {"passwd": "XXX-REDACTED-XXX"}
    assert _shadow().password == f"!{hashed}"
    assert _run("user.present", USER, password_lock=True, **plain).changes == {}
    assert _run("user.present", USER, password_lock=False).result is True
    assert _shadow().password == hashed
    changed = _run("user.present", USER, password=HASH, password_lock=True)
    assert (changed.result, changed.changes) == (True, {"passwd": "XXX-REDACTED-XXX"})
    assert _shadow().password == f"!{HASH}"
    emptied = _run("user.present", USER, empty_password=True)
    assert (emptied.result, _shadow().password) == (True, "")
    assert _run("user.present", USER, empty_password=True).changes == {}


@pytest.mark.e2e
@as_root
def test_a_home_moves_with_what_is_in_it(nobody_yet: None, tmp_path: Path) -> None:
    _run("user.present", USER, home=str(tmp_path / "old"))
    (tmp_path / "old/kept").write_text("x")
    moved = _run("user.present", USER, home=str(tmp_path / "new"), persist_home=True)
    assert moved.changes == {"home": str(tmp_path / "new")}
    assert (tmp_path / "new/kept").read_text() == "x"
    assert not (tmp_path / "old").exists()


@pytest.mark.e2e
@as_root
def test_a_missing_group_is_an_error_in_a_run_and_under_test(nobody_yet: None) -> None:
    """Nothing before it would make the group, so that the prediction is what the run will say."""
    for test in (True, False):
        done = _run("user.present", USER, groups=["no-such-group"], test=test)
        assert (done.result, done.comment) == (False, "The following group(s) are not present: no-such-group")
    assert accounts.user(_machine(), USER) is None


@pytest.mark.e2e
@as_root
def test_a_user_whose_own_group_is_there_already(nobody_yet: None) -> None:
    _run("group.present", USER)
    made = _run("user.present", USER, groups=[USER])
    assert (made.result, made.changes["groups"]) == (True, [USER])
    group = accounts.group(_machine(), USER)
    assert group is not None
    assert group.members == ()
    assert _run("user.present", USER, groups=[USER]).changes == {}


@pytest.mark.e2e
@as_root
def test_a_gid_is_stronger_than_a_group_of_ones_own(nobody_yet: None) -> None:
    _run("group.present", GROUP, gid=49871)
    made = _run("user.present", USER, gid=49871, usergroup=True)
    assert (made.result, made.changes["gid"]) == (True, 49871)


@pytest.mark.e2e
@as_root
def test_the_primary_group_of_now_may_become_another_one(nobody_yet: None) -> None:
    _run("group.present", USER, gid=49872)
    _run("group.present", GROUP, gid=49871)
    _run("user.present", USER, gid=49871)
    moved = _run("user.present", USER, gid=49872, groups=[GROUP], allow_gid_change=True)
    assert moved.result is True, moved.comment
    assert _run("user.present", USER, gid=49872, groups=[GROUP]).changes == {}


@pytest.mark.parametrize("name", ["-r", "a:b", "a b", "", "../x", "a\nb", "12", "x" * 33, "é"])
@pytest.mark.parametrize("state", ["user.present", "user.absent", "group.present", "group.absent"])
def test_names_that_cannot_be_are_refused(state: str, name: str) -> None:
    result = _run(state, name, test=True)
    assert result.result is False
    assert f"Invalid {state.split('.')[0]} name" in result.comment


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"uid": "many"}, "uid must be a number"),
        ({"gid": "a:b"}, "Invalid group name"),
        ({"home": "relative"}, "Invalid home"),
        ({"shell": "/bin/sh:x"}, "Invalid shell"),
        ({"fullname": "A, B"}, "Unsupported char ','"),
        ({"groups": {"a": 1}}, "groups must be text, or a list of texts, not a mapping"),
        ({"groups": ["-x"]}, "Invalid group name"),
        ({"password": f"{HASH}\nroot:x"}, "Invalid password"),
        ({"mindays": "soon"}, "mindays must be a number"),
        ({"expire": True}, "expire must be a number"),
        ({"local": True}, "local is not supported"),
    ],
)
def test_bad_arguments_of_a_user(arguments: dict[str, Any], message: str) -> None:
    result = _run("user.present", USER, test=True, **arguments)
    assert result.result is False
    assert message in result.comment


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"gid": "x"}, "gid must be a number"),
        ({"members": ["a"], "addusers": ["b"]}, 'Conflicting options "members"'),
        ({"addusers": ["b"], "delusers": ["b"]}, "can not be added and deleted"),
        ({"members": {"a": 1}}, "members must be text, or a list of texts, not a mapping"),
        ({"members": ["a,b"]}, "Invalid user name"),
    ],
)
def test_bad_arguments_of_a_group(arguments: dict[str, Any], message: str) -> None:
    result = _run("group.present", GROUP, test=True, **arguments)
    assert result.result is False
    assert message in result.comment


def test_what_execution_functions_show() -> None:
    root = accounts.user(_machine(), "root")
    assert root is not None
    assert (root.as_salt()["uid"], root.as_salt()["passwd"]) == (0, "x")
    group = accounts.group(_machine(), "root")
    assert group is not None
    assert group.as_salt()["gid"] == 0
    assert accounts.user(_machine(), "no-such-user") is None
    assert accounts.user(_machine(), "0") is None


def test_hashes_are_those_of_the_system() -> None:
    made = hash_of("a password")
    assert made.startswith("$6$")
    assert matches("a password", made)
    assert not matches("a passwore", made)
    assert not matches("a password", "!")
    assert hash_of("a password") != made
