from __future__ import annotations

from pathlib import Path

import pytest

from minion.worker.results import fitting
from wire.codec import decode_to_controller, encode
from wire.limits import MinionLimits
from wire.messages import RunResult


def result(**fields):
    return RunResult(**{"run_id": "r", "kind": "apply", "generation": 1, "digest": "d", "outcome": "changed", **fields})


def state(diff, comment="File updated"):
    return {"result": True, "changes": {"diff": diff}, "comment": comment}


def test_a_small_result_is_left_alone():
    small = result(states={"a": state("-x\n+y")})
    assert fitting(small) == small


def test_the_largest_diffs_go_first():
    given = result(states={"big": state("x" * 20_000_000), "small": state("y" * 1000)})
    cut = fitting(given)
    assert len(encode(cut)) <= MinionLimits().result_message_bytes
    assert decode_to_controller(encode(cut)) == cut
    assert "more cut: the result was too large" in cut.states["big"]["changes"]["diff"]
    assert cut.states["small"] == given.states["small"]
    assert cut.outcome == "changed"


def test_nothing_is_cut_of_five_thousand_states():
    given = result(states={f"file_|-{n}_|-/etc/{n}_|-managed": state("x" * 200, "c" * 200) for n in range(5000)})
    assert fitting(given) == given


@pytest.mark.parametrize("limit", [100_000, 20_000, 2_000, 300])
def test_always_fits(limit):
    states = {f"k{n}": state({f"p{i}": "z" * 50 for i in range(20)}, "c" * 700) for n in range(50)}
    assert len(encode(fitting(result(states=states), limit=limit))) <= limit


def test_a_returned_value_is_made_plain():
    value = {"set": {1}, "path": Path("/x"), "bytes": b"\xff", 3: (1, 2)}
    assert fitting(result(value=value)).value == {"set": [1], "path": "/x", "bytes": b"\xff", 3: (1, 2)}


def test_a_value_that_cannot_be_sent_is_an_error():
    loop: list[object] = []
    loop.append(loop)
    for value in (2**70, loop):
        found = fitting(result(value=value))
        assert found.outcome == "error"
        assert "cannot be sent" in found.error
