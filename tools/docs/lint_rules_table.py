"""Write the table of the rules of `saltern lint` into docs/commands.md, from the rules themselves.

.venv/bin/python -m tools.docs.lint_rules_table
"""

from __future__ import annotations

from pathlib import Path

from highstate.lint import RULES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
BEGIN = "<!-- rules: written by python -m tools.docs.lint_rules_table -->\n"
END = "<!-- end of rules -->\n"


def main() -> None:
    """Write the table."""
    PAGE.write_text(with_table(PAGE.read_text()))


def with_table(text: str) -> str:
    """The page with the table as the code has it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    rows = "".join(f"| `{name}` | {rule.severity.value} | {rule.summary} |\n" for name, rule in RULES.items())
    return f"{before}{BEGIN}| Rule | Severity | What it finds |\n|---|---|---|\n{rows}{END}{after}"


if __name__ == "__main__":
    main()
