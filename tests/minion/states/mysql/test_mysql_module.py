"""The execution module `mysql` on a real MariaDB server."""

import pytest

from minion.execution import Context, Modules
from minion.execution.errors import CallFailed

WITHOUT_A_SERVER = ("quote_identifier", "tokenize_grant")


@pytest.fixture
def call(login):
    modules = Modules(Context(minion_id="web1"))
    return lambda fun, *args, **kwargs: modules.call(
        f"mysql.{fun}", args, {**({} if fun in WITHOUT_A_SERVER else login), **kwargs}
    )


def test_databases_and_queries(call, tmp_path):
    assert call("db_create", "m_a", "latin1") is True
    assert (call("db_create", "m_a"), call("db_exists", "m_a"), call("db_exists", "m-a")) == (False, True, False)
    assert call("db_get", "m_a") == {"character_set": "latin1", "collate": "latin1_swedish_ci"}
    assert call("alter_db", "m_a", "utf8mb4") is True
    assert call("db_get", "m_a")["character_set"] == "utf8mb4"
    assert "m_a" in call("db_list")
    assert call("query", "m_a", "CREATE TABLE `t x` (n int)")["rows affected"] == 0
    assert call("query", "m_a", "INSERT INTO `t x` VALUES (1), (2)")["rows affected"] == 2
    found = call("query", "m_a", "SELECT n, NULL AS o FROM `t x` ORDER BY n")
    assert (found["rows returned"], found["columns"], found["results"]) == (2, ["n", "o"], [["1", None], ["2", None]])
    statements = tmp_path / "f.sql"
    statements.write_text("UPDATE `t x` SET n = 5 WHERE n = 1; -- one\nSELECT n FROM `t x` WHERE n = 5;\n")
    read = call("file_query", "m_a", str(statements))
    assert (read["rows affected"], read["results"]) == (1, [[["5"]]])
    assert call("db_tables", "m_a") == ["t x"]
    assert call("db_check", "m_a", "t x")[0]["Msg_text"] == "OK"
    assert call("db_optimize", "m_a")[0][0]["Table"] == "m_a.t x"
    assert call("db_repair", "m_a", "t x")[0]["Op"] == "repair"
    assert (call("db_remove", "m_a"), call("db_remove", "m_a"), call("db_tables", "m_a")) == (True, False, False)
    with pytest.raises(CallFailed, match="MySQL Error 1049"):
        call("query", "m_a", "SELECT 1")
    assert (call("quote_identifier", "a`b_c"), call("quote_identifier", "a_b", for_grants=True)) == (
        "`a``b_c`",
        "`a\\_b`",
    )


def test_users_and_what_they_may(call):
    who = {"user": "moe", "host": "localhost"}
    assert call("user_create", "moe", password="it's") is True
    assert (call("user_create", "moe", password="it's"), call("user_exists", "moe")) == (False, True)
    assert (call("user_exists", "moe", password="it's"), call("user_exists", "moe", password="no")) == (True, False)
    assert (call("verify_login", "moe", "it's"), call("verify_login", "moe", "no")) == (True, False)
    assert call("user_info", "moe")["User"] == "moe"
    assert {"User": "moe", "Host": "localhost"} in call("user_list")
    given = {"grant": "SELECT, UPDATE (n)", "database": "m_b.t", **who}
    call("db_create", "m_b")
    call("query", "m_b", "CREATE TABLE t (n int)")
    assert call("grant_exists", **given) is False
    assert call("grant_add", **given, ssl_option=[{"SSL": True}]) is True
    assert (call("grant_exists", **given), call("user_info", "moe")["ssl_type"]) == (True, "ANY")
    assert call("user_grants", "moe")[1] == "GRANT SELECT, UPDATE (`n`) ON `m_b`.`t` TO `moe`@`localhost`"
    assert call("grant_exists", **given, grant_option=True) is False
    assert call("grant_revoke", **given) is True
    assert call("grant_exists", **given) is False
    assert call("user_chpass", "moe", password="other") is True
    assert (call("user_exists", "moe", password="other"), call("user_chpass", "nobody", password="x")) == (True, False)
    with pytest.raises(CallFailed, match="unless allow_passwordless"):
        call("user_chpass", "moe")
    assert call("user_chpass", "moe", allow_passwordless=True) is True
    assert call("user_exists", "moe", passwordless=True) is True
    assert (call("user_remove", "moe"), call("user_remove", "moe"), call("user_info", "moe")) == (True, False, None)
    assert call("user_grants", "moe") is False
    call("db_remove", "m_b")
    assert call("tokenize_grant", "GRANT SELECT, UPDATE (`a`, `b`) ON `d`.`t` TO 'u'@'%'") == {
        "user": "u", "host": "%", "grant": ["SELECT", "UPDATE", "UPDATE.`a`", "UPDATE.`b`"], "database": "`d`.`t`",
    }  # fmt: skip
    with pytest.raises(CallFailed, match="no GRANT of privileges"):
        call("tokenize_grant", "DROP TABLE t")


def test_the_server(call):
    assert "MariaDB" in call("version")
    assert int(call("status")["Uptime"]) >= 0
    names = [{row["Variable_name"] for row in call(fun)} for fun in ("showvariables", "showglobal")]
    assert all("datadir" in found for found in names)
    assert any("SHOW FULL PROCESSLIST" in str(row["Info"]) for row in call("processlist"))
    assert (call("get_master_status"), call("get_slave_status"), call("slave_lag")) == ({}, {}, -1)
    assert {"name": "InnoDB", "status": "ACTIVE"} in call("plugins_list")
    assert (call("plugin_status", "InnoDB"), call("plugin_status", "it's")) == ("ACTIVE", "")
    assert (call("plugin_add", "InnoDB"), call("plugin_remove", "nothing")) == (True, True)
    with pytest.raises(CallFailed, match="Failed to add plugin no_such"):
        call("plugin_add", "no_such")
