"""What all tests share: those that change the machine run only where somebody asked for it."""

import os

import pytest
import structlog
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # no test passes or fails by time

# Tracebacks as structlog shows them where rich is there, with the values of all variables, take seconds each.
_SHOWN = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*structlog.get_config()["processors"][:-1], _SHOWN])


def pytest_addoption(parser):
    parser.addoption(
        "--rewrite", action="store_true", help="write what comes out into tests/golden (then read the diff)"
    )


def pytest_collection_modifyitems(items):
    if os.environ.get("SALTERN_E2E") and os.geteuid() == 0:
        return
    reason = "changes this machine (packages, users, services) or a root of its own: run `make e2e` as root"
    for item in items:
        if item.get_closest_marker("e2e") or item.get_closest_marker("fresh_root"):
            item.add_marker(pytest.mark.skip(reason=reason))
