"""postgres_privileges against a real server."""

import pytest

ALREADY = "The requested privilege(s) are already set"
NOT_SET = "The requested privilege(s) are not set so cannot be revoked"


@pytest.fixture(scope="module", autouse=True)
def _objects(server):
    server.run(
        "CREATE ROLE reader; CREATE ROLE team; CREATE ROLE owner; CREATE TABLE t (i int); CREATE TABLE o (i int);"
        "ALTER TABLE o OWNER TO owner; CREATE VIEW v AS SELECT 1; CREATE SEQUENCE s; CREATE SCHEMA other;"
        "CREATE TABLE other.a (i int); CREATE TABLE other.b (i int);"
        "CREATE FUNCTION f(integer, text) RETURNS int LANGUAGE sql AS $$SELECT 1$$;"
        "REVOKE EXECUTE ON FUNCTION f FROM public"
    )


@pytest.mark.parametrize(
    ("kind", "name", "some"),
    [
        ("table", "t", ["SELECT", "INSERT"]),
        ("table", "v", ["SELECT"]),
        ("sequence", "s", ["usage"]),
        ("schema", "other", ["USAGE"]),
        ("database", "postgres", ["CREATE"]),
        ("tablespace", "pg_default", ["CREATE"]),
        ("language", "plpgsql", ["USAGE"]),
        ("function", "f(integer, text)", ["EXECUTE"]),
        ("function", "f(integer,text)", ["EXECUTE"]),
        ("function", "f", ["EXECUTE"]),
    ],
)
def test_privileges_are_granted_and_revoked(pg, kind, name, some):
    what = {"object_name": name, "object_type": kind}
    shown = ",".join(some)
    granted = pg("privileges.present", "reader", privileges=some, **what)
    assert granted.comment == f"The privilege(s): {shown} have been granted to reader"
    assert granted.changes == {"reader": "Present"}
    assert pg("privileges.present", "reader", privileges=some, **what).comment == ALREADY
    assert pg("privileges.present", "reader", privileges=some, grant_option=True, **what).changes
    pg("privileges.present", "reader", privileges=["ALL"], **what)
    assert pg("privileges.present", "reader", privileges=["ALL"], grant_option=False, **what).comment == ALREADY
    revoked = pg("privileges.absent", "reader", privileges=some, **what)
    assert revoked.comment == f"The privilege(s): {shown} have been revoked from reader"
    assert revoked.changes == {"reader": "Absent"}
    assert pg("privileges.absent", "reader", privileges=some, **what).comment == NOT_SET
    pg("privileges.absent", "reader", privileges=["ALL"], **what)
    assert pg("privileges.absent", "reader", privileges=["ALL"], **what).comment == NOT_SET


def test_all_objects_of_a_schema(pg, server):
    every = {"object_name": "ALL", "object_type": "table", "prepend": "other"}
    assert pg("privileges.present", "reader", privileges=["SELECT"], **every).changes == {"reader": "Present"}
    server.run("CREATE TABLE other.c (i int)")
    assert pg("privileges.present", "reader", privileges=["SELECT"], **every).changes == {"reader": "Present"}
    server.run("REVOKE SELECT ON other.a FROM reader")
    assert pg("privileges.absent", "reader", privileges=["SELECT"], **every).changes == {"reader": "Absent"}
    assert (
        pg("privileges.present", "reader", privileges=["SELECT"], **every | {"object_type": "sequence"}).comment
        == ALREADY
    )


def test_members_of_a_group(pg, server):
    member = {"object_name": "team", "object_type": "group"}
    granted = pg("privileges.present", "reader", **member)
    assert granted.comment == "The privilege(s): team have been granted to reader"
    assert pg("privileges.present", "reader", **member).comment == ALREADY
    assert pg("privileges.present", "reader", grant_option=True, **member).changes
    assert pg("privileges.absent", "reader", **member).comment == "The privilege(s): team have been revoked from reader"
    assert pg("privileges.absent", "reader", **member).comment == NOT_SET
    wrong = pg("privileges.present", "reader", privileges=["SELECT"], **member)
    assert wrong.comment == "The privileges option should not be set for object_type group"


def test_the_owner_has_all_of_them(pg):
    what = {"object_name": "o", "object_type": "table", "privileges": ["ALL"]}
    assert pg("privileges.present", "owner", grant_option=True, **what).comment == ALREADY


def test_everybody_may_have_them(pg):
    what = {"object_name": "t", "object_type": "table", "privileges": ["SELECT"]}
    assert pg("privileges.present", "public", **what).changes == {"public": "Present"}
    assert pg("privileges.absent", "public", **what).changes == {"public": "Absent"}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"object_name": "t", "object_type": "chair", "privileges": ["SELECT"]}, "Invalid object_type: chair provided"),
        ({"object_name": "t", "object_type": "table"}, "Invalid privilege(s):  provided for object table"),
        (
            {"object_name": "t", "object_type": "table", "privileges": ["SELECT; DROP TABLE t"]},
            "Invalid privilege(s): ",
        ),
        ({"object_name": "no", "object_type": "table", "privileges": ["SELECT"]}, "There is no table no"),
        ({"object_name": "f(int", "object_type": "function", "privileges": ["EXECUTE"]}, "There is no function f(int"),
        ({"object_name": "no", "object_type": "group"}, "There is no role no"),
    ],
)
def test_what_cannot_be_granted_fails_under_test_too(pg, arguments, said):
    result = pg("privileges.present", "reader", **arguments)
    assert result.result is False
    assert result.comment.startswith(said)
    other = pg(
        "privileges.present",
        "nobody there",
        **{**arguments, "object_name": "t", "object_type": "table", "privileges": ["SELECT"]},
    )
    assert other.comment == "There is no role nobody there"
