from __future__ import annotations

import os

import pytest

from highstate.types import StateResult
from minion.spool.journal import RunFolders, RunJournal, folder_name
from wire.messages import Call, Run

CALL = Call(run_id="r1", fun="test.ping")


@pytest.fixture
def folder(tmp_path):
    return RunFolders(tmp_path).create(CALL)


def test_remembers_intents_and_results(folder):
    journal = RunJournal(folder)
    journal.attempt()
    journal.intent("a", {"diff": "x"})
    journal.done("a", StateResult(name="a", result=True, changes={"diff": "x"}, warnings=("w",)))
    journal.intent("b", {"pid": {"old": None, "new": 3}})

    again = RunJournal(folder)

    assert again.results() == {"a": StateResult(name="a", result=True, changes={"diff": "x"}, warnings=("w",))}
    assert again.intents()["b"] == {"pid": {"old": None, "new": 3}}


def test_flushes_what_cannot_be_found_again(folder, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fdatasync", lambda fd: flushed.append(os.fstat(fd).st_size))
    journal = RunJournal(folder)
    changed = StateResult(name="a", result=True, changes={"diff": "x"})
    journal.intent("file_|-a_|-/a_|-managed", {"diff": "x"})
    journal.done("file_|-a_|-/a_|-managed", changed)
    assert len(flushed) == 1
    journal.intent("cmd_|-b_|-true_|-run", {})  # and what stands before it
    assert flushed[-1] == (folder.path / "journal").stat().st_size
    journal.done("cmd_|-b_|-true_|-run", changed)
    assert len(flushed) == 3
    journal.done("cmd_|-c_|-true_|-run", StateResult(name="c", result=True))
    assert len(flushed) == 3


def test_counts_the_attempts_that_got_no_further(folder):
    journal = RunJournal(folder)
    journal.attempt()
    journal.attempt()
    assert RunJournal(folder).recorded.attempts == 2
    journal.done("a", StateResult(name="a", result=True))
    journal.attempt()
    assert RunJournal(folder).recorded.attempts == 1


def test_every_torn_tail_loses_only_its_record(folder):
    journal = RunJournal(folder)
    journal.attempt()
    journal.intent("a", {"x": 1})
    path = folder.path / "journal"
    whole = path.read_bytes()
    journal.intent("b", {"x": 2})
    longer = path.read_bytes()
    for size in range(len(whole), len(longer)):
        path.write_bytes(longer[:size])
        torn = RunJournal(folder)
        assert set(torn.intents()) == {"a"}
        torn.intent("c", {})
        assert set(RunJournal(folder).intents()) == {"a", "c"}


def test_a_flipped_byte_ends_the_record_there(folder):
    journal = RunJournal(folder)
    journal.intent("a", {})
    size = (folder.path / "journal").stat().st_size
    journal.intent("b", {})
    data = bytearray((folder.path / "journal").read_bytes())
    data[size + 10] ^= 0xFF
    (folder.path / "journal").write_bytes(data)
    assert set(RunJournal(folder).intents()) == {"a"}


def test_the_document_stays_that_of_the_request(tmp_path):
    document = tmp_path / "desired"
    document.write_bytes(b"old")
    run = Run(run_id="r2", kind="apply", generation=1, digest="d")
    folder = RunFolders(tmp_path).create(run, document)
    fresh = tmp_path / "fresh"
    fresh.write_bytes(b"new")
    fresh.replace(document)
    assert folder.document.read_bytes() == b"old"
    assert folder.request() == run


@pytest.mark.parametrize("run_id", ["../../etc/passwd", "", ".hidden", "a/b", "x" * 300, "a\0b", "-rf", "a\n"])
def test_an_odd_run_id_becomes_no_path(run_id):
    name = folder_name(run_id)
    assert name.startswith("sha256-")
    assert "/" not in name


def test_a_plain_run_id_names_its_folder():
    assert folder_name("20261121-web1.example.com-01") == "20261121-web1.example.com-01"
