"""The option `reactor`: forms that are taken, and faults with their places."""

import pytest

from options.document import parse_document
from reactors.rules.reactor_map import read_reactor_map, sls_of


def read(text):
    faults = []
    found = read_reactor_map(parse_document(text, "master").get("reactor"), faults)
    return found, [str(fault) for fault in faults]


def test_salts_form_has_tags_with_their_sls_in_order():
    found, faults = read(
        "reactor:\n"
        "  - 'salt/minion/*/start':\n"
        "    - /srv/reactor/start.sls\n"
        "    - salt://reactor/two.sls\n"
        "  - salt/auth: /srv/reactor/auth.sls\n"
        "  - 'salt/*': [/srv/all.sls]\n"
    )
    assert not faults
    assert sls_of(found.matching("salt/minion/web1/start")) == (
        "/srv/reactor/start.sls",
        "salt://reactor/two.sls",
        "/srv/all.sls",
    )
    assert [entry.place for entry in found.matching("salt/auth")] == ["master:5", "master:6"]
    assert found.matching("other") == ()


@pytest.mark.parametrize(
    "text",
    ["reactor: {a: [/x.sls], b: /y.sls}", "reactor:\n- a: /x.sls\n  b: [/y.sls]"],
    ids=["a mapping", "two keys in one entry"],
)
def test_what_salt_takes_without_a_word_and_does_nothing_is_taken(text):
    found, faults = read(text)
    assert not faults
    assert (sls_of(found.matching("a")), sls_of(found.matching("b"))) == (("/x.sls",), ("/y.sls",))


@pytest.mark.parametrize("text", ["", "reactor:", "reactor: []", "reactor: {}"])
def test_there_may_be_no_reactors(text):
    assert read(text)[0].entries == ()
    assert not read(text)[1]


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("reactor: 5", "master:1: reactor must be a list of tags with their SLS, not 5"),
        ("reactor:\n- a: [/x.sls]\n- b", "master:3: reactor: 'b' names no tag with its SLS"),
        ("reactor:\n- a: [/x.sls]\n- b: 5", "master:3: reactor: 'b' must have a list of SLS, not 5"),
        ("reactor:\n- a: [/x.sls]\n- b: [{}]", "master:3: reactor: 'b' must have a list of SLS, not [{}]"),
        ("reactor:\n- 5: [/x.sls]", "master:2: reactor: 5 is no tag"),
    ],
)
def test_a_fault_names_its_line(text, fault):
    found, faults = read(text)
    assert [each.partition("; write")[0] for each in faults] == [fault]
    assert len(found.entries) == text.count("/x.sls") - text.startswith("reactor:\n- 5")
