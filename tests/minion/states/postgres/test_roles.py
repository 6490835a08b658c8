"""postgres_user and postgres_group against a real server."""

import pytest

SECRET = "a secret ☂ \\ ' \" $$"


def test_a_user_is_made_and_removed(pg, server):
    made = pg("user.present", "one", createdb=True, superuser=False, groups=["pg_monitor"], password=SECRET)
    assert (made.comment, made.changes) == ("The user one has been created", {"one": "Present"})
    assert SECRET not in repr(made)
    assert server.run("SELECT rolcreatedb, rolcanlogin, rolinherit FROM pg_roles WHERE rolname = 'one'") == [
        (True, True, True)
    ]
    assert pg("user.present", "one", createdb=True).comment == "User one is already present"
    gone = pg("user.absent", "one")
    assert (gone.comment, gone.changes) == ("User one has been removed", {"one": "Absent"})
    assert pg("user.absent", "one").comment == "User one is not present, so it cannot be removed"


def test_a_user_is_updated(pg, server):
    pg("user.present", "two", valid_until="2031-01-02 03:04:05")
    assert pg("user.present", "two", valid_until="2031-01-02 03:04:05").changes == {}
    result = pg(
        "user.present", "two", createdb=True, createroles=True, superuser=True, replication=True, inherit=False,
        login=False, valid_until="infinity", groups="pg_monitor, pg_read_all_data", password="x",
    )  # fmt: skip
    assert result.comment == "The user two has been updated"
    assert result.changes == {
        "two": {
            "createdb": True, "createroles": True, "superuser": True, "replication": True, "inherit": False,
            "login": False, "password": True, "valid_until": "infinity", "groups": ["pg_monitor", "pg_read_all_data"],
        }
    }  # fmt: skip
    assert pg("user.present", "two", groups=["pg_monitor"]).changes == {}, "groups are not taken away"
    refused = pg("user.present", "two", groups=["no such"])
    assert refused.result is False
    assert refused.comment == 'Failed to update user two: ERROR: role "no such" does not exist'
    assert pg("user.present", "two", valid_until="some day").result is False


@pytest.mark.parametrize("method", ["md5", "scram-sha-256", True, None])
def test_passwords_are_compared_with_what_the_server_keeps(pg, server, method):
    name = f"secretive {method}"
    pg("user.present", name, password=SECRET, encrypted=method)
    [(kept,)] = server.run(f"SELECT rolpassword FROM pg_authid WHERE rolname = '{name}'")
    assert kept.startswith("SCRAM-SHA-256$4096:" if method == "scram-sha-256" else "md5")
    assert pg("user.present", name, password=SECRET, encrypted=method).changes == {}
    assert pg("user.present", name, password=kept, encrypted=method).changes == {}, "a verifier stands for itself"
    changed = pg("user.present", name, password="other", encrypted=method)
    assert changed.changes == {name: {"password": True}}
    other = "md5" if method == "scram-sha-256" else "scram-sha-256"
    assert pg("user.present", name, password="other", encrypted=other).changes == {name: {"password": True}}


def test_the_server_itself_accepts_such_passwords(pg, server):
    """Its own verifier, made of a password by its SASLprep, is the one that is found to fit."""
    for number, password in enumerate(
        ["plain", "p\u00e4ss\u00adw\u00a0rd", "\u2168", "\u0627\u0031", "\u0007bell", "\ufb01"]
    ):
        server.run("SET password_encryption = 'scram-sha-256'")
        statement = f"SET password_encryption = 'scram-sha-256'; CREATE ROLE own{number} LOGIN PASSWORD '{password}'"
        server.run(statement)
        assert pg("user.present", f"own{number}", password=password, encrypted="scram-sha-256").changes == {}, password


def test_a_password_may_be_set_without_a_look(pg):
    pg("user.present", "three", default_password="first")
    assert pg("user.present", "three", default_password="second").changes == {}
    once = pg.once("user.present", "three", password="x", refresh_password=True)
    again = pg.once("user.present", "three", password="x", refresh_password=True)
    assert once.changes == again.changes == {"three": {"password": True}}
    assert again.result is True


def test_plain_passwords_are_refused(pg):
    result = pg("user.present", "four", password="x", encrypted=False)
    assert result.result is False
    assert "keep no plain passwords" in result.comment


def test_a_group_is_made_changed_and_removed(pg, server):
    made = pg("group.present", "many", groups="pg_monitor")
    assert (made.comment, made.changes) == ("The group many has been created", {"many": "Present"})
    assert server.run("SELECT rolcanlogin FROM pg_roles WHERE rolname = 'many'") == [(False,)]
    changed = pg("group.present", "many", createdb=True, password="x", encrypted="scram-sha-256")
    assert changed.comment == "The group many has been updated"
    assert changed.changes == {"many": {"createdb": True, "password": True}}
    assert pg("group.present", "many", createdb=True).comment == "Group many is already present"
    assert pg("group.absent", "many").comment == "Group many has been removed"
    assert pg("group.absent", "many").comment == "Group many is not present, so it cannot be removed"


def test_who_owns_something_is_not_removed(pg):
    pg("user.present", "owning")
    pg("database.present", "owned", owner="owning")
    refused = pg.once("user.absent", "owning")
    assert refused.result is False
    assert refused.comment.startswith('User owning failed to be removed: ERROR: role "owning" cannot be dropped')
