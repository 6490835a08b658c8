"""The table at the end of `make salt-tests`: what passed, what failed and why, what was left out and why.

A pytest plugin, loaded by `tools.oracle.salts_tests` with `-p result_table`. A failure is also printed when it happens,
since the whole takes about an hour. `left_out.yaml` says which tests are not run, each with its reason; a key that
fits no test of a file that was collected is an error, so that the list does not outlive its reasons.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

_MARK = "left out: "
_FUNCTIONAL = "tests/pytests/functional/"


class ResultTable:
    """Gathers the results of the run."""

    def __init__(self, left_out: dict[str, str]) -> None:
        self.reasons = left_out
        self.unused: list[str] = []
        self.results: dict[str, tuple[str, str]] = {}
        """Name of a test -> (`passed`, `failed`, `left out` or `skipped`, why)."""

    def pytest_collection_modifyitems(self, items: Sequence[pytest.Item]) -> None:
        """Mark what is left out; find the keys that fit nothing."""
        used = set()
        files = set()
        for item in items:
            name = short_name(item.nodeid)
            files.add(name.partition("::")[0])
            for key in (name, name.partition("[")[0]):
                if key in self.reasons:
                    used.add(key)
                    item.add_marker(pytest.mark.skip(reason=_MARK + self.reasons[key]))
                    break
        self.unused = [key for key in self.reasons if key.partition("::")[0] in files and key not in used]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note one result; a failure is shown at once."""
        name = short_name(report.nodeid)
        if report.failed:
            self.results[name] = ("failed", _cause(report))
            print(f"\nFAILED {name}: {_cause(report)}\n{report.longreprtext[-3000:]}", flush=True)  # noqa: T201  (a table of a run of an hour)
        elif report.skipped:
            reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
            reason = reason.removeprefix("Skipped: ")
            state = "left out" if reason.startswith(_MARK) else "skipped"
            self.results.setdefault(name, (state, reason.removeprefix(_MARK)))
        elif report.when == "call":
            self.results.setdefault(name, ("passed", ""))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """A reason that nothing needs fails the run."""
        if self.unused:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Print the table."""
        terminalreporter.section("Salt's own tests by Saltern")
        for line in self.lines():
            terminalreporter.write_line(line)

    def lines(self) -> list[str]:
        """The table as text."""
        counted = Counter(state for state, _ in self.results.values())
        states = ("passed", "failed", "left out", "skipped")
        lines = [f"{state:<9} {counted[state]:>4}" for state in states]
        lines[-1] += "  by a condition of Salt's test (another system, a program or a library that is not here)"
        for state in ("failed", "left out"):
            found = [(name, why) for name, (one, why) in sorted(self.results.items()) if one == state]
            if found:
                lines += ["", f"{state}:", *(f"  {name}: {why}" for name, why in found)]
        skips = Counter(why for state, why in self.results.values() if state == "skipped")
        if skips:
            lines += ["", "skipped:", *(f"  {count:>4}  {why}" for why, count in skips.most_common())]
        if self.unused:
            lines += ["", "left_out.yaml names tests that are not there:", *(f"  {key}" for key in self.unused)]
        return lines


def short_name(nodeid: str) -> str:
    """A test's name below the folder of functional tests."""
    return nodeid.rpartition(_FUNCTIONAL)[2]


def _cause(report: pytest.TestReport) -> str:
    """The line on which the test failed, in one line."""
    crash = getattr(report.longrepr, "reprcrash", None)
    message = crash.message if crash else report.longreprtext
    return " ".join(message.split())[:300]


def pytest_configure(config: pytest.Config) -> None:
    """Join the run."""
    text = Path(__file__).with_name("left_out.yaml").read_text(encoding="utf-8")
    config.pluginmanager.register(ResultTable(yaml.safe_load(text) or {}), "saltern-result-table")
