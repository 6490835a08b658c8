"""Write the table of Salt's options that are none here into docs/configuration.md, from `minion.config.salt_options`.

.venv/bin/python -m tools.docs.salt_options_table
"""

from __future__ import annotations

from pathlib import Path

from minion.config.salt_options import LACKING, NEEDLESS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
BEGIN = "<!-- options of Salt: written by python -m tools.docs.salt_options_table -->\n"
END = "<!-- end of options of Salt -->\n"


def main() -> None:
    """Write the table."""
    PAGE.write_text(with_table(PAGE.read_text()))


def with_table(text: str) -> str:
    """The page with the table as the code has it."""
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return before + BEGIN + table() + END + after


def table() -> str:
    """The rows, one a reason."""
    rows = [
        f"| {what} | {reason} | {' '.join(f'`{name}`' for name in sorted(names.split()))} |\n"
        for what, entries in (("accepted", NEEDLESS), ("not built", LACKING))
        for reason, names in entries
    ]
    return "| | Why | Options |\n|---|---|---|\n" + "".join(rows)


if __name__ == "__main__":
    main()
