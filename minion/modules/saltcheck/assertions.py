"""Assertions of saltcheck: what is compared with what a function returned, and the words for a failure.

Called by `minion.modules.saltcheck.one_test`. Names and words are Salt's; it looks at values only.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

PASSED = "Pass"


class Assertion(NamedTuple):
    """One kind."""

    sign: str
    """Stands between the two values in the details."""
    holds: Callable[[Any, Any], bool]
    """Of the expected value and the returned one."""
    failure: str
    """What is said otherwise; `{expected}` and `{returned}` are the values."""
    hidden: str = ""
    """The same with `print_result: false`; empty: the same words."""
    expects: bool = True
    """Whether it needs `expected_return`."""
    casts: bool = True
    """Whether the expected value is made one of the returned value's type."""
    reads: Callable[[Any], Any] = lambda returned: returned
    """The returned value as it is looked at."""

    def status(self, expected: Any, returned: Any, shown: bool) -> str:
        """`Pass`, or `Fail: ` and why. Values that cannot be compared fail."""
        returned = self.reads(returned)
        try:
            held = self.holds(expected, returned)
        except TypeError as error:
            return f"Fail: {error}"
        said = self.failure if shown or not self.hidden else self.hidden
        return PASSED if held else f"Fail: {said.format(expected=expected, returned=returned)}"


def _text_as_truth(returned: Any) -> Any:
    return bool(returned) if isinstance(returned, str) else returned


_NOT_FALSE = "{returned} not False"  # Salt's words for each comparison of numbers

ASSERTIONS: Mapping[str, Assertion] = {
    "assertEqual": Assertion("==", operator.eq, "{expected} is not equal to {returned}", "Result is not equal"),
    "assertNotEqual": Assertion("!=", operator.ne, "{expected} is equal to {returned}", "Result is equal"),
    "assertTrue": Assertion(
        "True is", lambda _, returned: returned is True, "{returned} not True", expects=False, casts=False
    ),
    "assertFalse": Assertion(
        "False is",
        lambda _, returned: returned is False,
        "{returned} not False",
        expects=False,
        casts=False,
        reads=_text_as_truth,
    ),
    "assertIn": Assertion(
        "IN",
        lambda expected, returned: expected in returned,
        "{expected} not found in {returned}",
        "Result not found",
        casts=False,
    ),
    "assertNotIn": Assertion(
        "NOT IN",
        lambda expected, returned: expected not in returned,
        "{expected} was found in {returned}",
        "Result was found",
        casts=False,
    ),
    "assertGreater": Assertion(">", operator.gt, _NOT_FALSE),
    "assertGreaterEqual": Assertion(">=", operator.ge, _NOT_FALSE),
    "assertLess": Assertion("<", operator.lt, _NOT_FALSE),
    "assertLessEqual": Assertion("<=", operator.le, _NOT_FALSE),
    "assertEmpty": Assertion(
        "IS EMPTY", lambda _, returned: not returned, "{returned} is not empty", expects=False, casts=False
    ),
    "assertNotEmpty": Assertion(
        "IS NOT EMPTY", lambda _, returned: bool(returned), "value is empty", expects=False, casts=False
    ),
}


def cast(expected: Any, returned: Any) -> Any:
    """The expected value as one of the returned value's type; as it is where that cannot be."""
    if returned is None:
        return expected
    if isinstance(returned, bool) and expected == "False":
        return False
    try:
        return type(returned)(expected)
    except (TypeError, ValueError):
        return expected
