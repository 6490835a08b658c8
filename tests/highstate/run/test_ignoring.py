"""Rules about differences that are no drift: what they cover, and what is left."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highstate.run.ignoring import IgnoreRule, rules_of, split
from highstate.types import Chunk

FILE = Chunk(state="file", fun="managed", id="conf", name="/etc/app.conf", sls="app", arguments={})
PACKAGES = Chunk(state="pkg", fun="installed", id="tools", name="tools", sls="app", arguments={})


@pytest.mark.parametrize(
    ("chunk", "rule", "changes", "left"),
    [
        (FILE, {"field": "mode"}, {"mode": "0644", "diff": "x"}, {"diff": "x"}),
        (FILE, {"field": "m*"}, {"mode": "0644"}, {}),
        (FILE, {"field": "mode"}, {"/etc/a/b": {"mode": "0644", "user": "x"}}, {"/etc/a/b": {"user": "x"}}),
        (FILE, {"field": "/etc/a/*:mode"}, {"/etc/a/b": {"mode": "0644"}, "/x": {"mode": "1"}}, {"/x": {"mode": "1"}}),
        (FILE, {"id": "conf"}, {"mode": "0644", "diff": "x"}, {}),
        (FILE, {"id": "/etc/app*"}, {"mode": "0644"}, {}),
        (FILE, {"id": "other"}, {"mode": "0644"}, {"mode": "0644"}),
        (FILE, {"state": "file.*", "field": "user"}, {"mode": "0644"}, {"mode": "0644"}),
        (FILE, {"state": "pkg.*"}, {"mode": "0644"}, {"mode": "0644"}),
        (PACKAGES, {"field": "version"}, {"curl": {"old": "1", "new": "2"}}, {}),
        (PACKAGES, {"field": "curl"}, {"curl": {"old": "1", "new": "2"}, "vim": {"new": "1"}}, {"vim": {"new": "1"}}),
        (PACKAGES, {"field": "curl:version"}, {"curl": {"old": "1", "new": "2"}}, {}),
        (FILE, {"field": "version"}, {"curl": {"old": "1", "new": "2"}}, {"curl": {"old": "1", "new": "2"}}),
    ],
)
def test_what_is_left(chunk, rule, changes, left):
    found = split(chunk, changes, [IgnoreRule(**rule)])
    assert dict(found.left) == left
    assert bool(found.ignored) == (left != changes)


def test_what_is_ignored_says_why_and_until_when():
    rule = IgnoreRule(field="mode", reason="until the audit", expires="2026-12-31")
    assert split(FILE, {"mode": "0644"}, [rule]).shown() == {
        "mode": {"change": "0644", "reason": "until the audit", "expires": "2026-12-31"}
    }


def test_a_rule_holds_on_its_last_day_and_not_after_it():
    plain = [IgnoreRule(field="mode", expires="2026-12-31").as_plain()]
    last = datetime(2026, 12, 31, 23, 59, tzinfo=UTC).timestamp()
    assert len(rules_of(plain, last)) == 1
    assert rules_of(plain, last + 60) == ()
    assert rules_of([7, {"field": "x", "more": 1}], last) == (IgnoreRule(field="x"),)
    assert rules_of("nothing", last) == ()


@given(
    changes=st.dictionaries(
        st.sampled_from(["a", "b", "c"]),
        st.just("v") | st.dictionaries(st.sampled_from("xy"), st.just("w"), min_size=1),
    ),
    fields=st.lists(st.sampled_from(["a", "b:x", "y", "*", "z"])),
)
def test_nothing_is_lost_and_nothing_is_told_twice(changes, fields):
    found = split(FILE, changes, [IgnoreRule(field=field) for field in fields])
    again = split(FILE, changes, [])
    assert again.left == changes

    def leaves(value, path=()):
        if isinstance(value, dict):
            return {one for key, inner in value.items() for one in leaves(inner, (*path, key))}
        return {path}

    ignored = {one.path for one in found.ignored}
    assert leaves(dict(found.left)) - {()} == {path for path in leaves(changes) if path not in ignored} - {()}
