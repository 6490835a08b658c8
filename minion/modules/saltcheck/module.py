"""The execution module `saltcheck`: tests of states, which the tree has beside them in `saltcheck-tests/*.tst`.

A test calls an execution function and holds its value against assertions. Formats and results are Salt's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import AnyValue, CommaList
from minion.execution.context import Context
from minion.execution.loader import Modules
from minion.modules.saltcheck.one_test import run_one
from minion.modules.saltcheck.results import failures, junit_xml, listed
from minion.modules.saltcheck.state_test_files import StateTestFiles
from minion.modules.state.runs import compiled_highstate, env_of, good

_MOST = 255
"""The greatest exit code."""


def run_test(context: Context, *, test: AnyValue = None) -> Any:
    """Run one test, which is given with the call: `test='{module_and_function: test.ping, assertion: assertTrue}'`."""
    return run_one(context, test) if test and isinstance(test, Mapping) else "Test argument must be a dictionary"


def state_apply(context: Context, /, state_name: str, **options: Any) -> Any:
    """state.apply, for tests that prepare what others look at."""
    return Modules(context).call("state.apply", (state_name,), options)


def run_state_tests(
    context: Context,
    state: CommaList,
    saltenv: str | None = None,
    check_all: bool = False,
    only_fails: bool = False,
    junit: bool = False,
) -> Any:
    """Run the tests of some SLS and of what they include. `check_all`: all tests of their folders."""
    return _run(context, state, env_of(context, saltenv), check_all, only_fails, junit)


def run_highstate_tests(
    context: Context, saltenv: str | None = None, only_fails: bool = False, junit: bool = False
) -> Any:
    """Run the tests of all SLS that the top file gives this minion."""
    return _run(context, _top(context, saltenv), env_of(context, saltenv), False, only_fails, junit)


def report_highstate_tests(context: Context, saltenv: str | None = None) -> dict[str, Any]:
    """Which SLS that the top file gives this minion have tests; the exit code is how many have none."""
    files = StateTestFiles(context, env_of(context, saltenv))
    names = _top(context, saltenv)
    for name in names:
        files.of(name)
    missing = [name for name in names if name not in files.found]
    context.retcode = min(len(missing), _MOST)
    counted = {"Missing Tests": len(missing), "States missing tests": missing, "States with tests": files.found}
    return {"TEST REPORT RESULTS": counted}


def _run(context: Context, names: tuple[str, ...], saltenv: str, check_all: bool, only_fails: bool, junit: bool) -> Any:
    files = StateTestFiles(context, saltenv)
    results: dict[str, Any] = {}
    for name in names:
        if name in results or (name in files.tested and not check_all):
            continue  # its tests were run with an SLS that includes it
        tests = [files.read(path) for path in files.of(name, check_all)]
        merged = {key: test for one in tests for key, test in one.items()}
        results[name] = {str(key): run_one(context, test, str(key)) for key, test in merged.items()}
    context.retcode = 1 if failures(results) else 0
    return junit_xml(results) if junit else listed(results, only_fails)


def _top(context: Context, saltenv: str | None) -> tuple[str, ...]:
    compiled = compiled_highstate(context, {"saltenv": saltenv})
    if not compiled.matches:  # what is wrong with the SLS does not matter here
        good(compiled)
    return tuple(compiled.matches.get(env_of(context, saltenv), ()))


FUNCTIONS: Mapping[str, Any] = {
    "report_highstate_tests": report_highstate_tests,
    "run_highstate_tests": run_highstate_tests,
    "run_state_tests": run_state_tests,
    "run_test": run_test,
    "state_apply": state_apply,
}
