from modules_table import PAGE, page

from minion.modules.loader import names
from minion.modules.not_built import NOT_BUILT


def test_the_table_of_functions_is_current() -> None:
    assert PAGE.read_text() == page(), "run: .venv/bin/python -m ops.modules_table"


def test_what_is_not_built_is_not_there() -> None:
    assert not set(NOT_BUILT) & set(names())
