"""The dashboards of ops/grafana. Each query is run in tests/scenarios/test_observed.py, and has to find something."""

from __future__ import annotations

from tools.grafana.controller import CONTROLLER
from tools.grafana.fleet import FLEET
from tools.grafana.git import GIT
from tools.grafana.minions import MINIONS

DASHBOARDS = {"fleet": FLEET, "controller": CONTROLLER, "git": GIT, "minions": MINIONS}
"""Name of the file -> dashboard."""
