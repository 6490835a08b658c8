"""What all tests share: those that change the machine run only where somebody asked for it."""

import gc
import os

import pytest
import structlog
from hypothesis import HealthCheck, settings

settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")  # no test passes or fails by time

LONG = ("e2e", "scenarios", "examples")
"""Folders of tests whose files take longest."""

# Tracebacks as structlog shows them where rich is there, with the values of all variables, take seconds each.
_SHOWN = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
structlog.configure(processors=[*structlog.get_config()["processors"][:-1], _SHOWN])


def pytest_addoption(parser):
    parser.addoption(
        "--rewrite", action="store_true", help="write what comes out into tests/golden (then read the diff)"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol():
    """Commands that run in the tests' own process set its umask, as they may: the next test has the one before."""
    before = os.umask(0o022)
    os.umask(before)
    try:
        return (yield)
    finally:
        os.umask(before)


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays: Python need not look through it for garbage, neither meanwhile nor in the tests."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(config, items):
    # Files of long tests first: the last one that a process of several begins, the others wait for.
    tests = config.rootpath / "tests"
    items.sort(key=lambda item: not any(item.path.is_relative_to(tests / folder) for folder in LONG))
    if os.environ.get("SALTERN_E2E") and os.geteuid() == 0:
        return
    reason = "changes this machine (packages, users, services) or a root of its own: run `make e2e` as root"
    for item in items:
        if item.get_closest_marker("e2e") or item.get_closest_marker("fresh_root"):
            item.add_marker(pytest.mark.skip(reason=reason))
