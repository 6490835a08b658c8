"""Results of tests as saltcheck returns them: a list that ends with the counts, or JUnit's XML.

Called by `minion.modules.saltcheck.module`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

Results = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""SLS → test → its result."""

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def failures(results: Results) -> int:
    """How many tests failed."""
    return _count(results, "Fail")


def listed(results: Results, only_fails: bool) -> list[dict[str, Any]]:
    """A mapping for each SLS, in the order of their names, and the counts. `only_fails`: without the other tests."""
    counts = {
        "Execution Time": round(_seconds(results), 4),
        "Passed": _count(results, "Pass"),
        "Failed": failures(results),
        "Skipped": _count(results, "Skip"),
        "Missing Tests": sum(not tests for tests in results.values()),
    }
    shown = [_failed(name, tests) if only_fails else {name: dict(tests)} for name, tests in results.items()]
    return [*sorted(shown, key=sorted), {"TEST RESULTS": counts}]


def junit_xml(results: Results) -> str:
    """The same as a test suite of JUnit; an SLS without tests is a test case of the name missing_test."""
    cases = [case for tests in results.values() for case in (_cases(tests) if tests else [_MISSING])]
    seconds = f"time={quoteattr(str(_seconds(results)))}"
    counts = f'disabled="0" errors="0" failures="{failures(results)}"'
    suite = f'{counts} name="test_results" skipped="{_count(results, "Skip")}" tests="{len(cases)}" {seconds}'
    lines = [
        '<?xml version="1.0" ?>',
        f'<testsuites {counts} tests="{len(cases)}" {seconds}>',
        f"\t<testsuite {suite}>",
        *cases,
        "\t</testsuite>",
        "</testsuites>",
    ]
    return "\n".join(lines) + "\n"


_MISSING = '\t\t<testcase name="missing_test">\n\t\t\t<system-out>Test(s) Missing</system-out>\n\t\t</testcase>'


def _cases(tests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [_case(name, result) for name, result in sorted(tests.items())]


def _case(name: str, result: Mapping[str, Any]) -> str:
    duration = f' time="{result["duration"]:f}"' if result["duration"] else ""
    head = f"\t\t<testcase name={_quoted(name)}{duration}"
    status = result["status"]
    kind = "failure" if status.startswith("Fail") else "skipped" if status.startswith("Skip") else ""
    if not kind:
        return f"{head}/>"
    return f'{head}>\n\t\t\t<{kind} type="{kind}" message={_quoted(status)}/>\n\t\t</testcase>'


def _quoted(text: str) -> str:
    return quoteattr(_NOT_IN_XML.sub("?", text))


def _failed(name: str, tests: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    failed = {test: result for test, result in tests.items() if result["status"].startswith("Fail")}
    return {name: failed} if failed else {}


def _count(results: Results, status: str) -> int:
    return sum(result["status"].startswith(status) for tests in results.values() for result in tests.values())


def _seconds(results: Results) -> float:
    return float(sum(result["duration"] for tests in results.values() for result in tests.values()))
