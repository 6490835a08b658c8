"""docs/states.md names every state function, and there is a case of each or a reason why there is none."""

from minion.engine.registry import find, names
from minion.engine.unsupported import UNSUPPORTED
from tools.docs.state_cases import CASES, WITHOUT
from tools.docs.states_table import PAGE, page, rows_of
from tools.oracle.states import CASES as GOLDEN


def test_every_state_function_has_a_case_or_a_reason():
    assert sorted({case.fun for case in CASES} | set(WITHOUT)) == names()
    assert not {case.fun for case in CASES} & set(WITHOUT)


def test_the_page_has_a_row_of_each_and_nothing_fails():
    rows = rows_of(PAGE.read_text())
    assert sorted(rows) == names()
    assert not [fun for fun, cells in rows.items() if "no" in cells.split(" | ")]


def test_rows_of_functions_that_are_not_run_stay():
    assert page([], rows_of(PAGE.read_text())) == PAGE.read_text(), "run: python -m tools.docs.states_table --arguments"


def test_the_page_lists_what_is_refused():
    text = PAGE.read_text()
    for fun in names():
        spec = find(*fun.split("."), "").spec
        assert all(f"| `{fun}` | `{one}` | {why} |" in text for one, why in {**spec.ignored, **spec.refused}.items())
    assert all(f"| `{fun}` | {instead} |" in text for fun, instead in UNSUPPORTED.items())
    assert not set(UNSUPPORTED) & set(names())
    assert list(GOLDEN.glob("*.yaml"))
