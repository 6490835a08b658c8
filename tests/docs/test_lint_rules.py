"""The table of rules in docs/commands.md is that of the rules."""

from tools.docs.lint_rules_table import BEGIN, END, PAGE, with_table


def test_the_table_of_rules_is_that_of_the_code():
    text = PAGE.read_text()
    assert BEGIN in text
    assert END in text
    assert text == with_table(text), "run: .venv/bin/python -m tools.docs.lint_rules_table"
