"""`saltern login`, `logout`, `whoami`, `token` and `audit`."""

from __future__ import annotations

import io
import json
import os
import pwd
import stat

import pytest

NAME = pwd.getpwuid(os.geteuid()).pw_name


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("SALTERN_TOKEN", raising=False)
    return tmp_path


def test_who_you_are(saltern, served):
    done = saltern("whoami")
    assert done.code == 0
    assert done.out.startswith(NAME)
    assert done.out.endswith("; you may do everything\n")
    assert json.loads(saltern("whoami", "--out", "json").out)["everything"] is True


def test_a_token_is_made_listed_used_and_revoked(saltern, served, monkeypatch):
    made = saltern("token", "create", "ci", "--expires", "2h", "--note", "the build", "--group", "web")
    assert made.code == 0
    token = made.out.strip()
    assert len(token) == 43
    assert "it is not shown again" in made.err
    listed = json.loads(saltern("token", "list", "--out", "json").out)
    [view] = listed
    assert (view["user"], view["note"], view["groups"]) == ("ci", "the build", ["web"])
    assert view["expires"] - view["created"] == 7200
    assert "ci" in saltern("token", "list").out
    monkeypatch.setenv("SALTERN_TOKEN", token)
    refused = saltern("run", "*", "test.ping")
    assert refused.code == 1
    assert "ci may not call test.ping: publisher_acl says nothing about ci" in refused.err
    assert saltern("whoami").out == f"ci, of web, by token {view['id']} (socket)\n"
    monkeypatch.delenv("SALTERN_TOKEN")
    assert saltern("token", "revoke", view["id"]).out == f"revoked {view['id']}\n"
    gone = saltern("token", "revoke", view["id"])
    assert gone.code == 5
    assert "saltern token list" in gone.err
    assert saltern("token", "create", "ci", "--expires", "soon").code == 64


def test_what_was_decided_is_listed_exported_and_verified(saltern, served, monkeypatch):
    token = saltern("token", "create", "ci").out.strip()
    monkeypatch.setenv("SALTERN_TOKEN", token)
    assert saltern("pause", "web1").code == 1
    monkeypatch.delenv("SALTERN_TOKEN")
    assert saltern("pause", "web1").code == 0
    listed = json.loads(saltern("audit", "list", "--out", "json").out)
    assert [(row["user"], row["action"], row["allowed"]) for row in listed] == [
        (NAME, "tokens", True),
        ("ci", "pause", False),
        (NAME, "pause", True),
    ]
    text = saltern("audit", "list", "--denied", "--since", "1h").out
    assert "nobody gave ci the role operator" in text
    assert saltern("audit", "list", "--user", "ci").out.count("pause") == 1
    lines = [json.loads(line) for line in saltern("audit", "export").out.splitlines()]
    assert [line["seq"] for line in lines] == [1, 2, 3]
    assert lines == listed
    assert len(saltern("audit", "export", "--after", "2").out.splitlines()) == 1
    verified = saltern("audit", "verify")
    assert (verified.code, verified.out) == (0, f"3 decisions, the last has the digest {lines[-1]['digest']}\n")
    assert token not in json.dumps(listed)


def test_a_log_that_was_changed_is_told(saltern, served):
    for _ in range(3):
        saltern("pause", "web1")
    from controller.store import Store
    from controller.store.schema import audit_log

    with Store(served.settings.store_url) as store, store.audit_log.database.write() as connection:
        connection.execute(audit_log.update().where(audit_log.c.seq == 2).values(user="mallory"))
    done = saltern("audit", "verify")
    assert done.code == 1
    assert "row 2" in done.err


def test_a_kept_token_must_be_for_its_user_alone(saltern, served, home):
    file = home / ".saltern_token"
    file.write_text(saltern("token", "create", "ci").out)
    file.chmod(0o644)
    done = saltern("status")
    assert done.code == 1
    assert f"chmod 600 {file}" in done.err
    file.chmod(0o600)
    assert saltern("whoami").out.startswith("ci, by token")
    assert saltern("logout").code == 0
    assert not file.exists()
    assert saltern("logout").code == 1
    assert saltern("whoami").out.startswith(NAME)


def test_login_without_external_auth_says_what_is_missing(saltern, served, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("a password\n"))
    done = saltern("login", "--username", "alice")
    assert done.code == 1
    assert "external_auth has no method 'pam' (none)" in done.err


def test_the_token_file_is_private_from_the_beginning(home, monkeypatch):
    from controller.cli.token_file import keep_token, kept_token

    before = os.umask(0)
    try:
        path = keep_token("secret")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert kept_token() == "secret"
    assert [each.name for each in home.iterdir()] == [".saltern_token"]
