"""The language of conditions: what it says of an event, and that it is small and bounded."""

import pytest

from reactors.rules.condition import BadCondition, EventValues, read_condition

EVENT = EventValues(
    "salt/beacon/web1/load/",
    {"id": "web1", "load": 2.5, "nginx": {"running": False}, "list": [1, "two"], "text": "{{ 7 * 7 }}"},
    "web1",
)


@pytest.mark.parametrize(
    "text",
    [
        "data.load > 2",
        "1 < data.load <= 2.5",
        "not data.nginx.running",
        "data['nginx']['running'] == false",
        "data.nosuch is none and data.nosuch.deeper == none",
        "not (data.nosuch > 3)",
        "minion in ['web1', 'web2'] and tag == 'salt/beacon/web1/load/'",
        "data.list[1] == 'two' and data.list[-1] == 'two' and data.list[7] == none",
        "'nginx' in data and 'nosuch' not in data",
        "matches(minion, '^web[0-9]+$')",
        "starts(tag, 'salt/') and length(data.list) == 2",
        "number('3') == 3 and number('x') == none and lower('WEB') == 'web'",
        "(1 if data.load > 2 else 0) == 1",
        "-data.load < 0",
        "data.text == '{{ 7 * 7 }}'",
    ],
)
def test_it_holds(text):
    assert read_condition(text).holds(EVENT)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("data.load >", "no expression"),
        ("1 + 1", "BinOp"),
        ("'x' * 10", "BinOp"),
        ("[x for x in data]", "not part"),
        ("data.get('x')", "no such function"),
        ("__import__('os')", "no such function"),
        ("open", "there is no 'open'"),
        ("lambda: 1", "Lambda"),
        ("f'{data}'", "JoinedStr"),
        ("matches(tag, tag)", "must be a text"),
        ("matches(tag, '(')", "unterminated"),
        ("matches(tag)", "2 arguments"),
        ("1 or " * 2000 + "1", "characters"),
        ("not " * 400 + "1", "parts"),
        ("(" * 1000 + ")" * 1000, "no expression"),
        ("b'x'", "no text"),
    ],
)
def test_what_is_not_part_of_it_is_refused(text, why):
    with pytest.raises(BadCondition, match=why):
        read_condition(text)


def test_data_that_is_deep_or_of_another_kind_is_only_not_equal():
    deep = []
    for _ in range(100_000):
        deep = [deep]
    event = EventValues("t", {"a": deep, "b": [deep]})
    assert not read_condition("data.a == data.b").holds(event)
    assert not read_condition("data.a > 3").holds(event)
