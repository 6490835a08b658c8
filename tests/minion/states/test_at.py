"""at: jobs in the queue of the machine's own at(1), each with a tag of this test; nothing runs them here."""

import os
import shutil
import subprocess
import uuid
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine
from minion.providers import at
from minion.providers.at import AtJob, fitting

WHEN = "12:34 2099-11-05"
USER = "_apt"
"""Somebody whom /etc/at.deny does not name."""


@pytest.fixture
def tag():
    """A tag that no other job has; jobs with it are gone afterwards."""
    if shutil.which("at") is None or os.geteuid() != 0:
        pytest.skip("needs root, and Debian's at")
    word = f"case{uuid.uuid4().hex}"
    yield word
    Modules(Context(minion_id="m")).call("at.atrm", ("all", word))


def applied(*chunks, test=False):
    """The results of states of one run."""
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({})), test=test)
    made = {
        f"k{place}": Chunk(state="at", fun=fun, id=f"k{place}", name=name, sls="s", arguments=arguments)
        for place, (fun, name, arguments) in enumerate(chunks)
    }
    return list(run(made, engine, test=test, clock=lambda: 0.0).values())


def call(fun, *args, **given):
    return Modules(Context(minion_id="m")).call(f"at.{fun}", args, given)


def test_a_job_with_a_tag_of_its_own_is_added_once(tag):
    wanted = ("present", "echo once", {"timespec": WHEN, "tag": tag, "unique_tag": True})
    (foretold,) = applied(wanted, test=True)
    assert (foretold.result, foretold.comment) == (None, f"job echo once added and will run on {WHEN}")
    assert call("jobcheck", tag=tag)["jobs"] == []
    (added,) = applied(wanted)
    assert added.result is True, added.comment
    assert {key: added.changes[key] for key in ("date", "time", "queue", "user", "tag")} == {
        "date": "2099-11-05", "time": "12:34:00", "queue": "a", "user": "root", "tag": tag,
    }  # fmt: skip
    (again,) = applied(wanted)
    assert (again.result, again.changes, again.comment) == (True, {}, f"atleast one job with tag {tag} exists.")
    assert "\necho once\n" in call("atc", added.changes["job"])


def test_without_it_there_is_one_more_on_each_run(tag):
    for _ in range(2):
        (added,) = applied(("present", "x", {"timespec": WHEN, "tag": tag, "job": "echo each", "user": USER}))
        assert added.result is True, added.comment
        assert added.changes["user"] == USER
    assert len(call("atq", tag)["jobs"]) == 2


def test_jobs_are_removed_by_number_and_by_conditions(tag):
    numbers = [call("at", WHEN, "echo", "gone", tag=tag)["jobs"][0]["job"] for _ in range(3)]
    wanted = ("absent", "x", {"jobid": numbers[0]})
    (foretold,) = applied(wanted, test=True)
    (removed,) = applied(wanted)
    assert foretold.changes == removed.changes == {"removed": [str(numbers[0])]}
    assert removed.comment == f"job with id {numbers[0]} was removed"
    assert applied(wanted)[0].comment == f"job with id {numbers[0]} not present"
    wanted = ("absent", "x", {"tag": tag, "hour": 12, "day": "5", "year": 98, "runas": "root"})
    assert applied(wanted)[0].changes == {}  # it is of 2099
    wanted[2]["year"] = 2099
    foretold, _ = applied(wanted, wanted, test=True)
    assert foretold.changes == {"removed": [str(number) for number in numbers[1:]]}
    (removed,) = applied(wanted)
    assert (removed.changes, removed.comment) == (foretold.changes, "removed 2 job(s)")


def test_what_at_does_not_take_fails(tag):
    (foretold,) = applied(("present", "x", {"timespec": "-f /etc/shadow", "tag": tag}), test=True)
    assert (foretold.result, foretold.comment) == (False, "invalid timespec")
    assert applied(("present", "x", {"timespec": "half past never", "tag": tag}))[0].comment == "invalid timespec"
    assert applied(("present", "x", {"timespec": WHEN, "user": "nobody-of-this-name"}))[0].result is False
    assert "unique_tag" in applied(("present", "x", {"timespec": WHEN, "unique_tag": True}))[0].comment
    assert "limit" in applied(("absent", "x", {"limit": "all"}))[0].comment
    with pytest.raises(CallFailed, match="one word"):
        call("at", WHEN, "true", tag=f"{tag} two")


def test_a_watch_adds_its_job_when_something_has_changed(tag):
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({})))
    arguments = {"timespec": WHEN, "tag": tag, "job": "echo watched", "watch": [{"test": "changed"}]}
    chunks = {
        "a": Chunk(state="test", fun="succeed_with_changes", id="changed", name="changed", sls="s", arguments={}),
        "b": Chunk(state="at", fun="watch", id="b", name="b", sls="s", arguments=arguments),
    }
    assert run(chunks, engine, test=False, clock=lambda: 0.0)["b"].changes["tag"] == tag
    assert applied(("watch", "b", {"timespec": WHEN}))[0].changes == {}
    assert subprocess.run(["atq"], capture_output=True, check=True).stdout


def test_the_spool_says_what_the_programs_say(tag, monkeypatch):
    call("at", WHEN, "echo", "one", tag=tag)
    subprocess.run(["at", "-q", "z", "now + 3 days"], input=f"### SALT: {tag}\n### SALT: no", text=True, check=True)
    applied(("present", "x", {"timespec": WHEN, "tag": tag, "user": USER}))
    spool = next(Path(each) for each in at._SPOOLS if Path(each).exists())
    unfinished = spool / "a0ffff01ffffff"  # as at leaves it until the job is whole
    unfinished.write_text(f"### SALT: {tag}")
    unfinished.chmod(0o600)
    try:
        read = at.jobs(LocalMachine(sources_port=MemoryFiles({})))
    finally:
        unfinished.unlink()
    assert {(job.queue, job.user, job.tag) for job in read} >= {
        ("a", "root", tag),
        ("z", "root", tag),
        ("a", USER, tag),
    }
    monkeypatch.setattr(at, "_SPOOLS", ())
    assert read == at.jobs(LocalMachine(sources_port=MemoryFiles({})))


def test_conditions_are_of_numbers_as_they_are_written():
    job = AtJob(1, "2099-01-02", "03:04:00", "a", "me", "x")
    assert fitting([job], hour="3", minute="04", month="1", day="2", year="2099") == [job]
    assert fitting([job], hour="4") == []
