"""Names and values that would be more than that if they were not quoted, and what a test run leaves alone."""

from pathlib import Path

import pytest

from minion.machine.failure import StateFailed
from minion.providers.postgres.session import PostgresLogin, session_of
from minion.providers.postgres.sql import identifier, literal

HOSTILE = [
    "\"'; DROP TABLE canary; --\nx\n\\! touch {mark}\n",
    "back\\slash \\\\ \\' :HOME :'HOME' $1 $$ $x$ %s %I {0}",
    "`touch {mark}`$(touch {mark})",
    "ünïcödé ☂ 漢字 dbname=postgres user=x",
    "postgres://nowhere/x",
    "-c",
]


@pytest.fixture(scope="module", autouse=True)
def _canary(server):
    server.run("CREATE TABLE canary (i int)")


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_names(pg, server, text):
    mark = Path("/tmp/pg-mark")
    name = text.replace("{mark}", str(mark))
    assert pg("user.present", name, password=name, encrypted="scram-sha-256").changes == {name: "Present"}
    assert pg("group.present", f"g{name}", groups=[name]).result is True
    assert pg("database.present", name, owner=name).changes == {name: "Present"}
    assert pg("schema.present", name, dbname=name, owner=name).changes == {name: "Present"}
    grant = {"object_name": name, "object_type": "schema", "privileges": ["USAGE"], "maintenance_db": name}
    assert pg("privileges.present", f"g{name}", **grant).changes == {f"g{name}": "Present"}
    assert pg("privileges.absent", f"g{name}", **grant).changes == {f"g{name}": "Absent"}
    assert pg("database.present", name, owner=f"g{name}", owner_recurse=True).result is True
    for kind, one in (("extension", {}), ("language", {"maintenance_db": name})):
        assert pg.once(f"{kind}.present", name, **one).result is False
        assert pg(f"{kind}.absent", name, **one).result is True
    table = {"object_name": name, "object_type": "table", "privileges": ["SELECT"], "prepend": name}
    assert pg("privileges.present", name, **table).comment == f"There is no table {name}"
    assert pg("schema.absent", name, dbname=name).changes == {name: "Absent"}
    assert pg("database.absent", name).changes == {name: "Absent"}
    assert pg("user.present", name, valid_until=f"never'{name}").result is False
    assert pg("group.absent", f"g{name}").changes == {f"g{name}": "Absent"}
    assert pg("user.absent", name).changes == {name: "Absent"}
    assert server.run("SELECT count(*) FROM canary") == [(0,)]
    assert not mark.exists()


@pytest.mark.parametrize("name", ["", "x" * 64, "ä" * 32, "a\0b", "\udc80"])
def test_names_that_cannot_be_kept_are_refused(pg, name):
    with pytest.raises(StateFailed):
        identifier(name)
    assert pg("user.present", name).result is False


def test_a_text_is_one_whatever_the_server_makes_of_backslashes(server):
    for text in ("a\\'b", "a\\", "''", "E'x'"):
        for setting in ("on", "off"):
            query = f"SELECT set_config('standard_conforming_strings', '{setting}', false)"
            assert server.run(f"{query}; ") is not None
            assert server.run(f"SELECT {literal(text)}") == [(text,)]


def test_a_function_is_named_by_a_text_that_breaks_nothing(pg, server):
    for text in ("f(); DROP TABLE canary; --)", 'f"(); DROP TABLE canary', "f') OR true; --"):
        what = {"object_name": text, "object_type": "function", "privileges": ["EXECUTE"]}
        assert pg("privileges.present", "salt", **what).result is False
    assert server.run("SELECT count(*) FROM canary") == [(0,)]


def test_a_question_cannot_write(plain, session, server):
    query = "WITH x AS (INSERT INTO canary VALUES (1) RETURNING i) SELECT * FROM x"
    with pytest.raises(StateFailed, match="read-only transaction"):
        session.rows(plain, query)
    assert server.run("SELECT count(*) FROM canary") == [(0,)]


def test_neither_statements_nor_passwords_are_words_of_a_command(plain, reached, session):
    seen = []

    class Watched(type(plain)):
        def run(self, argv, **options):
            seen.append(list(argv))
            return super().run(argv, **options)

    machine = Watched(sources_port=plain.sources_port, opts={"postgres.pass": "of the configuration"})
    one = session_of(machine, PostgresLogin(**reached), None)
    one.rows(machine, "SELECT 'sesame'")
    one.carry_out(machine, ["CREATE ROLE unseen PASSWORD 'sesame'"], "no")
    assert len(seen) == 2
    assert "sesame" not in str(seen) + repr(one)
    assert "of the configuration" not in str(seen) + repr(one)


def test_a_failure_shows_no_password(plain, session):
    with pytest.raises(StateFailed) as told:
        session.carry_out(plain, ["ALTER ROLE salt WITH PASSWORD 'sesame' NONSENSE"], "Failed")
    assert str(told.value) == 'Failed: ERROR: unrecognized role option "nonsense"'


@pytest.mark.parametrize(
    ("fun", "name", "arguments"),
    [
        ("user.present", "new", {"password": "x", "groups": ["pg_monitor"]}),
        ("user.present", "salt", {"createdb": False, "password": "x", "valid_until": "2040-01-01"}),
        ("user.absent", "going", {}),
        ("group.present", "new", {}),
        ("group.absent", "going", {}),
        ("database.present", "new", {}),
        ("database.present", "going db", {"owner": "going", "owner_recurse": True}),
        ("database.absent", "going db", {}),
        ("schema.present", "new", {"dbname": "postgres"}),
        ("schema.absent", "going", {"dbname": "postgres"}),
        ("extension.absent", "plpgsql", {}),
        ("language.absent", "plpgsql", {"maintenance_db": "postgres"}),
        ("language.present", "new", {"maintenance_db": "postgres"}),
        ("tablespace.present", "new", {"directory": "/tmp"}),
        ("tablespace.present", "pg_default", {"directory": ".", "owner": "going"}),
        ("privileges.present", "going", {"object_name": "canary", "object_type": "table", "privileges": ["ALL"]}),
        ("privileges.absent", "salt", {"object_name": "canary", "object_type": "table", "privileges": ["ALL"]}),
    ],
)
def test_a_test_run_leaves_the_server_as_it_was(pg, server, dumped, fun, name, arguments):
    if not server.run("SELECT 1 FROM pg_roles WHERE rolname = 'going'"):
        server.run("CREATE ROLE going; CREATE SCHEMA going")
        server.run('CREATE DATABASE "going db"')
    before = dumped()
    pg.once(fun, name, test=True, **arguments)
    assert dumped() == before


def test_a_server_that_is_not_there_is_no_reason_to_say_that_all_is_well(pg, server):
    for fun in ("user.present", "user.absent", "database.absent", "extension.absent"):
        result = pg(fun, "x", db_host=str(server.folder), db_port=1)
        assert result.result is False
        assert "No such file or directory" in result.comment
