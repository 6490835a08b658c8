from minion.execution.loader import names
from minion.execution.unsupported import NOT_BUILT
from tools.docs.modules_table import PAGE, page


def test_the_table_of_functions_is_current() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m tools.docs.modules_table"


def test_what_is_not_built_is_not_there() -> None:
    assert not set(NOT_BUILT) & set(names())
