"""States and functions of InfluxDB on real servers."""

import shutil

import pytest
from influxdb_server import InfluxdbServer

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.execution import Context, Modules
from minion.execution.errors import CallFailed
from minion.machine.machine import LocalMachine


def started(auth):
    if shutil.which("influxd") is None:
        pytest.skip("there is no influxd")
    return InfluxdbServer(auth=auth)


@pytest.fixture(scope="module")
def server():
    one = started(auth=True)
    yield one
    one.close()


@pytest.fixture(scope="module")
def open_server():
    """One that asks for no password."""
    one = started(auth=False)
    yield one
    one.close()


@pytest.fixture
def at(server):
    return {"influxdb_host": "127.0.0.1", "influxdb_port": server.port}


@pytest.fixture
def call(server):
    opts = {"influxdb.host": "127.0.0.1", "influxdb.port": server.port}
    modules = Modules(Context(minion_id="web1", opts=opts))
    return lambda fun, *args, **kwargs: modules.call(f"influxdb.{fun}", args, kwargs)


@pytest.fixture
def db(call):
    call("create_db", "d")
    yield "d"
    call("drop_db", "d")


def test_databases(converge, call, at):
    name = 'a "b. c'
    made = converge("influxdb_database.present", name, **at)
    assert (made.changes, made.comment) == ({name: "Present"}, f"Database {name} has been created")
    assert call("db_exists", name) is True
    assert converge("influxdb_database.present", name, **at).comment == f"Database {name} is already present"
    gone = converge("influxdb_database.absent", name, **at)
    assert (gone.changes, gone.comment) == ({name: "Absent"}, f"Database {name} has been removed")
    assert converge("influxdb_database.absent", name, **at).comment == f"Database {name} is not present"


def test_users(converge, call, at, db):
    word = "it's a \\secret"
    made = converge("influxdb_user.present", "u", passwd=word, grants={db: "READ"}, **at)
    assert made.changes == {"u": "User created", "Grant on database d to user u": "read"}
    assert made.comment == "Created user u"
    assert call("list_dbs", influxdb_user="u", influxdb_password=word) == [{"name": db}]
    same = converge("influxdb_user.present", "u", passwd=word, grants={db: "read"}, **at)
    assert same.comment == "User u is present and up to date"
    more = converge("influxdb_user.present", "u", passwd="other", admin=True, grants={db: "all"}, **at)
    assert more.changes == {"Password": "Set", "Admin privileges": True, "Grant on database d to user u": "all"}
    assert more.comment == "Updated user u"
    assert call("list_users", influxdb_user="u", influxdb_password="other")
    assert (call("user_info", "u"), call("list_privileges", "u")) == ({"user": "u", "admin": True}, {db: "all"})
    less = converge("influxdb_user.present", "u", passwd="other", **at)
    assert less.changes == {"Admin privileges": False}
    failed = converge("influxdb_user.present", "u", passwd="other", grants={"none": "all"}, **at)
    assert (failed.result, failed.comment) == (False, "database not found: none")
    odd = converge("influxdb_user.present", "u", passwd="other", grants={db: "rw"}, **at)
    assert odd.comment == "A privilege is read, write or all, not rw"
    gone = converge("influxdb_user.absent", "u", **at)
    assert (gone.changes, gone.comment) == ({"u": "removed"}, "Removed user u")
    assert converge("influxdb_user.absent", "u", **at).comment == "User u is not present"


def test_a_server_that_asks_for_no_password(converge, open_server):
    at = {"influxdb_host": "127.0.0.1", "influxdb_port": open_server.port}
    assert converge("influxdb_user.present", "u", passwd="one", **at).changes == {"u": "User created"}
    assert converge("influxdb_user.present", "u", passwd="two", **at).comment == "User u is present and up to date"


def test_retention_policies(converge, call, at, db):
    of = {"database": db, **at}
    made = converge("influxdb_retention_policy.present", "rp", **of)
    assert (made.changes, made.comment) == ({"rp": "Present"}, "retention policy rp has been created")
    assert call("get_retention_policy", db, "rp")["duration"] == "168h0m0s"
    same = converge("influxdb_retention_policy.present", "rp", duration="1w", **of)
    assert same.comment == "retention policy rp is already present"
    other = converge("influxdb_retention_policy.present", "rp", duration="36h", replication=2, default=True, **of)
    assert other.changes == {
        "duration": "Retention changed from 168h0m0s to 36h.",
        "replication": "Replication changed from 1 to 2.",
        "default": "Default changed from False to True.",
    }
    assert other.comment == "retention policy rp has been changed"
    stays = converge("influxdb_retention_policy.present", "rp", duration="36h", replication=2, **of)
    assert stays.changes == {}
    ever = converge("influxdb_retention_policy.present", "rp", duration="INF", replication=2, **of)
    assert ever.changes == {"duration": "Retention changed from 36h0m0s to INF."}
    odd = converge("influxdb_retention_policy.present", "rp", duration="soon", **of)
    assert (odd.result, odd.comment) == (False, "Invalid duration: soon")
    gone = converge("influxdb_retention_policy.absent", "rp", **of)
    assert (gone.changes, gone.comment) == ({"rp": "Absent"}, "retention policy rp has been removed")
    assert converge("influxdb_retention_policy.absent", "rp", **of).comment == "retention policy rp is not present"
    none = {"database": "none", **at}
    assert converge("influxdb_retention_policy.absent", "rp", **none).comment == "retention policy rp is not present"
    assert converge("influxdb_retention_policy.present", "rp", **none).comment == "database not found: none"


def test_continuous_queries(converge, call, at, db):
    query = 'SELECT mean("v") INTO "m2" FROM "m" GROUP BY time(5m)'
    of = {"database": db, **at}
    made = converge(
        "influxdb_continuous_query.present", "cq", query=query, resample_time="10m", coverage_period="1h", **of
    )
    assert (made.changes, made.comment) == ({"cq": "Present"}, "continuous query cq has been created")
    assert "RESAMPLE EVERY 10m FOR 1h BEGIN SELECT mean(v)" in call("get_continuous_query", db, "cq")["query"]
    same = converge("influxdb_continuous_query.present", "cq", query="SELECT 1", **of)
    assert same.comment == "continuous query cq is already present"
    gone = converge("influxdb_continuous_query.absent", "cq", **of)
    assert (gone.changes, gone.comment) == ({"cq": "Absent"}, "continuous query cq has been removed")
    assert converge("influxdb_continuous_query.absent", "cq", **of).comment == "continuous query cq is not present"
    refused = converge("influxdb_continuous_query.present", "cq", query="nonsense", **of)
    assert (refused.result, "error parsing query" in refused.comment) == (False, True)


def test_servers_that_do_not_answer_and_passwords_that_are_wrong(converge, at):
    silent = converge("influxdb_database.present", "x", influxdb_host="127.0.0.1", influxdb_port=1)
    assert silent.comment == "InfluxDB does not answer: http://127.0.0.1:1: [Errno 111] Connection refused"
    wrong = converge("influxdb_database.present", "x", influxdb_password="wrong", **at)
    assert wrong.comment == "InfluxDB answers with 401: authorization failed"


def test_a_policy_of_a_database_that_an_earlier_state_makes(at):
    chunks = {
        name: Chunk(state=f"influxdb_{name}", fun="present", id=name, name=name, sls="s", arguments={**at, **more})
        for name, more in (("database", {}), ("retention_policy", {"database": "database"}))
    }
    machine = LocalMachine(sources_port=MemoryFiles({}))
    foretold = run(chunks, StateEngine(machine, test=True), test=True, clock=lambda: 0.0)
    assert [result.result for result in foretold.values()] == [None, None]
    assert "(influxdb_database database) may bring it" in foretold["retention_policy"].comment
    done = run(chunks, StateEngine(machine, test=False), test=False, clock=lambda: 0.0)
    assert [result.changes for result in done.values()] == [{name: "Present"} for name in chunks]


def test_functions(call, db):
    assert (call("create_db", db), call("drop_db", "none")) == (False, False)
    assert (call("create_user", "f", "p", admin=True), call("create_user", "f", "p")) == (True, False)
    assert (call("user_exists", "f"), call("user_exists", "g"), call("user_info", "g")) == (True, False, None)
    assert call("set_user_password", "f", "q") is True
    assert call("list_users", influxdb_user="f", influxdb_password="q")[-1] == {"user": "f", "admin": True}
    assert (call("set_user_password", "g", "q"), call("remove_user", "g")) == (False, False)
    assert (call("revoke_admin_privileges", "f"), call("grant_admin_privileges", "f")) == (True, True)
    assert (call("grant_privilege", db, "write", "f"), call("list_privileges", "f")) == (True, {db: "write"})
    assert (call("revoke_privilege", db, "all", "f"), call("list_privileges", "f")) == (True, {db: "no"})
    assert call("remove_user", "f") is True
    assert call("create_retention_policy", db, "rp", "1d", 1) is True
    assert call("alter_retention_policy", db, "rp", "2d", 1, default=True) is True
    assert (call("retention_policy_exists", db, "rp"), call("get_retention_policy", db, "no")) == (True, {})
    assert call("create_continuous_query", db, "cq", "SELECT mean(v) INTO m2 FROM m GROUP BY time(5m)") is True
    assert (call("continuous_query_exists", db, "cq"), call("continuous_query_exists", "no", "cq")) == (True, False)
    assert call("drop_continuous_query", db, "cq") is True
    assert call("query", db, "SHOW MEASUREMENTS") == [{}]
    [policies] = call("query", db, "SHOW RETENTION POLICIES")
    assert [row["name"] for row in policies["results"]] == ["autogen", "rp"]
    assert len(call("query", db, "SHOW RETENTION POLICIES; SHOW DATABASES")) == 2
    assert call("drop_retention_policy", db, "rp") is True
    with pytest.raises(CallFailed, match="error parsing query"):
        call("query", db, "nonsense")
