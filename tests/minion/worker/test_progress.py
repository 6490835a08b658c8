import os

from minion.worker.progress import INTERVAL, UNCHANGED_INTERVAL, ProgressReporter, ProgressSlot, Reached
from wire.messages import RunProgress


def test_what_a_child_writes_last_is_what_its_parent_reads():
    slot = ProgressSlot()
    assert slot.read() is None
    child = os.fork()
    if not child:
        for number in range(2000):
            slot.write("test_|-ä\n_|-ä_|-nop", number, 2000)
        os._exit(0)
    os.waitpid(child, 0)
    assert slot.read() == Reached(1999, 2000, "test_|-ä\n_|-ä_|-nop")


def test_a_key_of_any_length_fits():
    slot = ProgressSlot()
    slot.write("\U0001f980" * 100_000, 2**31, 2**31)
    slot.write("short", 2, 3)
    assert slot.read() == Reached(2, 3, "short")
    slot.write("\U0001f980" * 100_000, 2**31, 2**31)
    reached = slot.read()
    assert reached is not None
    assert set(reached.key) == {"\U0001f980"}


def test_what_is_half_written_counts_as_nothing():
    slot = ProgressSlot()
    slot.write("a", 1, 2)
    slot._memory[7:8] = b"\xff"
    assert slot.read() is None


def test_however_many_states_there_are_little_is_said():
    slot = ProgressSlot()
    on_result = ProgressReporter(slot, 100.0)
    said = []
    for number in range(1000):
        slot.write("k", number, 1000)
        now = 100.0 + number / 100
        said += [due_message for due_message in [on_result.due_message("r", now)] if due_message is not None]
    assert len(said) == 9
    assert said[0] == RunProgress(run_id="r", done=100, total=1000, key="k", seconds=1.0)


def test_a_state_that_takes_long_is_said_again():
    slot = ProgressSlot()
    on_result = ProgressReporter(slot, 0.0)
    slot.write("k", 1, 2)
    times = [now for now in range(60) if on_result.due_message("r", float(now)) is not None]
    assert times == [1, 11, 21, 31, 41, 51]
    assert (INTERVAL, UNCHANGED_INTERVAL) == (1.0, 10.0)
