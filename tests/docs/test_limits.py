"""docs/security.md has the limits that the code has."""

from tools.docs.limits_table import PAGE, with_table


def test_the_table_is_the_codes():
    text = PAGE.read_text()
    assert text == with_table(text), "run: .venv/bin/python -m tools.docs.limits_table"
