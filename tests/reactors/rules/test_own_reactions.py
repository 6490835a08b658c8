"""Reactions of the types that Salt does not have: `reconcile` and `notify`, in SLS and in native rules."""

import pytest

from highstate.files import MemoryFiles
from highstate.render.context import RenderContext
from highstate.types import Minion
from options.document import parse_document
from reactors.events import Event
from reactors.rules.native_rule import read_rules, values_of
from reactors.rules.reactor_sls import reactions_of


class Source:
    sls = path = "a.sls"
    saltenv = "base"


def rendered(text):
    files = MemoryFiles({"base": {"a.sls": text.encode()}})
    context = RenderContext(minion=Minion(id="c"), files=files)
    return reactions_of([Source], context, tag="t", data={"id": "web1"}, parameters_of=lambda kind, fun: None)


@pytest.mark.parametrize(
    ("body", "fun", "kwarg"),
    [
        ("notify.slack:\n    - text: hello", "slack", {"text": "hello"}),
        ("notify.smtp:\n    - args: {text: a, profile: p}", "smtp", {"text": "a", "profile": "p"}),
        ("notify.webhook:\n    - args: [{text: a}, {title: b}]", "webhook", {"text": "a", "title": "b"}),
        ("notify.syslog:\n    - arg: [hello]", "syslog", {"text": "hello"}),
        ("notify.slack:\n    - text: {{ data['id'] }}\n    - nosuch: 1", "slack", {"text": "web1"}),
        ("reconcile.refresh: []", "refresh", {}),
        ("reconcile.refresh:\n    - remote: states", "refresh", {"remote": "states"}),
        ("reconcile.sync:\n    - tgt: 'web*'\n    - whole: true", "sync", {"whole": True}),
        ("reconcile.sync:\n    - tgt: a,b\n    - tgt_type: list\n    - args: {whole: true}", "sync", {"whole": True}),
    ],
)  # fmt: skip
def test_in_sls(body, fun, kwarg):
    made = rendered(f"x:\n  {body}\n")
    assert made.problems == ()
    [call] = made.reactions
    assert (call.fun, call.kwarg, call.arg) == (fun, kwarg, ())
    assert (call.tgt is not None) == (fun == "sync")
    assert len(made.warnings) == ("nosuch" in body)


@pytest.mark.parametrize(
    ("body", "message", "hint"),
    [
        ("notify.slak:\n    - text: a", "there is no notify.slak", "notify.slack"),
        ("notify.slack: []", "has nothing to say", "text"),
        ("reconcile.snyc:\n    - tgt: a", "there is no reconcile.snyc", "reconcile.sync"),
        ("reconcile.sync: []", "says nothing of its minions", "tgt"),
        ("notfy.slack:\n    - text: a", "no reactions of type 'notfy'", "notify"),
    ],
)
def test_what_is_wrong_in_sls(body, message, hint):
    made = rendered(f"x:\n  {body}\n")
    assert made.reactions == ()
    [problem] = made.problems
    assert message in problem.message
    assert hint in problem.hint
    assert problem.pos.line == 2


def rule(action):
    faults = []
    option = parse_document(f"rules:\n- name: r\n  tag: t\n  do:\n  - {action}\n", "f").get("rules")
    rules = read_rules(option, faults)
    return rules, [f"{fault.place} {fault.message}" for fault in faults]


@pytest.mark.parametrize(
    ("action", "kwarg"),
    [
        ("notify.slack: {text: 'disk of {{ minion }}: {{ data.n }}'}", {"text": "disk of web1: {{ 7 * 7 }}"}),
        ("reconcile.refresh: {remote: states}", {"remote": "states"}),
        ("reconcile.refresh: {}", {}),
        ("reconcile.sync: {tgt: '{{ minion }}', whole: true}", {"whole": True}),
    ],
)
def test_in_native_rules(action, kwarg):
    rules, faults = rule(action)
    assert faults == []
    event = Event(id=1, tag="t", time=0.0, data={"id": "web1", "n": "{{ 7 * 7 }}"})
    [done] = rules.rules[0].do
    call = done.call("r", values_of(event))
    assert (call.kwarg, call.arg) == (kwarg, ())
    assert call.tgt == (["web1"] if "tgt" in action else None)


@pytest.mark.parametrize(
    ("action", "message"),
    [
        ("notify.slak: {text: a}", "there is no notify.slak; there is notify.slack"),
        ("notify.slack: {}", "notify.slack has nothing to say"),
        ("notify.slack: {text: a, txt: b}", "has no option 'txt'; did you mean text?"),
        ("reconcile.refresh: {tgt: a}", "has no option 'tgt'"),
        ("reconcile.sync: {whole: true}", "says nothing of its minions"),
    ],
)
def test_what_is_wrong_in_native_rules(action, message):
    _, faults = rule(action)
    assert len(faults) == 1
    assert message in faults[0]
