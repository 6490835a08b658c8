"""A relay is killed again and again while jobs are asked without a pause: each is done once by each, and is told so."""

import threading
import time

import pytest
from effort import FULL
from ledger import Ledger, add_module

KILLS = 8 if FULL else 3


@pytest.mark.timeout(600)
def test_a_relay_is_killed_under_load(relayed):
    rig = relayed.rig
    add_module(rig)
    rig.wait_applied(rig.push("first"))
    ledger = Ledger(rig)
    jobs, over = [], threading.Event()

    def ask():
        while not over.is_set():
            jobs.append(ledger.ask(seconds=0.3))

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        for number in range(KILLS):
            begun = len(jobs)
            rig.wait("jobs to be asked", lambda begun=begun: len(jobs) >= begun + 2)
            rig.kill("relay", children=True)
            time.sleep(0.3 * number)
            relayed.start()
            rig.wait("all to be back", ledger.all_connected)
    finally:
        over.set()
        asking.join()
    came_to = ledger.reconcile_all(jobs)
    assert set(came_to) <= {"ok", "unreachable"}
    assert came_to["ok"] > len(jobs) / 2, "many were done between the kills"
