"""States of MySQL on a real MariaDB server, on a socket of its own."""

from highstate.files import MemoryFiles
from minion.machine.machine import LocalMachine
from minion.providers.mysql.session import MysqlLogin, session_of


def test_a_database_its_user_and_what_it_may(converge, login):
    assert converge("mysql_database.present", "a_b", character_set="utf8", **login).changes == {"a_b": "Present"}
    assert converge("mysql_database.present", "a_b", character_set="utf8", **login).changes == {}
    found = converge("mysql_database.present", "a_b", character_set="latin1", **login).changes
    assert found["character_set"] == {"before": "utf8mb3", "now": "latin1"}
    secret = "it's\\a `secret`"
    first = converge("mysql_user.present", "joe", password=secret, **login)
    assert first.changes == {"joe": "Present"}
    assert "secret" not in str(first)
    assert converge("mysql_user.present", "joe", password=secret, **login).changes == {}
    grant = {"database": "a_b.*", "user": "joe", **login}
    assert converge("mysql_grants.present", "g", grant="select, insert", **grant).changes == {"g": "Present"}
    assert converge("mysql_grants.present", "g", grant="SELECT", **grant).changes == {}
    assert converge("mysql_grants.present", "g", grant="select", revoke_first=True, **grant).changes == {"g": "Present"}
    assert converge("mysql_grants.absent", "g", grant="all", **grant).changes == {"g": "Absent"}
    machine = LocalMachine(sources_port=MemoryFiles({}))
    joe = session_of(machine, MysqlLogin(**{**login, "connection_user": "joe", "connection_pass": secret}))
    assert joe.rows(machine, "SELECT 1 AS n") == [{"n": "1"}]
    assert converge("mysql_user.present", "joe", password="other", **login).changes == {"joe": "Updated"}
    assert joe.refuses(machine)
    assert converge("mysql_user.absent", "joe", **login).changes == {"joe": "Absent"}
    assert converge("mysql_database.absent", "a_b", **login).changes == {"a_b": "Absent"}


def test_queries(converge, login, tmp_path):
    converge("mysql_database.present", "q", **login)
    on = {"database": "q", "overwrite": False, **login}
    made = converge("mysql_query.run", "m", query="CREATE TABLE t (n int)", output=str(tmp_path / "made"), **on)
    assert made.result is True, made.comment
    assert made.changes == {"query": f"Executed. Output into {tmp_path / 'made'}"}
    assert converge("mysql_query.run", "m", query="DROP TABLE t", output=str(tmp_path / "made"), **on).changes == {}
    statements = tmp_path / "statements.sql"
    statements.write_text("INSERT INTO t VALUES (7);\nSELECT n FROM t;\n")
    read = converge("mysql_query.run_file", "r", query_file=str(statements), output=str(tmp_path / "read"), **on)
    assert read.result is True
    assert "7" in (tmp_path / "read").read_text()
    missing = converge(
        "mysql_query.run", "m", query="SELECT 1", output=str(tmp_path / "x"), **{**on, "database": "none"}
    )
    assert missing.result is False
