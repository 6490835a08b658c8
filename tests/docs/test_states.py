"""docs/states.md names every state function, and there is a case of each or a reason why there is none."""

import re

from minion.engine.registry import names
from minion.engine.unsupported import IGNORED, REFUSED, UNSUPPORTED
from tools.docs.state_cases import CASES, WITHOUT
from tools.docs.states_table import PAGE
from tools.oracle.states import CASES as GOLDEN


def test_every_state_function_has_a_case_or_a_reason():
    assert sorted({case.fun for case in CASES} | set(WITHOUT)) == names()
    assert not {case.fun for case in CASES} & set(WITHOUT)


def test_the_page_has_a_row_of_each_and_nothing_fails():
    rows = dict(re.findall(r"^\| `([a-z_]+\.[a-z_]+)` \| (.*) \|$", PAGE.read_text().partition("\n## ")[0], re.M))
    assert sorted(rows) == names()
    assert not [fun for fun, cells in rows.items() if "no" in cells.split(" | ")]


def test_the_page_lists_what_is_refused():
    text = PAGE.read_text()
    for fun, given in REFUSED.items():
        assert all(f"| `{fun}` | `{argument}` | {instead} |" in text for argument, instead in given.items())
    assert all(f"| `{fun}` | {instead} |" in text for fun, instead in UNSUPPORTED.items())
    assert all(f"| `{fun}` | {', '.join(f'`{one}`' for one in given)} |" in text for fun, given in IGNORED.items())
    assert not set(UNSUPPORTED) & set(names())
    assert list(GOLDEN.glob("*.yaml"))
