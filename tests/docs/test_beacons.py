"""docs/beacons.md names the beacons that there are."""

import re
from pathlib import Path

from minion.beacons.registry import MODULES

PAGE = Path(__file__).parents[2] / "docs/beacons.md"


def test_every_beacon_has_its_row() -> None:
    table = PAGE.read_text().partition("## The beacons")[2].partition("\n## ")[0]
    rows = [line.split("|")[1] for line in table.splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row)]
    assert sorted(named) == sorted(MODULES)
