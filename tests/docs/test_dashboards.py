"""The files of ops/grafana are what tools/grafana makes, and ask for what there is."""

from __future__ import annotations

import json

import pytest
import yaml

from tools.grafana.__main__ import FOLDER, text_of
from tools.grafana.dashboards import DASHBOARDS

PANELS = [(name, panel) for name, dashboard in DASHBOARDS.items() for panel in dashboard.panels]


@pytest.mark.parametrize("name", DASHBOARDS)
def test_files_are_what_is_made(name):
    assert (FOLDER / f"{name}.json").read_text(encoding="utf-8") == text_of(DASHBOARDS[name]), (
        "python -m tools.grafana writes them"
    )


def test_there_is_no_other_file():
    assert {path.stem for path in FOLDER.iterdir()} == set(DASHBOARDS)


@pytest.mark.parametrize("name", DASHBOARDS)
def test_panels_lie_beside_each_other(name):
    """No two in one place, none beyond the right edge; each with an id of its own."""
    panels = json.loads(text_of(DASHBOARDS[name]))["panels"]
    taken: dict[tuple[int, int], str] = {}
    for panel in panels:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert taken.setdefault((x, y), panel["title"]) == panel["title"]
    assert len({panel["id"] for panel in panels}) == len(panels)


def test_each_panel_says_what_it_shows():
    for name, panel in PANELS:
        assert panel.text.endswith((".", "list", "MINION", "fleet", "-v", "wait", "show")), f"{name}: {panel.title}"
        assert panel.queries


def test_the_page_names_the_dashboards(pages, rows):
    table = rows(pages["docs/metrics.md"].section("Dashboards"))
    assert [row[0] for row in table] == [
        f"[{each.title}](../ops/grafana/dashboards/{name}.json)" for name, each in DASHBOARDS.items()
    ]


def test_provisioning_is_of_the_folder(root):
    provider = yaml.safe_load((root / "ops/grafana/provisioning/dashboards/saltern.yml").read_text())
    [source] = yaml.safe_load((root / "ops/grafana/provisioning/datasources/saltern.yml").read_text())["datasources"]
    assert provider["providers"][0]["options"]["path"].startswith("/var/lib/grafana/")
    assert source["type"] == "prometheus"
