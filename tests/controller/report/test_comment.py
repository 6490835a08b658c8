"""A comment fits into its budget, whole as Markdown, and says all that must be mended."""

from __future__ import annotations

import re
from dataclasses import replace

import msgspec
import pytest
from effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from preview_reports import SAMPLES, URL, broken, config, group, many_classes, report

from controller.report.comment import MINIMUM_BUDGET, CommentOptions, comment, marker
from controller.report.marker import marker_line, marker_of, parse_marker
from controller.schema.plans import FieldDiff
from controller.schema.reports import (
    ApplyTiming,
    Capability,
    ChangeClass,
    ClassOutcome,
    FileDiff,
    LiveTest,
    MergeOutcome,
    MinionErrors,
    PreviewReport,
    ResourceChange,
    ServiceRestart,
    Violation,
)

_TEXT = st.one_of(
    st.text(max_size=60),
    st.text(alphabet="`~*_[]()<>!@#/|\\ \n-+", max_size=60),
    st.sampled_from(["```\n</details>\n# x", "`" * 300, "\u202e" * 200, "x" * 5000, "a\r\n```\r\n", "🔥" * 400]),
)
_NAMES = st.lists(_TEXT.filter(bool), min_size=1, max_size=4).map(tuple)
_RESOURCE = st.builds(
    ResourceChange,
    action=st.sampled_from(["added", "changed", "removed", "retriggered"]),
    key=_TEXT,
    title=_TEXT,
    function=st.just("file.managed"),
    origin=_TEXT,
    commit=_TEXT,
    fields=st.lists(st.builds(FieldDiff, field=_TEXT, old=_TEXT | st.none(), new=st.lists(_TEXT, max_size=3))).map(
        tuple
    ),
    files=st.lists(
        st.builds(FileDiff, path=_TEXT, text=_TEXT.map(lambda text: text * 200), note=_TEXT), max_size=2
    ).map(tuple),
    triggers=st.lists(_TEXT, max_size=8).map(tuple),
    irreversible=_TEXT,
    certainty=st.sampled_from(["certain", "conditional", "unknown"]),
    why_uncertain=_TEXT,
)
_TESTS = st.builds(
    LiveTest, minion=_TEXT, outcome=st.sampled_from(["failed", "changed"]), summary=_TEXT, failed=st.integers(0, 2)
)
_CLASS = st.builds(
    ChangeClass,
    id=_TEXT,
    minions=_NAMES,
    folded=_TEXT,
    resources=st.lists(_RESOURCE, max_size=4).map(tuple),
    tests=st.lists(_TESTS, max_size=3).map(tuple),
)
_ERRORS = st.lists(st.builds(MinionErrors, minions=_NAMES, folded=_TEXT, texts=_NAMES), max_size=12).map(tuple)
_REPORTS = st.builds(
    PreviewReport,
    controller=_TEXT,
    environment=_TEXT,
    made_at=st.floats(0, 2e9),
    base=_TEXT,
    head=_TEXT,
    restricted=st.booleans(),
    minions=st.integers(0, 10**6),
    changed=st.integers(0, 10**6),
    classes=st.lists(_CLASS, max_size=6).map(tuple),
    broken=_ERRORS,
    unknown=_ERRORS,
    warned=_ERRORS,
    restarts=st.lists(
        st.builds(
            ServiceRestart,
            service=_TEXT,
            action=st.sampled_from(["restart", "stop"]),
            minions=_NAMES,
            folded=_TEXT,
            whole_groups=_NAMES,
        ),
        max_size=12,
    ).map(tuple),
    timing=st.lists(st.builds(ApplyTiming, kind=st.just("paused"), text=_TEXT, minions=_NAMES), max_size=12).map(tuple),
    violations=st.lists(st.builds(Violation, rule=_TEXT, message=_TEXT, approvable=st.booleans()), max_size=12).map(
        tuple
    ),
    capabilities=st.lists(st.builds(Capability, kind=st.just("python"), text=_TEXT, origin=_TEXT)).map(tuple),
    problems=st.lists(_TEXT, max_size=12).map(tuple),
)
_MERGED = st.builds(
    MergeOutcome,
    commit=_TEXT,
    at=st.just(0.0),
    classes=st.lists(
        st.builds(ClassOutcome, id=_TEXT, failed=st.dictionaries(_TEXT, _TEXT, max_size=9)), max_size=40
    ).map(tuple),
)


@given(found=_REPORTS, budget=st.integers(0, 70_000), html=st.booleans(), merged=st.none() | _MERGED)
@settings(
    max_examples=examples(100),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
def test_any_report_fits_any_budget(found: PreviewReport, budget: int, html: bool, merged: MergeOutcome | None) -> None:
    options = CommentOptions(budget=budget, url=URL, html=html, merged=merged)
    text = comment(found, options)
    assert len(text) <= max(budget, MINIMUM_BUDGET)
    assert parse_marker(text) == marker(found)
    assert unbalanced(text) == ""
    assert f"{sum(len(each.minions) for each in found.broken):,} minion" in text or not found.broken


def unbalanced(text: str) -> str:
    """What is opened and never closed, outside of blocks of code: a fence, a fold."""
    fence, folds = "", 0
    for line in text.split("\n"):
        run = re.match("`*", line)[0]  # type: ignore[index]  # it always matches
        if fence:
            fence = "" if len(run) >= len(fence) and not line[len(run) :] else fence
        elif len(run) >= 3 and "`" not in line[len(run) :]:
            fence = run
        else:
            folds += line.startswith("<details>") - line.startswith("</details>")
            assert folds >= 0
    return fence or "<details>" * folds


@pytest.mark.parametrize("name", SAMPLES)
@pytest.mark.parametrize("budget", [MINIMUM_BUDGET, 32_768, 60_000])
def test_failures_are_whole_while_there_is_room(name: str, budget: int) -> None:
    found = SAMPLES[name]
    text = comment(found, CommentOptions(budget=budget))
    for each in found.broken:
        assert all(error in text for error in each.texts)
        assert each.folded in text
    for violation in found.violations:
        assert violation.message in text


def test_failures_come_before_differences() -> None:
    many = report(
        changed=1, classes=(group(1, config(lines=2000)),), broken=tuple(broken(number) for number in range(80))
    )
    text = comment(many, CommentOptions(budget=30_000, url=URL))
    assert all(each.texts[0] in text for each in many.broken)
    assert "worker_processes 7;" not in text
    assert "nginx.conf (file.managed)" in text
    assert "Not everything fits" in text


def test_thousands_of_failures_are_named_or_counted_with_a_link() -> None:
    named = report(broken=tuple(broken(number) for number in range(300)))
    text = comment(named, CommentOptions(url=URL))
    assert all(each.folded in text for each in named.broken)
    counted = report(broken=tuple(broken(number) for number in range(3000)))
    text = comment(counted, CommentOptions(url=URL))
    assert "Does not compile: 6,000 minions" in text
    assert "2,995 more different errors" in text
    assert URL in text


def test_the_largest_difference_loses_its_lines_first() -> None:
    text = comment(SAMPLES["huge-diffs"], CommentOptions(url=URL))
    assert "lines: +4,001 -4,001" in text
    assert text.count("```diff") == 4
    assert "Not everything fits" in text


def test_lines_around_changes_go_before_the_changes_do() -> None:
    found = report(changed=1, classes=(group(1, config(lines=250)),))
    text = comment(found, CommentOptions(budget=30_000))
    assert "+worker_processes 251;" in text
    assert "worker_connections" not in text


def test_classes_without_room_stand_in_the_table() -> None:
    text = comment(many_classes(400), CommentOptions(budget=MINIMUM_BUDGET, url=URL))
    assert "400 distinct changes" in text
    assert "and 390 more changes" in text or "and 380 more changes" in text
    assert "Not everything fits" in text


def test_a_report_that_fits_says_nothing_of_room() -> None:
    text = comment(SAMPLES["one-class"], CommentOptions(url=URL))
    assert "Not everything fits" not in text
    assert URL in text


@given(controller=st.text(max_size=90), environment=st.text(max_size=90), html=st.booleans())
def test_the_marker_is_read_back(controller: str, environment: str, html: bool) -> None:
    made = marker_of(
        controller.encode(errors="replace").decode(), environment.encode(errors="replace").decode(), "ab", 1.5
    )
    line = marker_line(made, html=html)
    assert parse_marker(f"{line}\r\nrest") == made
    assert "--" not in line.removeprefix("<!--").removesuffix("-->")


def test_only_the_first_line_is_a_marker() -> None:
    text = comment(SAMPLES["one-class"])
    assert parse_marker("quoted:\n" + text) is None
    assert parse_marker("> " + text) is None
    assert parse_marker("") is None


def test_the_time_alone_makes_no_other_comment() -> None:
    found = SAMPLES["one-class"]
    later = msgspec.structs.replace(found, made_at=found.made_at + 60, seconds=9.0)
    assert comment(found).splitlines()[1:] == comment(later).splitlines()[1:]


def test_what_happened_after_the_merge_is_told() -> None:
    found = SAMPLES["one-class"]
    minions = found.classes[0].minions
    merged = MergeOutcome(
        commit="c" * 40,
        at=0.0,
        complete=True,
        classes=(
            ClassOutcome(
                id=found.classes[0].id,
                applied=minions[2:],
                differs={minions[0]: "restarted cron too"},
                failed={minions[1]: "1 failed: nginx"},
            ),
        ),
    )
    text = comment(found, CommentOptions(merged=merged))
    assert "### After the merge of `cccccccc`" in text
    assert "| 1 | 38 | 1 | 1 | 0 |" in text
    assert "failed: `1 failed: nginx`" in text
    assert "differs: `restarted cron too`" in text


def test_a_template_orders_the_parts() -> None:
    found = SAMPLES["one-class"]
    template = "Hello {{ report.head | code }}\n\n{{ summary }}\n\n"
    template += "{% for c in report.classes %}{{ c.folded | code }}{% endfor %}"
    text = comment(found, CommentOptions(template=template))
    assert parse_marker(text) == marker(found)
    assert text.split("\n")[1] == f"Hello `{found.head}`"
    assert "`web[1-40].example.org`" in text
    assert "<details>" not in text


def test_a_template_hides_no_failure() -> None:
    found = SAMPLES["compile-errors"]
    text = comment(found, CommentOptions(template="all is well"))
    assert all(error in text for each in found.broken for error in each.texts)
    assert "all is well" in text


@pytest.mark.parametrize(
    ("template", "why"),
    [
        ("{{ nothing.here }}", "nothing"),
        ("{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}", "steps"),
        ("{{ 'x' * 100000000 }}", "too much"),
        ("{% for a in range(9000) %}{{ 'x' * 10000 }}{% endfor %}", "writes more"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% include 'x' %}", "TemplateNotFound"),
        ("```\n{{ summary }}", "block of code open"),
        ("{% if", "TemplateSyntaxError"),
        ("x" * 70_000, "allowed"),
    ],
)
def test_a_template_that_fails_is_told_and_not_used(template: str, why: str) -> None:
    text = comment(SAMPLES["one-class"], CommentOptions(template=template))
    assert "the template of the comment was not used" in text
    assert why in text
    assert "1 distinct change on 40 of 1,204 minions" in text


@given(found=_REPORTS)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_a_template_keeps_the_budget(found: PreviewReport) -> None:
    template = "{{ title }}\n\n{{ table }}\n\n{{ classes }}\n\n{{ details }}\n\n{{ classes }}"
    text = comment(found, replace(CommentOptions(), budget=MINIMUM_BUDGET, template=template))
    assert len(text) <= MINIMUM_BUDGET
    assert parse_marker(text) == marker(found)


def test_the_line_on_what_is_cut_has_room_kept_for_it() -> None:
    states = tuple(
        ResourceChange(
            action="changed",
            key=f"k{number}",
            title=f"state {number}",
            function="file.managed",
            fields=(FieldDiff(field="contents", old="old", new="x" * 800),),
        )
        for number in range(40)
    )
    one = ChangeClass(id="a", minions=("web1",), folded="web1", resources=states)
    found = report(changed=1, classes=(one,))
    for budget in range(MINIMUM_BUDGET, MINIMUM_BUDGET + 800, 8):
        text = comment(found, CommentOptions(budget=budget, url=URL))
        assert len(text) <= budget
        assert "Not everything fits" in text
