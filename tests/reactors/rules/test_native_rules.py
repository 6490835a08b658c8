"""Native rules: how they are read, when they fire, and what they then do."""

import datetime

import pytest

from options.document import parse_document
from reactors.events import Event
from reactors.rules.native_rule import read_rules
from reactors.rules.rule_engine import RuleEngine
from reactors.rules.rule_pace import QuietHours, RuleVerdict

DO = "do: [{local.test.ping: {tgt: '{{ minion }}'}}]"


def rules(text):
    faults = []
    found = read_rules(parse_document(text, "saltern.yaml").get("rules"), faults)
    return found, [str(fault) for fault in faults]


def engine(options, *, do=DO):
    found, faults = rules(f"rules:\n- {{name: r, tag: 'app/*', {options}{', ' if options else ''}{do}}}")
    assert not faults
    made, ids = RuleEngine(), iter(range(1, 1000))

    def send(now, tag="app/bad", **data):
        event = Event(id=next(ids), tag=tag, time=now, data={"id": "web1", **data})
        made.resolved(found, event)
        outcomes = [*made.due(found, now), *made.observe(found, event, now)]
        for one in outcomes:
            if one.fires:
                made.paces.fired("r", one.about, now)
        return [one.verdict for one in outcomes]

    return send, made, found


FIRE, ESCALATE, WAIT = RuleVerdict.FIRE, RuleVerdict.ESCALATE, RuleVerdict.WAIT


def test_throttle_is_for_each_minion():
    send, *_ = engine("throttle: 1m")
    assert [send(0.0), send(59.0), send(59.0, id="web2"), send(60.0)] == [
        [FIRE],
        [RuleVerdict.THROTTLED],
        [FIRE],
        [FIRE],
    ]


def test_by_says_what_counts_together():
    send, *_ = engine("throttle: 1m, by: data.cluster")
    assert send(0.0, cluster="a") == [FIRE]
    assert send(1.0, cluster="a", id="web2") == [RuleVerdict.THROTTLED]
    assert send(1.0, cluster="b") == [FIRE]


def test_a_rate_limit_slides():
    send, *_ = engine("rate_limit: 2/1m")
    assert [send(at) for at in (0.0, 10.0, 20.0, 61.0, 62.0)] == [
        [FIRE], [FIRE], [RuleVerdict.LIMITED], [FIRE], [RuleVerdict.LIMITED],
    ]  # fmt: skip


def test_debounce_fires_once_it_is_quiet_for_the_newest_event():
    send, made, found = engine("debounce: 30s")
    assert send(0.0, n=1) == [WAIT]
    assert send(20.0, n=2) == []
    assert made.due_at == 50.0
    assert made.due(found, 49.0) == []
    (fired,) = made.due(found, 50.0)
    assert (fired.verdict, fired.event.data["n"]) == (FIRE, 2)
    assert made.due_at == float("inf")


def test_once_until_resolved():
    send, *_ = engine("when: not data.ok, once_until_resolved: {when: data.ok}")
    assert [send(0.0), send(99.0), send(100.0, ok=True), send(101.0), send(102.0)] == [
        [FIRE], [RuleVerdict.OPEN], [], [FIRE], [RuleVerdict.OPEN],
    ]  # fmt: skip


def test_what_goes_on_is_escalated_and_escalation_is_not_held_by_quiet_hours():
    options = "escalate: {after: 2, within: 1h, do: [{runner.test.arg: {args: [page]}}]}"
    send, *_ = engine(options)
    assert [send(at) for at in (0.0, 10.0, 20.0, 30.0, 9000.0)] == [[FIRE], [FIRE], [ESCALATE], [ESCALATE], [FIRE]]


def test_quiet_hours_go_over_midnight():
    quiet = QuietHours(start=datetime.time(22), end=datetime.time(6), zone="Europe/Berlin")

    def at(hour):
        return datetime.datetime(2026, 11, 23, hour, tzinfo=datetime.UTC).timestamp()

    assert [quiet.covers(at(hour)) for hour in (20, 21, 23, 4, 5)] == [False, True, True, True, False]
    send, *_ = engine("quiet_hours: {from: '22:00', to: '06:00', timezone: UTC}")
    assert send(at(23)) == [RuleVerdict.QUIET]
    assert send(at(12)) == [FIRE]


def test_values_of_the_event_go_into_calls_and_are_never_read_again():
    args = "['{{ data.text }}', {n: '{{ data.n }}', s: 'is {{ data.n }}'}]"
    do = f"do: [{{local.test.arg: {{tgt: '{{{{ minion }}}}', args: {args}}}}}]"
    _, made, found = engine("", do=do)
    event = Event(id=1, tag="app/x", time=0.0, data={"id": "web1", "text": "{{ minion }}", "n": 3})
    (outcome,) = made.observe(found, event, 0.0)
    ((call,), errors) = outcome.calls()
    assert not errors
    assert (call.type, call.fun, call.tgt, call.tgt_type) == ("local", "test.arg", ["web1"], "list")
    assert (call.arg, call.kwarg) == (("{{ minion }}",), {"n": 3, "s": "is 3"})


@pytest.mark.parametrize("bad", ["*", "web*", "E@.*", "web1 or *", "", None, ["web1"]])
def test_an_event_cannot_widen_a_target(bad):
    first = "local.test.ping: {tgt: '{{ data.host }}', tgt_type: glob}"
    do = f"do: [{{{first}}}, {{local.test.ping: {{tgt: 'x-{{{{ data.host }}}}'}}}}]"
    _, made, found = engine("", do=do)
    (outcome,) = made.observe(found, Event(id=1, tag="app/x", time=0.0, data={"host": bad}), 0.0)
    calls, errors = outcome.calls()
    assert not calls
    assert len(errors) == 2
    assert "no plain name" in errors[0]


def test_a_target_that_is_one_value_is_a_list_of_ids():
    _, made, found = engine("", do="do: [{local.test.ping: {tgt: '{{ data.host }}'}}]")
    (outcome,) = made.observe(found, Event(id=1, tag="app/x", time=0.0, data={"host": "*"}), 0.0)
    ((call,), _) = outcome.calls()
    assert (call.tgt, call.tgt_type) == (["*"], "list")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("rules: 3", "saltern.yaml:1: rules must be a list"),
        (f"rules:\n- {{tag: x, {DO}}}", "saltern.yaml:2: rules: name must be"),
        (f"rules:\n- {{name: r, {DO}}}", "saltern.yaml:2: rules: r: write `tag`"),
        (f"rules:\n- {{name: r, tag: x, regex: y, {DO}}}", "write `tag`"),
        (f"rules:\n- name: r\n  regex: '('\n  {DO}", "saltern.yaml:3: rules: r: "),
        (
            f"rules:\n- name: r\n  tag: x\n  whem: y\n  {DO}",
            "saltern.yaml:4: rules: r: there is no 'whem'; did you mean",
        ),
        (f"rules:\n- name: r\n  tag: x\n  when: 1 + 1\n  {DO}", "saltern.yaml:4: rules: r: '1 + 1'"),
        (f"rules:\n- name: r\n  tag: x\n  throttle: soon\n  {DO}", "saltern.yaml:4: rules: r: 'soon' is no time"),
        (f"rules:\n- name: r\n  tag: x\n  rate_limit: 5\n  {DO}", "as 10/1h"),
        (f"rules:\n- name: r\n  tag: x\n  quiet_hours: {{from: x, to: y}}\n  {DO}", "saltern.yaml:4"),
        (f"rules:\n- {{name: r, tag: x, {DO}}}\n- {{name: r, tag: y, {DO}}}", "saltern.yaml:3: rules: there are two"),
        ("rules:\n- {name: r, tag: x}", "do must be a list"),
        (
            "rules:\n- name: r\n  tag: x\n  do:\n  - lokal.test.ping: {tgt: x}",
            "saltern.yaml:5: rules: there are no actions",
        ),
        (
            "rules:\n- name: r\n  tag: x\n  do:\n  - local.test.ping: {}",
            "saltern.yaml:5: rules: local.test.ping says nothing",
        ),
        ("rules:\n- name: r\n  tag: x\n  do:\n  - local.test.ping: {tgt: '{{ 1 + }}'}", "no expression"),
        ("rules:\n- name: r\n  tag: x\n  do:\n  - reconcile.snyc: {tgt: x}", "there is no reconcile.snyc"),
        (f"rules:\n- name: r\n  tag: x\n  escalate: {{after: 0}}\n  {DO}", "after must be"),
    ],
)
def test_what_is_badly_formed_is_told_with_its_line(text, why):
    _, faults = rules(text)
    assert any(why in fault for fault in faults), faults
