"""Writes ops/grafana/dashboards: `python -m tools.grafana`."""

from __future__ import annotations

import json
from pathlib import Path

from tools.grafana.dashboards import DASHBOARDS
from tools.grafana.panel import Dashboard, as_json

FOLDER = Path(__file__).parents[2] / "ops" / "grafana" / "dashboards"


def text_of(dashboard: Dashboard) -> str:
    """What is in the file of a dashboard."""
    return json.dumps(as_json(dashboard), indent=1, ensure_ascii=False) + "\n"


def main() -> None:
    """Write all of them."""
    for name, dashboard in DASHBOARDS.items():
        (FOLDER / f"{name}.json").write_text(text_of(dashboard), encoding="utf-8")


if __name__ == "__main__":
    main()
