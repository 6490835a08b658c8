"""One test of saltcheck: whether it is well formed, the call of its function, and what its assertions say.

Called by `minion.modules.saltcheck.module`. A test that cannot be run fails, so that the others are run.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.modules.saltcheck.assertions import ASSERTIONS, PASSED, cast

SETUP = "saltcheck.state_apply"
"""The function of tests that prepare what others look at: it needs no assertion."""

_RUNNERS = ("saltcheck.run_state_tests", "saltcheck.run_highstate_tests", "saltcheck.report_highstate_tests")

_log = logging.getLogger(__name__)


def run_one(context: Context, test: Any, name: str = "") -> dict[str, Any]:
    """Run a test of this name; its status, its duration in seconds, and details when it asks for them."""
    began = time.monotonic()
    functions = Modules(context).as_functions(language=True)
    fault = _fault(test, functions)
    if fault:
        _log.error("event=saltcheck_test_invalid test=%r reason=%r", name, fault)
        result = {"status": "Fail - invalid test"}
    elif test.get("skip", False):
        return {"status": "Skip", "duration": 0.0}
    else:
        result = _tried(context, test, functions)
    return {**result, "duration": round(time.monotonic() - began, 4)}


def _fault(test: Any, functions: Mapping[str, Any]) -> str:
    """Why a test cannot be run; empty when it can."""
    if not isinstance(test, Mapping):
        return "a test is a mapping with module_and_function and an assertion"
    fun = test.get("module_and_function")
    if not isinstance(fun, str) or fun not in functions:
        return f"module_and_function is no function of this minion: {fun!r}"
    if fun in _RUNNERS:
        return f"{fun} cannot be called by a test: it would run the test again"
    if not isinstance(test.get("args") or [], list) or not isinstance(test.get("kwargs") or {}, Mapping):
        return "args is a list, and kwargs a mapping"
    if not isinstance(_pillar_of(test) or {}, Mapping):
        return "pillar_data is a mapping"
    groups = _groups(test)
    if not isinstance(groups, list):
        return "assertions is a list of assertions"
    return "" if fun == SETUP else next(filter(None, map(_fault_of_assertion, groups)), "")


def _fault_of_assertion(group: Any) -> str:
    name = str(group.get("assertion") if isinstance(group, Mapping) else group)
    if not isinstance(group, Mapping) or name not in ASSERTIONS:
        return f"there is no assertion {name!r}; there are {', '.join(ASSERTIONS)}"
    if ASSERTIONS[name].expects and _expected(group) is None:
        return f"{name} needs expected_return"
    return ""


def _groups(test: Mapping[str, Any]) -> Any:
    return test.get("assertions") or [test]


def _expected(group: Mapping[str, Any]) -> Any:
    return group.get("expected_return", group.get("expected-return"))


def _pillar_of(test: Mapping[str, Any]) -> Any:
    return test.get("pillar_data", test.get("pillar-data"))


def _tried(context: Context, test: Mapping[str, Any], functions: Mapping[str, Any]) -> dict[str, Any]:
    """The function called, and its value held against the assertions."""
    try:
        returned = functions[test["module_and_function"]](*(test.get("args") or ()), **_keywords(test))
    except Exception as error:
        return {"status": f"Fail: {error or type(error).__name__}"}
    details = bool(test.get("output_details", _details_by_option(context)))
    if not test.get("assertions"):
        return _held(test, test, returned, details)
    held: dict[str, Any] = {
        f"assertion{number}": _held(test, group, returned, details) for number, group in enumerate(_groups(test), 1)
    }
    passed = all(one["status"] == PASSED for one in held.values())
    return {**held, "status": PASSED if passed else "Fail"}


def _keywords(test: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of the call. Only `pillar_data` gives a pillar."""
    given = {key: value for key, value in (test.get("kwargs") or {}).items() if key != "pillar"}
    pillar = _pillar_of(test)
    return {**given, "pillar": pillar} if pillar else given


def _details_by_option(context: Context) -> Any:
    return Modules(context).call("config.get", ("saltcheck_output_details", False))


def _held(test: Mapping[str, Any], group: Mapping[str, Any], returned: Any, details: bool) -> dict[str, Any]:
    """One assertion: its status, and what was compared."""
    from highstate.traverse import traverse

    fun, section = test["module_and_function"], group.get("assertion_section")
    if section:
        delimiter = str(group.get("assertion_section_delimiter") or ":")
        returned = traverse(returned, str(section), False, delimiter=delimiter)
    assertion = ASSERTIONS["assertNotEmpty" if fun == SETUP else group["assertion"]]
    expected = cast(_expected(group), returned) if assertion.casts else _expected(group)
    shown = bool(test.get("print_result", True))
    held = {"status": assertion.status(expected, returned, shown)}
    if not details:
        return held
    title, where = (" assertion_section", f" {section}") if section else ("", "")
    arguments = json.dumps(test.get("args"), ensure_ascii=False, default=str)
    left = "" if expected is None else f"{expected} "
    held[f"module.function [args]{title}"] = f"{fun} {arguments}{where}"
    held["saltcheck assertion"] = f"{left}{assertion.sign} {returned if shown else 'hidden'}"
    return held
