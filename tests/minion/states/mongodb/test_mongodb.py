"""States and functions of MongoDB, by the official library, on a server that speaks its protocol."""

import pytest
from mongodb_server import MongodbServer, is_there

from minion.execution import Context, Modules
from minion.execution.errors import CallFailed

FD = {"database": "fd", "authdb": "admin"}
"""Documents of one database, asked by a user of another."""


@pytest.fixture(scope="module")
def server():
    if not is_there():
        pytest.skip("there is no pymongo, or no nx-27017")
    one = MongodbServer()
    yield one
    one.close()


@pytest.fixture
def at(server):
    return {"user": "root", "password": "root", "host": "127.0.0.1", "port": server.port}


@pytest.fixture
def call(server):
    opts = {"user": "root", "password": "root", "host": "127.0.0.1", "port": server.port}
    modules = Modules(Context(minion_id="web1", opts={f"mongodb.{name}": value for name, value in opts.items()}))
    return lambda fun, *args, **kwargs: modules.call(f"mongodb.{fun}", args, kwargs)


def logged_in(call, **login):
    return call("version", **login)


def test_users(converge, call, at):
    given = {"passwd": "a secret", "database": "app", **at}
    made = converge("mongodb_user.present", "u", roles=["readWrite"], **given)
    assert (made.changes, made.comment) == ({"u": "Present"}, "User u has been created")
    assert logged_in(call, user="u", password="a secret", authdb="app")
    same = converge("mongodb_user.present", "u", roles=["readWrite"], **given)
    assert same.comment == "User u is already present"
    assert converge("mongodb_user.present", "u", **given).comment == "User u is already present"
    call("user_grant_roles", "u", [{"role": "read", "db": "other"}], "app")
    other = converge("mongodb_user.present", "u", roles=["dbOwner", "read"], **{**given, "passwd": "new"})
    assert other.changes == {
        "u": {"database": "app", "roles": {"old": ["readWrite"], "new": ["dbOwner", "read"]}, "passwd": "Set"}
    }
    assert other.comment == "User u has been updated"
    assert logged_in(call, user="u", password="new", authdb="app")
    assert {(one["role"], one["db"]) for one in call("user_find", "u", database="app")[0]["roles"]} == {
        ("dbOwner", "app"), ("read", "app"), ("read", "other"),
    }  # fmt: skip
    far = converge(
        "mongodb_user.present", "u", roles=[{"role": "dbAdmin", "db": "other"}], **{**given, "passwd": "new"}
    )
    assert far.changes["u"]["roles"] == {
        "old": ["dbOwner", "read", {"role": "read", "db": "other"}],
        "new": [{"role": "dbAdmin", "db": "other"}],
    }
    gone = converge("mongodb_user.absent", "u", database="app", **at)
    assert (gone.changes, gone.comment) == ({"u": "Absent"}, "User u has been removed")
    assert converge("mongodb_user.absent", "u", database="app", **at).comment == "User u is not present"
    odd = converge("mongodb_user.present", "u", roles=[7], **given)
    assert odd.comment.startswith("Roles provided in wrong format")


def test_databases(converge, call, at):
    call("insert", [{"a": 1}], "c", database="old", authdb="admin")
    gone = converge("mongodb_database.absent", "old", **at)
    assert (gone.changes, gone.comment) == ({"old": "Absent"}, "Database old has been removed")
    assert converge("mongodb_database.absent", "old", **at).comment == "Database old is not present"


def test_servers_that_refuse_or_do_not_answer(converge, at):
    wrong = converge("mongodb_user.absent", "u", **{**at, "password": "wrong"})
    assert (wrong.result, wrong.comment) == (False, "MongoDB: Authentication failed.")
    nobody = converge("mongodb_user.absent", "u", host=at["host"], port=at["port"])
    assert nobody.comment == "MongoDB: command usersInfo requires authentication"
    odd = converge("mongodb_user.absent", "u", host="mongodb://u:secret@", port=1)
    assert (odd.result, "secret" in odd.comment) == (False, False)
    silent = converge("mongodb_user.absent", "u", host="127.0.0.1", port=1)
    assert silent.comment == "MongoDB does not answer: 127.0.0.1:1: [Errno 111] Connection refused"


def test_functions(call):
    assert call("version")
    assert call("user_create", "f", "p", database="fd", roles=["read"]) is True
    with pytest.raises(CallFailed, match="already exists"):
        call("user_create", "f", "p", database="fd")
    assert (call("user_exists", "f", database="fd"), call("user_exists", "f")) == (True, False)
    assert call("user_list", database="fd") == [{"user": "f", "roles": [{"role": "read", "db": "fd"}]}]
    assert call("user_grant_roles", "f", '["dbAdmin"]', "fd") is True
    assert call("user_roles_exists", "f", '["dbAdmin", {"role": "read", "db": "fd"}]', "fd") is True
    assert call("user_revoke_roles", "f", ["dbAdmin"], "fd") is True
    assert call("user_roles_exists", "f", ["dbAdmin"], "fd") is False
    assert call("user_remove", "f", database="fd") is True
    assert call("collection_create", "c", **FD) is True
    assert call("collections_list", **FD) == ["c"]
    assert call("insert", '[{"a": 1}, {"a": 2}, {"a": 3}]', "c", **FD) is True
    [document] = call("find", "c", {"a": 2}, **FD)
    assert call("find", "c", {"_id": document["_id"]}, **FD) == [document]
    assert len(call("find", "c", [{"a": 1}, {"a": 3}], **FD)) == 2
    assert call("update_one", '{"a": 1} {"b": "x"}', "c", **FD) == "1 objects updated"
    assert call("find", "c", '{"b": "x"}', **FD)[0]["a"] == 1
    for objects, why in (('{"a": 9} {"b": 1}', "Did not find any"), ("{} {}", "Too many results"), ("{}", "valid")):
        with pytest.raises(CallFailed, match=why):
            call("update_one", objects, "c", **FD)
    assert call("remove", "c", [{"a": 1}, {"a": 9}], **FD, w=2) == "1 objects removed"
    assert call("collection_drop", "c", **FD) is True
    call("insert", [{"a": 1}], "c", **FD)
    assert (call("db_exists", "fd"), "fd" in call("db_list")) == (True, True)
    assert (call("db_remove", "fd"), call("db_exists", "fd")) == (True, False)
    with pytest.raises(CallFailed, match="Could not parse objects"):
        call("insert", "nonsense", "c", authdb="admin")
