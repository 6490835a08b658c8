"""Signals in processes of their own: what they end, and when."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

STOPS = """
import subprocess, sys, time
from minion.worker.termination import Stop

stop = Stop(float(sys.argv[1]), has_agent=sys.argv[2] == "agent")
stop.runs_states = sys.argv[3] == "states"
stop.install()
print("ready", flush=True)
started = time.monotonic()
if sys.argv[4] == "command":
    subprocess.run(["sleep", "60"])
else:
    stop.sleep(60)
print(stop.requested(), stop.suspended(), round(time.monotonic() - started), flush=True)
"""


def ended(number, *, grace=0.0, agent=False, states=False, command=False):
    words = [str(grace), "agent" if agent else "none", "states" if states else "call", "command" if command else "wait"]
    process = subprocess.Popen([sys.executable, "-c", STOPS, *words], stdout=subprocess.PIPE, text=True)
    with process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.1)
        process.send_signal(number)
        said, _ = process.communicate(timeout=30)
    requested, suspended, seconds = said.split()
    return requested == "True", suspended == "True", int(seconds)


@pytest.mark.parametrize(("number", "suspended"), [(signal.SIGTERM, False), (signal.SIGHUP, True)])
def test_a_worker_ends_or_suspends(number, suspended):
    assert ended(number, agent=True) == (True, suspended, 0)


def test_a_call_without_an_agent_is_never_suspended():
    assert ended(signal.SIGTERM) == (True, False, 0)


def test_commands_are_ended_at_once_for_a_function_and_after_the_grace_for_states():
    assert ended(signal.SIGTERM, grace=2.0, command=True)[2] <= 1
    assert ended(signal.SIGTERM, grace=2.0, command=True, states=True)[2] >= 2
