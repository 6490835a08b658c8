"""Databases, schemas, languages, extensions and tablespaces against a real server."""

import shutil

import pytest


def test_a_database_is_made_and_removed(pg, server):
    pg("user.present", "owner")
    made = pg("database.present", "db", owner="owner", encoding="utf-8", template="template0", lc_collate="C")
    assert (made.comment, made.changes) == ("The database db has been created", {"db": "Present"})
    assert pg("database.present", "db", encoding="UTF8", lc_collate="C").comment == "Database db is already present"
    wrong = pg("database.present", "db", encoding="LATIN1")
    assert wrong.result is False
    assert wrong.comment == "Database db has wrong parameters which couldn't be changed on fly."
    moved = pg("database.present", "db", owner="salt")
    assert moved.comment == "Parameters for database db have been changed"
    assert moved.changes == {"db": "Parameters changed"}
    gone = pg("database.absent", "db")
    assert (gone.comment, gone.changes) == ("Database db has been removed", {"db": "Absent"})
    assert pg("database.absent", "db").comment == "Database db is not present, so it cannot be removed"


def test_an_owner_gets_all_that_is_in_a_database(pg, server):
    pg("user.present", "new owner")
    pg("database.present", "full")
    server.run(
        'CREATE SCHEMA "a b"; CREATE TABLE "a b"."t t" (id serial); CREATE VIEW v AS SELECT 1; '
        "CREATE MATERIALIZED VIEW m AS SELECT 1; CREATE SEQUENCE s; "
        'CREATE FUNCTION "f f"(integer) RETURNS integer LANGUAGE sql AS $$SELECT 1$$; '
        "CREATE AGGREGATE agg(integer) (sfunc = int4pl, stype = integer)",
        "full",
    )
    assert pg("database.present", "full", owner="new owner", owner_recurse=True).result is True
    others = server.run(
        "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname IN ('public', 'a b')"
        " AND pg_get_userbyid(relowner) <> 'new owner' UNION ALL SELECT proname FROM pg_proc p JOIN pg_namespace n"
        " ON n.oid = pronamespace WHERE nspname IN ('public', 'a b') AND pg_get_userbyid(proowner) <> 'new owner'",
        "full",
    )
    assert others == []


def test_a_database_that_is_in_use_is_removed(pg, server):
    import psycopg

    pg("database.present", "busy")
    with psycopg.connect(host=str(server.folder), user="salt", dbname="busy"):
        assert pg("database.absent", "busy").result is True


def test_a_schema_is_made_and_removed(pg):
    pg("database.present", "shelf")
    made = pg("schema.present", "s", dbname="shelf", owner="salt")
    assert (made.comment, made.changes) == ("Schema s has been created in database shelf", {"s": "Present"})
    assert pg("schema.present", "s", dbname="shelf").comment == "Schema s already exists in database shelf"
    gone = pg("schema.absent", "s", dbname="shelf")
    assert (gone.comment, gone.changes) == ("Schema s has been removed from database shelf", {"s": "Absent"})
    nothing = "Schema s is not present in database {}, so it cannot be removed"
    assert pg("schema.absent", "s", dbname="shelf").comment == nothing.format("shelf")
    assert pg("schema.absent", "s", dbname="nowhere").comment == nothing.format("nowhere")
    lost = pg("schema.present", "s", dbname="nowhere")
    assert (lost.result, lost.comment) == (False, 'FATAL: database "nowhere" does not exist')


def test_a_language_is_made_and_removed(pg):
    pg("database.present", "speaking")
    gone = pg("language.absent", "plpgsql", maintenance_db="speaking")
    assert (gone.comment, gone.changes) == ("Language plpgsql has been removed", {"plpgsql": "Absent"})
    again = pg("language.absent", "plpgsql", maintenance_db="speaking")
    assert again.comment == "Language plpgsql is not present so it cannot be removed"
    made = pg("language.present", "plpgsql", maintenance_db="speaking")
    assert (made.comment, made.changes) == ("Language plpgsql has been installed", {"plpgsql": "Present"})
    assert (
        pg("language.present", "plpgsql", maintenance_db="speaking").comment == "Language plpgsql is already installed"
    )
    assert pg.once("language.present", "klingon", maintenance_db="speaking").result is False


def test_an_extension_is_installed_moved_updated_and_removed(pg, server):
    pg("database.present", "extended")
    [(known,)] = server.run("SELECT count(*) FROM pg_available_extensions() WHERE name = 'hstore'")
    if not known:
        pytest.skip("there is no postgresql-contrib")
    versions = sorted(
        one for (one,) in server.run("SELECT version FROM pg_available_extension_versions WHERE name = 'hstore'")
    )
    at = {"maintenance_db": "extended"}
    made = pg("extension.present", "hstore", ext_version=versions[0], **at)
    assert (made.comment, made.changes) == ("The extension hstore has been installed", {"hstore": "Installed"})
    assert pg("extension.present", "hstore", **at).comment == "Extension hstore is already present"
    pg("schema.present", "else where", dbname="extended")
    updated = pg("extension.present", "hstore", ext_version=versions[-1], schema="else where", **at)
    assert (updated.comment, updated.changes) == ("The extension hstore has been upgraded", {"hstore": "Upgraded"})
    server.run('CREATE TABLE t (h "else where".hstore)', "extended")
    refused = pg.once("extension.absent", "hstore", restrict=True, **at)
    assert refused.comment.startswith("Extension hstore failed to be removed: ERROR: cannot drop extension hstore")
    gone = pg("extension.absent", "hstore", **at)
    assert (gone.comment, gone.changes) == ("Extension hstore has been removed", {"hstore": "Absent"})
    assert pg("extension.absent", "hstore", **at).comment == "Extension hstore is not present, so it cannot be removed"
    assert pg("extension.absent", "hstore", maintenance_db="nowhere").result is True
    unknown = pg("extension.present", "no such", **at)
    assert unknown.comment == "Failed to install extension no such: the server has no such extension"


def test_a_tablespace_is_made_altered_and_removed(pg, server):
    place = server.folder / "a space"
    place.mkdir(exist_ok=True)
    owner = server.folder.stat()
    shutil.chown(place, owner.st_uid, owner.st_gid)
    made = pg("tablespace.present", "ts", directory=str(place), options={"seq_page_cost": 1.5})
    assert (made.comment, made.changes) == ("The tablespace ts has been created", {"ts": "Present"})
    assert pg("tablespace.present", "ts", directory=f"{place}/").comment == "Tablespace ts is already present"
    pg("user.present", "spacious")
    changed = pg("tablespace.present", "ts", directory=str(place), owner="spacious", options={"random_page_cost": 4.0})
    assert changed.comment == "Tablespace ts opts changed"
    assert changed.changes == {"ts": {"owner": "spacious", "options": {"random_page_cost": 4.0}}}
    elsewhere = pg("tablespace.present", "ts", directory="/elsewhere")
    assert (elsewhere.result, elsewhere.comment.partition(".")[0]) == (
        False,
        "Tablespace ts is not at the right location",
    )
    pg("database.present", "spaced")
    assert pg("database.present", "spaced", tablespace="ts").changes == {"spaced": "Parameters changed"}
    assert (
        pg("database.present", "spaced", tablespace="pg_default", owner="spacious", owner_recurse=True).result is True
    )
    gone = pg("tablespace.absent", "ts")
    assert (gone.comment, gone.changes) == ("Tablespace ts has been removed", {"ts": "Absent"})
    assert pg("tablespace.absent", "ts").comment == "Tablespace ts is not present, so it cannot be removed"
    assert pg("tablespace.present", "ts", directory="/no/such").comment.endswith("there is no directory /no/such")
