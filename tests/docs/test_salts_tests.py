"""The page about Salt has every test that `make salt-tests` leaves out, with the same reason."""

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]


def test_what_is_left_out_stands_on_the_page() -> None:
    page = (ROOT / "docs/salt-compatibility.md").read_text(encoding="utf-8")
    listed = (ROOT / "tools/oracle/salts_tests/left_out.yaml").read_text(encoding="utf-8")
    rows = [f"| `{name}` | {reason} |" for name, reason in yaml.safe_load(listed).items()]
    assert [row for row in rows if row not in page] == []
    assert page.partition("## Salt's own tests")[2].count("\n| `") == len(rows)
