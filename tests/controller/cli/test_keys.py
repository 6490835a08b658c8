"""`saltern key`, its verbs and salt-key's options as they are typed, against a served desk."""

import io
import json

import pytest
from msgspec.structs import replace

from wire.keys import fingerprint, load_or_create, read_public

ALL = "Accepted Keys:\ndb1\nDenied Keys:\ndb1\nUnaccepted Keys:\nweb1\nRejected Keys:\n"
"""As salt-key 3008 prints the same keys."""


def test_lists_are_salt_keys(saltern, served):
    assert saltern("key", "-L").out == saltern("key", "--list-all").out == ALL
    assert saltern("key", "list").out == saltern("key").out == saltern("key", "-l", "all").out == ALL
    for word in ("un", "unaccepted", "pre"):
        assert saltern("key", "-l", word).out == saltern("key", "list", word).out == "Unaccepted Keys:\nweb1\n"
    assert saltern("key", "-l", "acc").out == "Accepted Keys:\ndb1\n"
    assert saltern("key", "-l", "rej").out == "Rejected Keys:\n"
    assert saltern("key", "-l", "denied").out == "Denied Keys:\ndb1\n"
    assert "1 key to be accepted" in saltern("key", "list").err
    wrong = saltern("key", "-l", "foo")
    assert wrong.code == 64
    assert "'foo' is no state of keys" in wrong.err


def test_json_is_salt_keys(saltern, served):
    document = {"minions": ["db1"], "minions_pre": ["web1"], "minions_rejected": [], "minions_denied": ["db1"]}
    assert json.loads(saltern("key", "-L", "--out", "json").out) == document
    assert json.loads(saltern("key", "list", "--out", "json").out) == document
    assert json.loads(saltern("key", "-l", "pre", "--out=json").out) == {"minions_pre": ["web1"]}
    prints = {"minions": {"db1": "aa:01"}, "minions_pre": {"web1": "aa:02"}, "minions_denied": {"db1": "aa:03"}}
    local = {"local": {"controller.pub": "cc:cc"}}
    assert json.loads(saltern("key", "-F", "--out", "json").out) == {**local, **prints}
    assert json.loads(saltern("key", "-f", "web1", "--out", "json").out) == {"minions_pre": {"web1": "aa:02"}}
    assert json.loads(saltern("key", "-f", "nobody", "--out", "json").out) == {}
    assert json.loads(saltern("key", "-p", "web*", "--out", "json").out) == {"minions_pre": {"web1": "2" * 40}}


def test_fingerprints_and_public_keys_as_text(saltern, served):
    assert saltern("key", "-f", "db1").out == "Accepted Keys:\ndb1:  aa:01\nDenied Keys:\ndb1:  aa:03\n"
    assert saltern("key", "-F").out.startswith("Local Keys:\ncontroller.pub:  cc:cc\nAccepted Keys:\ndb1:  aa:01\n")
    assert saltern("key", "-p", "web1").out == f"Unaccepted Keys:\nweb1:  {'2' * 40}\n"
    assert saltern("key", "print", "nobody").code == 5
    assert saltern("key", "finger", "nobody").code == 5
    assert saltern("key", "-P").out.count(":  ") == 3
    assert "aa:02" in saltern("key", "list", "--verbose").out


def test_salt_keys_changes(saltern, served, desk):
    assert saltern("key", "-A", "-y").out == (
        "The following keys are going to be accepted:\nUnaccepted Keys:\nweb1\nKey for minion web1 accepted.\n"
    )
    again = saltern("key", "-A", "-y")
    assert (again.code, again.out) == (0, "The key glob '*' does not match any unaccepted keys.\n")
    refused = saltern("key", "-r", "web1", "-y")
    assert (refused.code, refused.out) == (0, "The key glob 'web1' does not match any unaccepted keys.\n")
    assert "Key for minion web1 rejected.\n" in saltern("key", "-r", "web1", "-y", "--include-accepted").out
    assert saltern("key", "-R", "-y").code == 0
    assert saltern("key", "-a", "web1", "--include-denied", "-y").out == (
        "The key glob 'web1' does not match any unaccepted or denied keys.\n"
    )
    assert "web1 accepted" in saltern("key", "-a", "web1", "--include-all", "-y").out
    assert json.loads(saltern("key", "-r", "web1", "--include-all", "-y", "--out", "json").out) == {
        "minions_rejected": ["web1"]
    }
    assert "web1 accepted" in saltern("key", "-a", "web1,nobody", "--include-rejected", "-y").out
    assert saltern("key", "-d", "web1", "-y", "-q").out == ""
    assert "Key for minion db1 deleted." in saltern("key", "-D", "-y").out
    assert not desk.key_views


@pytest.mark.parametrize("words", [("-D",), ("-d", "db1"), ("delete", "db1"), ("reject", "db1"), ("-A",), ("-R",)])
def test_nothing_is_changed_that_nobody_says_yes_to(saltern, served, desk, monkeypatch, words):
    """Salt asks, whatever standard input is; where nobody answers, its program ends with an error."""
    before = json.loads(saltern("key", "-L", "--out", "json").out)
    for answer in ("", "n\n"):
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        done = saltern("key", *words)
        assert (done.code, "-y asks nothing" in done.err) == ((0, False) if answer else (64, True))
        assert json.loads(saltern("key", "-L", "--out", "json").out) == before
    monkeypatch.setattr("sys.stdin", None)  # it was closed
    assert saltern("key", *words).code == 64
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    saltern("key", *words)
    deletes = words[0] in ("-D", "-d", "delete")
    assert (json.loads(saltern("key", "-L", "--out", "json").out) == before) == deletes
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    saltern("key", *words)
    assert json.loads(saltern("key", "-L", "--out", "json").out) != before


def test_a_denied_key_is_not_accepted_in_place_of_the_other(saltern, served):
    refused = saltern("key", "-a", "db1", "--include-denied", "-y")
    assert refused.code == 1
    assert "another key is accepted for 'db1'" in refused.err


def test_a_glob_accepts_no_relay(saltern, served, desk):
    desk.key_views["aa:02"] = replace(desk.key_views["aa:02"], role="relay")
    assert saltern("key", "accept", "*", "-y").code == 5
    saltern("key", "-A", "-y")
    assert desk.key_views["aa:02"].state == "pending"
    assert "of a relay" in saltern("key", "list", "-v").out
    saltern("key", "accept", "web1", "-y")
    assert desk.key_views["aa:02"].state == "accepted"


def test_verbs(saltern, served, desk):
    done = saltern("key", "accept", "*")
    assert (done.code, done.out.splitlines()[-1]) == (0, "Key for minion web1 accepted."), "a glob leaves conflicts"
    assert saltern("key", "accept", "*").code == 5
    conflict = saltern("key", "accept", "aa:03")
    assert conflict.code == 1
    assert "another key is accepted for 'db1'" in conflict.err
    assert "Key for minion web1 rejected." in saltern("key", "reject", "web1", "-y").out
    assert json.loads(saltern("key", "finger", "web1", "--out", "json").out) == {"minions_rejected": {"web1": "aa:02"}}
    assert saltern("key", "controller").out == "P" * 40 + "\n"
    assert "Key for minion web1 deleted." in saltern("key", "delete", "web1", "-y").out
    assert set(desk.key_views) == {"aa:01", "aa:03"}


def test_of_a_stock_minion_the_fingerprint_of_salt_is_shown(saltern, served, desk):
    shown = ":".join(["ab"] * 32)
    desk.key_views["aa:02"] = replace(desk.key_views["aa:02"], salt_fingerprint=shown)
    assert json.loads(saltern("key", "finger", "web1", "--out", "json").out) == {"minions_pre": {"web1": shown}}
    table = saltern("key", "list", "pre", "-v").out
    assert shown in table
    assert "of a salt-minion" in table
    document = json.loads(saltern("key", "list", "-v", "--out", "json").out)
    assert [key["salt_fingerprint"] for key in document if key["minion"] == "web1"] == [shown]
    assert saltern("key", "accept", shown).code == 0
    assert desk.key_views["aa:02"].state == "accepted"


def test_of_two_keys_that_wait_the_first_is_accepted_and_the_other_by_its_fingerprint(saltern, served, desk):
    second = replace(desk.key_views["aa:02"], fingerprint="aa:04", conflict=True)
    desk.key_views["aa:04"] = second
    done = saltern("key", "accept", "web1")
    assert (done.code, "another key for web1 is denied" in done.err, "aa:04" in done.err) == (0, True, True)
    assert (desk.key_views["aa:02"].state, desk.key_views["aa:04"].state) == ("accepted", "pending")
    assert json.loads(saltern("key", "list", "den", "--out", "json").out) == {"minions_denied": ["db1", "web1"]}


def test_refused_key_requests_are_told(saltern, served, desk):
    assert "refused" not in saltern("key", "list").err
    desk.refused_keys = {"requests-a-second": 7, "pending-keys": 1}
    text = "limits refused 8 key requests since the controller started (requests-a-second 7, pending-keys 1)"
    assert text in saltern("key", "list").err
    assert text in saltern("key", "accept", "nobody").err


def test_that_there_are_no_keys_is_said(saltern, served, desk):
    desk.key_views.clear()
    ended = saltern("key", "list")
    assert ended.code == 0
    assert ended.out == "Accepted Keys:\nDenied Keys:\nUnaccepted Keys:\nRejected Keys:\n"
    assert "there are no keys" in ended.err
    empty = {"minions": [], "minions_pre": [], "minions_rejected": [], "minions_denied": []}
    assert json.loads(saltern("key", "list", "--out", "json").out) == empty


@pytest.mark.parametrize("words", [("gen", "web9", "--dir", "{}"), ("--gen-keys", "web9", "--gen-keys-dir", "{}")])
def test_a_pair_is_made(saltern, tmp_path, words):
    made = saltern("key", *(word.format(tmp_path) for word in words))
    assert made.code == 0
    keys = load_or_create(tmp_path / "web9.key")
    assert read_public((tmp_path / "web9.pub").read_text()) == keys.public
    assert fingerprint(keys.public) in made.out
    assert (tmp_path / "web9.key").stat().st_mode & 0o077 == 0
    again = saltern("key", *(word.format(tmp_path) for word in words))
    assert again.code == 1
    assert "is there already" in again.err
    assert load_or_create(tmp_path / "web9.key") == keys


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/b", "a\nb", "", "x" * 300])
def test_a_pair_has_no_name_that_leads_elsewhere(saltern, tmp_path, name):
    assert saltern("key", "gen", name, "--dir", str(tmp_path)).code == 64
    assert not [path for path in tmp_path.rglob("*") if path.suffix in (".key", ".pub")]


def test_options_that_mean_nothing_say_so(saltern, served, tmp_path):
    made = saltern("key", "--gen-keys", "x", "--gen-keys-dir", str(tmp_path), "--keysize", "4096")
    assert made.code == 0
    assert made.err == "--keysize means nothing here: CURVE keys have one size\n"
    done = saltern("key", "-d", "web1", "-y", "--preserve-minions", "true", "--rotate-aes-key", "false")
    assert done.code == 0
    assert done.err.count("means nothing here") == 2
