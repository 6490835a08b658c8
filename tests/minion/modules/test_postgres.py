"""The execution module `postgres` against a real server."""

import os
import pwd

import pytest
from postgres_server import PROGRAMS, USER, PostgresServer

from minion.execution import Context, Modules
from minion.execution.errors import BadArguments, CallFailed


@pytest.fixture(scope="module")
def server():
    if PROGRAMS is None:
        pytest.skip("there is no PostgreSQL in /usr/lib/postgresql")
    pytest.importorskip("psycopg")
    server = PostgresServer()
    yield server
    server.close()


@pytest.fixture(scope="module")
def call(server):
    """call("db_list", ...): the server is that of the configuration."""
    opts = {"postgres.host": str(server.folder), "postgres.user": USER}
    modules = Modules(Context(minion_id="web1", opts=opts))
    owner = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name

    def call(fun, *args, **kwargs):
        who = "user" if fun.startswith("schema_") else "runas"
        return modules.call(f"postgres.{fun}", args, {who: owner, **kwargs})

    return call


def test_databases(call):
    assert call("version").split(".")[0] == PROGRAMS.parent.name
    assert call("db_create", "one", encoding="UTF8", template="template0", lc_collate="C") is True
    assert call("db_exists", "one") is True
    assert call("db_list")["one"] == {
        "Owner": USER, "Encoding": "UTF8", "Collate": "C", "Ctype": "C.UTF-8", "Access privileges": "",
        "Tablespace": "pg_default",
    }  # fmt: skip
    assert call("user_create", "owner") is True
    assert call("db_alter", "one", owner="owner", owner_recurse=True, tablespace="pg_default") is True
    assert call("owner_to", "one", USER)["retcode"] == 0
    assert call("db_list")["one"]["Owner"] == USER
    with pytest.raises(CallFailed, match="already exists"):
        call("db_create", "one")
    assert call("db_remove", "one") is True
    assert call("db_exists", "one") is False


def test_roles(call):
    assert call("user_create", "u", createdb=True, rolepassword="sesame", groups="pg_monitor", connlimit=3) is True
    assert call("user_create", "u") is False
    found = call("role_get", "u", return_password=True)
    assert found.pop("password").startswith("md5")
    assert found == {
        "superuser": False, "inherits privileges": True, "can create roles": False, "can create databases": True,
        "can update system catalogs": None, "can login": True, "replication": False, "connections": 3,
        "expiry time": None, "defaults variables": "", "groups": ["pg_monitor"],
    }  # fmt: skip
    assert call("user_update", "u", createdb=False, rolepassword=False, valid_until="2031-01-02") is True
    found = call("user_list", return_password=True)["u"]
    assert (found["can create databases"], found["password"], found["expiry time"]) == (
        False,
        "",
        "2031-01-02 00:00:00",
    )
    assert call("user_update", "nobody there", createdb=True) is False
    assert call("group_create", "g", groups=["u"]) is True
    assert call("role_get", "g")["can login"] is False
    assert call("group_update", "g", createroles=True, login=True) is True
    assert call("role_get", "g")["can login"] is True
    assert call("group_remove", "g") is True
    assert call("user_exists", "u") is True
    assert call("user_remove", "u") is True
    assert call("user_remove", "u") is False
    assert call("role_get", "u") is None


def test_schemas_and_languages(call):
    assert call("schema_create", "postgres", "s", owner=USER) is True
    assert call("schema_create", "postgres", "s") is False
    assert call("schema_get", "postgres", "s") == {"owner": USER, "acl": ""}
    assert call("schema_exists", "postgres", "s") is True
    assert "pg_catalog" in call("schema_list", "postgres")
    assert call("schema_remove", "postgres", "s") is True
    assert call("schema_remove", "postgres", "s") is False
    assert call("language_list", "postgres")["plpgsql"] == "plpgsql"
    assert call("language_remove", "plpgsql", "postgres") is True
    assert call("language_remove", "plpgsql", "postgres") is False
    assert call("language_create", "plpgsql", "postgres") is True
    assert call("language_create", "plpgsql", "postgres") is False
    assert call("language_exists", "plpgsql", "postgres") is True


def test_extensions(call):
    assert call("available_extensions")["plpgsql"]["default_version"] == "1.0"
    assert call("installed_extensions")["plpgsql"]["schema_name"] == "pg_catalog"
    assert call("get_available_extension", "plpgsql")["name"] == "plpgsql"
    assert call("get_installed_extension", "none") is None
    assert call("is_available_extension", "PLpgsql") is True
    assert call("create_metadata", "plpgsql", ext_version="9") == ["EXTENSION INSTALLED", "EXTENSION TO UPGRADE"]
    assert call("drop_extension", "plpgsql") is True
    assert call("is_installed_extension", "plpgsql") is False
    assert call("create_metadata", "plpgsql") == ["EXTENSION NOT INSTALLED"]
    assert call("create_extension", "plpgsql") is True
    assert call("create_extension", "no such") is False
    with pytest.raises(BadArguments, match="from_version is not supported"):
        call("create_extension", "plpgsql", from_version="unpackaged")


def test_tablespaces(call, server):
    place, owner = server.folder / "space", server.folder.stat()
    place.mkdir()
    os.chown(place, owner.st_uid, owner.st_gid)
    assert call("tablespace_create", "ts", str(place), {"seq_page_cost": "1.5"}) is True
    assert call("tablespace_list")["ts"] == {
        "Owner": USER, "ACL": "", "Opts": "{seq_page_cost=1.5}", "Location": str(place)
    }  # fmt: skip
    assert call("tablespace_alter", "ts", new_name="t s", set_option={"random_page_cost": 2}) is True
    assert call("tablespace_alter", "t s", reset_option="seq_page_cost") is True
    assert call("tablespace_list")["t s"]["Opts"] == "{random_page_cost=2}"
    assert call("tablespace_exists", "t s") is True
    assert call("tablespace_remove", "t s") is True


def test_privileges(call, server):
    server.run("CREATE ROLE r; CREATE ROLE team; CREATE TABLE t (i int)")
    assert call("privileges_list", "t", "table") == {}
    assert call("has_privileges", "r", "t", "table", "SELECT,INSERT") is False
    assert call("has_privileges", USER, "t", "table", "ALL") is True
    assert call("privileges_grant", "r", "t", "table", "SELECT,INSERT", grant_option=True) is True
    assert call("privileges_grant", "r", "t", "table", "SELECT,INSERT") is False
    assert call("privileges_list", "t", "table")["r"] == {"SELECT": True, "INSERT": True}
    assert call("has_privileges", "r", "t", "table", "SELECT", grant_option=True) is True
    assert call("privileges_revoke", "r", "t", "table", "INSERT") is True
    assert call("privileges_revoke", "r", "t", "table", "INSERT") is False
    assert call("privileges_grant", "r", "team", "group") is True
    assert call("privileges_list", "team", "group") == {"r": False}
    with pytest.raises(CallFailed, match="There is no table no"):
        call("privileges_grant", "r", "no", "table", "SELECT")


def test_queries(call, server):
    assert call("psql_query", "SELECT 1 AS a, 'x,\"y' || chr(10) || 'z' AS b;") == [{"a": "1", "b": 'x,"y\nz'}]
    assert call("psql_query", "SELECT 1 AS a WHERE false") == []
    server.run("CREATE TABLE q (i int)")
    write = "WITH w AS (INSERT INTO q VALUES (1) RETURNING i) SELECT i FROM w"
    assert call("psql_query", write, write=True) == [{"i": "1"}]
    assert call("psql_query", "SELECT 1 AS a -- one") == [{"a": "1"}]
    with pytest.raises(CallFailed, match="ERROR"):
        call("psql_query", "SELECT 1\n\\! touch /tmp/pg-mark\n")
    assert server.run("SELECT count(*) FROM q") == [(1,)]


def test_data_directories(server, tmp_path):
    modules = Modules(Context(minion_id="web1"))
    assert modules.call("postgres.datadir_exists", [str(server.folder / "data")]) is True
    assert modules.call("postgres.datadir_init", [str(server.folder / "data")]) is False
    with pytest.raises(CallFailed, match="needs a password"):
        modules.call("postgres.datadir_init", [str(tmp_path)])
    owner = "nobody" if os.getuid() == 0 else pwd.getpwuid(os.getuid()).pw_name
    options = {"runas": owner, "password": "sesame", "user": "me", "locale": "C"}
    assert modules.call("postgres.datadir_init", [str(server.folder / "other")], options) is True
    assert modules.call("postgres.datadir_exists", [str(server.folder / "other")]) is True
