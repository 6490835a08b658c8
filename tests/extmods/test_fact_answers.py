"""Which functions a machine answers to templates, and what its answers may be."""

from __future__ import annotations

import pytest

from extmods.fact_answers import LOOKERS, answer, may_ask
from minion.execution import Context, Modules
from wire.messages import FactQuery

WHICH = FactQuery(fun="cmd.which", asked='[["sh"], {}]')


def functions(tmp_path):
    return Modules(Context(minion_id="web1", cachedir=str(tmp_path)))


def test_functions_that_change_something_are_not_among_those_that_look():
    for fun in ("cmd.run", "cmd.shell", "file.remove", "file.write", "file.read", "state.apply", "service.restart"):
        assert fun not in LOOKERS
        assert not may_ask(fun)
    assert may_ask("cmd.run", ["cmd.run"])
    assert may_ask("postgres.version", ["postgres.*"])


@pytest.mark.parametrize(
    ("fun", "asked", "error"),
    [
        ("cmd.run", '[["touch MARK"], {}]', "not among the functions"),
        ("test.fib", "[[], {}]", "not among"),
        ("cmd.which", "[[], {}]", "failed there: Passed invalid arguments"),
        ("cmd.which", "no json", "failed there"),
        ("timezone.get_zonecode", '[["x", "y", "z"], {}]', "failed there"),
    ],
)
def test_what_is_not_answered(tmp_path, fun, asked, error):
    mark = tmp_path / "mark"
    given = answer(FactQuery(fun=fun, asked=asked.replace("MARK", str(mark))), (), functions(tmp_path))
    assert error in given.error
    assert not mark.exists()


class Strange:
    """Functions that give what no template can have."""

    def call(self, fun, args=(), kwargs=None):
        return {"cmd.which": object(), "file.stats": "x" * 100_000, "sys.list_functions": 2**70}[fun]


def test_answers_are_plain_data_of_a_bounded_size(tmp_path):
    assert answer(WHICH, (), functions(tmp_path)).value.endswith("/sh")
    for fun, why in (("cmd.which", "no plain data"), ("file.stats", "more than"), ("sys.list_functions", "no plain")):
        given = answer(FactQuery(fun=fun, asked="[[], {}]"), (), Strange())
        assert why in given.error
        assert given.value is None
