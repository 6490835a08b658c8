"""Many cases, one after the other: a line in, a line out, in order, each written at once.

    {"id", "ok": true, "result", "ms"[, "warnings"]}    or    {"id", "ok": false, "errors": [...], "ms"}

Called by `saltern compile --batch`. No case can spoil another: the work is done in a process that is replaced when
it hangs, crashes or runs out of memory, and answers are bounded in size.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import msgspec

from controller.offline.cases import BadCase, id_of, parse_case
from controller.offline.isolation import Isolated, Lost, Work
from controller.offline.results import as_line
from controller.offline.show import CaseResult, Memos, answer_case, case_problem, plain_problem
from highstate.types import Value

LONGEST_CASE = 64 * 2**20
"""Bytes of a line."""
LARGEST_ANSWER = 128 * 2**20
"""Bytes of an answer."""

_OK, _FAILED = b"+", b"-"
"""First byte of what the process gives; the rest is the line."""


def run_batch(
    lines: BinaryIO, out: BinaryIO, *, timeout: float, memory: int = 0, defaults: Mapping[str, Value] | None = None
) -> int:
    """Answer every line that is not blank; the number of those that failed.

    Args:
        lines: JSON objects, one a line (see `Case`).
        out: where the answers go.
        timeout: seconds for each case.
        memory: bytes that the process of a case may use; 0: no bound.
        defaults: keys for the cases that do not have them.
    """
    failed = 0
    with Isolated(lambda: _worker(defaults or {}), timeout=timeout, memory=memory) as isolated:
        for line in _lines(lines):
            answer = _ask(isolated, line)
            failed += answer[:1] == _FAILED
            out.write(answer[1:] + b"\n")
            out.flush()
    return failed


def _lines(lines: BinaryIO) -> Iterator[bytes | None]:
    """The lines that are not blank; None for one that is too long, which is passed over unread."""
    while line := lines.readline(LONGEST_CASE + 1):
        if len(line) > LONGEST_CASE:
            while (rest := lines.readline(LONGEST_CASE)) and not rest.endswith(b"\n"):
                pass
            yield None
        elif line.strip():
            yield line


def _ask(isolated: Isolated, line: bytes | None) -> bytes:
    started = time.perf_counter()
    if line is None:
        return _failure(None, f"the line is longer than {LONGEST_CASE} bytes", started)
    try:
        return isolated.ask(line)
    except Lost as lost:
        return _failure(id_of(line), f"the case has no answer: {lost}", started)


def _worker(defaults: Mapping[str, Value]) -> Work:
    memos = Memos()

    def work(line: bytes) -> bytes:
        started = time.perf_counter()
        case_id: Value = None
        try:
            data = _object(line)
            case_id = data.get("id")
            case, remarks = parse_case({**_fitting(defaults, data), **data})
            return _line(case_id, answer_case(case, memos.of(case)), remarks, started)
        except BadCase as error:
            return _failure(case_id, str(error), started)
        except Exception as error:  # a case is data: whatever it breaks is its own answer, and the next one comes
            return _failure(case_id, f"the compile failed: {type(error).__name__}: {str(error)[:2000]}", started)

    return work


def _object(line: bytes) -> dict[str, Value]:
    try:
        data = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadCase(f"this is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise BadCase(f"a case is a JSON object, not a {type(data).__name__}")
    return data


def _fitting(defaults: Mapping[str, Value], data: Mapping[str, Value]) -> dict[str, Value]:
    """The defaults, but not the SLS where the case says itself what to compile."""
    chosen = "sls" in data or "highstate" in data
    return {key: value for key, value in defaults.items() if not (chosen and key in ("sls", "highstate"))}


def _line(case_id: Value, answer: CaseResult, remarks: list[str], started: float) -> bytes:
    if answer.errors:
        errors = [plain_problem(problem) for problem in answer.errors]
        return _packed({"id": case_id, "ok": False, "errors": errors, "ms": _ms(started)}, case_id, started)
    warnings = [plain_problem(problem) for problem in answer.warnings]
    warnings += [case_problem(remark) for remark in (*remarks, *answer.remarks)]
    line: dict[str, Any] = {"id": case_id, "ok": True, "result": answer.result, "ms": _ms(started)}
    return _packed(line | ({"warnings": warnings} if warnings else {}), case_id, started)


def _failure(case_id: Value, message: str, started: float) -> bytes:
    return _FAILED + as_line({"id": case_id, "ok": False, "errors": [case_problem(message)], "ms": _ms(started)})


def _packed(line: dict[str, Any], case_id: Value, started: float) -> bytes:
    packed = as_line(line)
    if len(packed) > LARGEST_ANSWER:
        return _failure(case_id, f"the answer would be {len(packed)} bytes; {LARGEST_ANSWER} are allowed", started)
    return (_OK if line["ok"] else _FAILED) + packed


def _ms(started: float) -> float:
    return round((time.perf_counter() - started) * 1000, 3)
