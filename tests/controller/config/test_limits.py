"""The option `limits`: read with places, and a wrong one is refused with a hint."""

from __future__ import annotations

import pytest

from controller.config.limits import BorderLimits, limit_rows
from controller.config.settings import BadControllerSettings, load_settings


def settings(tmp_path, text):
    (tmp_path / "controller").write_text(text)
    return load_settings(tmp_path)


def test_a_limit_is_set_by_border_and_name(tmp_path):
    found = settings(tmp_path, "limits:\n  webhook:\n    body_bytes: 4096\n    request_seconds: 2\n").limits
    assert (found.webhook.body_bytes, found.webhook.request_seconds) == (4096, 2)
    assert found.api == BorderLimits().api


def test_every_fault_is_named_with_its_line(tmp_path):
    text = "limits:\n  webhok: {}\n  api:\n    body_bytes: much\n    conections: 3\n  webhook: 5\n"
    with pytest.raises(BadControllerSettings) as caught:
        settings(tmp_path, text)
    file = tmp_path / "controller"
    assert [str(fault) for fault in caught.value.faults] == [
        f"{file}:2: limits: there is no 'webhok'; did you mean webhook?",
        f"{file}:4: limits: api: body_bytes must be a whole number from 1, not 'much'",
        f"{file}:5: limits: api: there is no 'conections'; did you mean connections?",
        f"{file}:6: limits: webhook must be a mapping of limits "
        "(body_bytes, connections, request_seconds, event_readers)",
    ]


@pytest.mark.parametrize("value", ["0", "-1", "1.5", "true", "much"])
def test_a_limit_is_a_number_above_zero(tmp_path, value):
    with pytest.raises(BadControllerSettings, match="limits: git: refs must be "):
        settings(tmp_path, f"limits: {{git: {{refs: {value}}}}}\n")


@pytest.mark.parametrize("value", ["5", "[]", "null", "text"])
def test_the_option_is_a_mapping(tmp_path, value):
    with pytest.raises(BadControllerSettings, match="limits must be a mapping of borders"):
        settings(tmp_path, f"limits: {value}\n")


def test_a_row_for_each_limit():
    rows = list(limit_rows(BorderLimits()))
    assert ("webhook", "body-bytes", 1024 * 1024) in [(row.border, row.limit, row.value) for row in rows]
    assert len({(row.border, row.limit) for row in rows}) == len(rows)
