"""What waits for returners: order, bounds, dedup, kill -9, and what a dead returner holds up."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from minion.returners.delivery import LONGEST_WAIT, deliver_built_in, deliver_next
from minion.returners.errors import EntryRefused, ReturnerError
from minion.returners.spool import Spool, SpoolBounds, Waiting

ROOT = Path(__file__).resolve().parents[3]


def entry(number, returner="r", kind="return", body=None):
    return Waiting(returner=returner, kind=kind, name=f"j{number}/web1", body=body or {"n": number})


def test_entries_keep_their_order_and_what_is_put_twice_waits_once(tmp_path):
    spool = Spool(tmp_path / "s" / "spool.sqlite")
    spool.put([entry(1), entry(2)], marks=[("m", 5.0)])
    spool.put([entry(1), entry(3, "other")])
    assert Spool(spool.path).mark("m") == 5.0
    got = []
    while deliver_next(spool, "r", lambda entries: got.extend(one.name for one in entries)) == 0:
        pass
    assert got == ["j1/web1", "j2/web1"]
    assert spool.waiting() == ["other"]
    assert (tmp_path / "s").stat().st_mode & 0o77 == 0


def test_a_returner_that_fails_is_tried_later_and_loses_nothing(tmp_path):
    spool = Spool(tmp_path / "spool.sqlite")
    spool.put([entry(1), entry(2)])

    def fails(entries):
        raise ReturnerError("it is dead")

    waits = [deliver_next(spool, "r", fails) for _ in range(12)]
    assert waits[:4] == [1, 2, 4, 8]
    assert waits[-1] == LONGEST_WAIT
    [state] = spool.states()
    assert (state.waiting, state.failures, state.error) == (2, 12, "ReturnerError: it is dead")
    assert deliver_next(spool, "r", lambda entries: None) == 0
    [state] = spool.states()
    assert (state.waiting, state.failures, state.error, state.delivered) == (1, 0, "", 1)


def test_events_are_delivered_together_and_one_that_is_refused_holds_up_none(tmp_path):
    spool = Spool(tmp_path / "spool.sqlite")
    spool.put([entry(number, kind="event") for number in range(5)])
    got = []

    def refuses_two(entries):
        if any(one.body["n"] == 2 for one in entries):
            raise EntryRefused("400")
        got.extend(one.body["n"] for one in entries)

    while deliver_next(spool, "r", refuses_two) == 0:
        pass
    assert got == [0, 1, 3, 4]
    [state] = spool.states()
    assert (state.waiting, state.dropped, state.error) == (0, 1, "event j2/web1 was refused: 400")


@pytest.mark.parametrize("bounds", [SpoolBounds(entries=3), SpoolBounds(size=30)])
def test_a_full_spool_drops_the_oldest_of_the_largest_queue_and_counts_them(tmp_path, bounds):
    spool = Spool(tmp_path / "spool.sqlite", bounds)
    spool.put([entry(0, "small")])
    spool.put([entry(number) for number in range(1, 7)])
    states = {state.returner: state for state in spool.states()}
    assert (states["small"].waiting, states["small"].dropped) == (1, 0)
    assert (states["r"].waiting, states["r"].dropped) == (2, 4)
    assert [one.body["n"] for one in spool.first("r", 10)] == [5, 6]


def test_kill_9_at_any_time_loses_nothing_that_was_put(tmp_path):
    """A process puts entries and says which are on disk; killed, they are there, in order and whole."""
    script = (
        "import sys\nfrom pathlib import Path\nfrom minion.returners.spool import Spool, Waiting\n"
        "spool = Spool(Path(sys.argv[1]))\nn = int(sys.argv[2])\n"
        "while True:\n    n += 1\n"
        "    spool.put([Waiting(returner='r', kind='return', name=str(n), body={'n': n})])\n"
        "    print(n, flush=True)\n"
    )
    path, last = tmp_path / "spool.sqlite", 0
    for stop_after in (1, 5, 9):
        process = subprocess.Popen(
            [sys.executable, "-c", script, str(path), str(last)],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        for _ in range(stop_after):
            last = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        for line in process.stdout:
            last = int(line)
        process.wait()
        process.stdout.close()
        found = [one.body["n"] for one in Spool(path).first("r", 1000)]
        assert found[:last] == list(range(1, last + 1))
        last = found[-1]


def test_what_was_delivered_when_the_process_was_killed_is_there_once(tmp_path, postgres_server):
    """kill -9 after the store has it and before the spool forgets it: it is delivered again, and the store has one."""
    import psycopg

    spool = Spool(tmp_path / "spool.sqlite")
    ret = {"jid": "1", "id": "web1", "fun": "test.ping", "return": True}
    spool.put([Waiting(returner="pgjsonb", kind="return", name="1/web1", body=ret)])
    child = os.fork()
    if child == 0:
        deliver_built_in(postgres_server, spool.first("pgjsonb"))
        os.kill(os.getpid(), signal.SIGKILL)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
    assert spool.waiting() == ["pgjsonb"]
    assert deliver_next(spool, "pgjsonb", lambda entries: deliver_built_in(postgres_server, entries)) == 0
    assert spool.waiting() == []
    with psycopg.connect(host=postgres_server["host"], user="salt", dbname="salt") as connection:
        assert connection.execute("SELECT count(*) FROM salt_returns").fetchone() == (1,)
