"""What a dashboard shows, and how Grafana wants it written (https://grafana.com/docs/grafana/latest/dashboards/build-dashboards/view-dashboard-json-model)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

_WIDTH = 24
"""Columns of a dashboard."""
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}


@dataclass(frozen=True, slots=True)
class Query:
    """A line of a panel."""

    expr: str
    """PromQL; `$job` and `$instance` are the dashboard's variables."""
    legend: str = ""
    """Its name, with labels as `{{label}}`."""
    exemplars: bool = False
    """Whether the runs behind it are shown as points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One panel."""

    title: str
    text: str
    """What is to be seen there, and what to do about it."""
    queries: tuple[Query, ...]
    kind: Literal["timeseries", "stat", "table"] = "timeseries"
    unit: str = "short"
    width: int = 8
    """Of 24 columns."""
    height: int = 8
    red_from: float | None = None
    """Value from which it is red."""
    red_below: float | None = None
    """Value below which it is red."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dashboard:
    """One dashboard: rows of panels under headings."""

    uid: str
    title: str
    text: str
    rows: tuple[tuple[str, tuple[Panel, ...]], ...]
    variables: dict[str, str] = field(default_factory=dict)
    """Name -> query of its values."""

    @property
    def panels(self) -> Iterator[Panel]:
        """All of them."""
        for _, panels in self.rows:
            yield from panels


def as_json(dashboard: Dashboard) -> dict[str, Any]:
    """The dashboard as Grafana reads it."""
    source = {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"}
    return {
        "uid": dashboard.uid,
        "title": dashboard.title,
        "description": dashboard.text,
        "tags": ["saltern"],
        "schemaVersion": 39,
        "version": 1,
        "editable": True,
        "graphTooltip": 1,
        "refresh": "30s",
        "time": {"from": "now-6h", "to": "now"},
        "timezone": "browser",
        "templating": {"list": [source, *(_variable(*each) for each in dashboard.variables.items())]},
        "links": [
            {"title": "Saltern", "type": "dashboards", "tags": ["saltern"], "asDropdown": True, "keepTime": True}
        ],
        "annotations": {"list": [_ALERTS]},
        "panels": list(_placed(dashboard)),
    }


_ALERTS = {
    "name": "Alerts",
    "datasource": _SOURCE,
    "enable": True,
    "iconColor": "red",
    "expr": 'ALERTS{alertname=~"Saltern.+",alertstate="firing"}',
    "titleFormat": "{{alertname}}",
    "textFormat": "{{severity}}",
}


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _SOURCE,
        "query": {"query": query, "refId": name},
        "refresh": 2,
        "sort": 1,
        "multi": True,
        "includeAll": True,
        "current": {"text": ["All"], "value": ["$__all"]},
    }


def _placed(dashboard: Dashboard) -> Iterator[dict[str, Any]]:
    """Panels with their places, from left to right; a new line where one does not fit any more."""
    number = y = 0
    for heading, panels in dashboard.rows:
        number += 1
        yield _heading(number, heading, y)
        x, y, tallest = 0, y + 1, 0
        for panel in panels:
            number += 1
            if x + panel.width > _WIDTH:
                x, y, tallest = 0, y + tallest, 0
            yield _panel(number, panel, x, y)
            x, tallest = x + panel.width, max(tallest, panel.height)
        y += tallest


def _heading(number: int, title: str, y: int) -> dict[str, Any]:
    place = {"x": 0, "y": y, "w": _WIDTH, "h": 1}
    return {"id": number, "type": "row", "title": title, "collapsed": False, "gridPos": place, "panels": []}


def _panel(number: int, panel: Panel, x: int, y: int) -> dict[str, Any]:
    return {
        "id": number,
        "type": panel.kind,
        "title": panel.title,
        "description": panel.text,
        "datasource": _SOURCE,
        "gridPos": {"x": x, "y": y, "w": panel.width, "h": panel.height},
        "fieldConfig": {"defaults": {"unit": panel.unit, "min": 0, **_colours(panel)}, "overrides": []},
        "options": _OPTIONS[panel.kind],
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": _SOURCE,
                "expr": query.expr,
                "legendFormat": query.legend or "__auto",
                "exemplar": query.exemplars,
                "instant": panel.kind != "timeseries",
                "range": panel.kind == "timeseries",
                "format": "table" if panel.kind == "table" else "time_series",
            }
            for place, query in enumerate(panel.queries)
        ],
    }


_OPTIONS: dict[str, dict[str, Any]] = {
    "timeseries": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi"}},
    "stat": {"reduceOptions": {"calcs": ["lastNotNull"]}, "colorMode": "background", "textMode": "value_and_name"},
    "table": {"showHeader": True, "cellHeight": "sm"},
}


def _colours(panel: Panel) -> dict[str, Any]:
    if panel.red_from is None and panel.red_below is None:
        return {"color": {"mode": "palette-classic"}}
    steps = [{"color": "green", "value": None}, {"color": "red", "value": panel.red_from}]
    if panel.red_below is not None:
        steps = [{"color": "red", "value": None}, {"color": "green", "value": panel.red_below}]
    return {"color": {"mode": "thresholds"}, "thresholds": {"mode": "absolute", "steps": steps}}
