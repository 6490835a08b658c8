"""The check of a report: state, title, summary and annotations."""

import pytest
from msgspec import structs

from controller.forges.client import CheckState
from controller.pull_requests.checks import LONGEST_MESSAGE, MOST_ANNOTATIONS, TITLE, check_of, digest_of, failed_check
from controller.pull_requests.explanation import explanation
from controller.schema.reports import ChangeClass, MinionErrors, PreviewReport, ResourceChange, Violation

NAME = "saltern/preview (base)"


def report_of(**fields):
    return PreviewReport(**{"made_at": 1.0, "base": "0" * 40, "head": "a" * 40, "minions": 4, **fields})


def errors(*texts, places=()):
    return MinionErrors(minions=("web1", "web2"), folded="web[1-2]", texts=texts, places=places)


def test_success():
    check = check_of(report_of(), NAME, url="https://saltern.example.org/previews/1")
    assert (check.name, check.state, check.title) == (NAME, CheckState.SUCCESS, "Nothing changes on 4 minions")
    assert check.url.endswith("/1")


def test_errors_are_annotations_on_their_lines():
    found = check_of(
        report_of(broken=(errors("no YAML", "elsewhere", places=("states/web.sls:7", "")),)), NAME
    ).annotations
    assert [(each.path, each.line, each.level) for each in found] == [("states/web.sls", 7, "failure")]
    assert found[0].message == "no YAML\non web[1-2]"


def test_irreversible_acts_are_warnings_on_their_lines():
    act = ResourceChange(
        **{"action": "changed", "key": "k", "title": "motd (file.absent)", "function": "file.absent"},
        origin="motd.sls:1",
        irreversible="the file is removed",
    )
    placed = structs.replace(act, place="states/motd.sls:1")
    classes = tuple(
        ChangeClass(id=n, minions=("web1",), folded="web1", resources=(one,)) for n, one in (("a", act), ("b", placed))
    )
    (found,) = check_of(report_of(classes=classes), NAME).annotations
    assert (found.path, found.line, found.level) == ("states/motd.sls", 1, "warning")
    assert "does not take it back" in found.message


def test_bounds():
    many = errors(*["x" * 10_000] * 200, places=tuple(f"web.sls:{number + 1}" for number in range(200)))
    check = check_of(report_of(broken=(many,), problems=("y" * 10_000,)), NAME)
    assert len(check.annotations) == MOST_ANNOTATIONS
    assert max(len(each.message) for each in check.annotations) <= LONGEST_MESSAGE
    assert len(check.title) <= TITLE
    assert len(check.summary) < 10 * LONGEST_MESSAGE


@pytest.mark.parametrize(("approvable", "approved_by", "state"), [
    (True, "", CheckState.FAILURE),
    (True, "max", CheckState.SUCCESS),
    (False, "max", CheckState.FAILURE),
])  # fmt: skip
def test_violations(approvable, approved_by, state):
    rule = Violation(rule="previews.irreversible", message="a file goes", approvable=approvable)
    assert check_of(report_of(violations=(rule,)), NAME, approved_by=approved_by).state is state


def test_text_of_others_has_no_effect():
    text = "<img src=x> @everyone [x](http://evil) `code` \u202e\nnext"
    summary = check_of(report_of(problems=(text,)), NAME).summary
    assert summary.startswith("- ``")
    assert "\u202e" not in summary + failed_check(NAME, text).title
    assert len(summary.splitlines()) == 2


def test_digest():
    one, other = check_of(report_of(), NAME), check_of(report_of(minions=5), NAME)
    assert digest_of("a", one) == digest_of("a", check_of(report_of(), NAME))
    assert len({digest_of("a", one), digest_of("b", one), digest_of("a", other)}) == 3


STATE = ResourceChange(
    action="changed", key="file_|-motd_|-/etc/motd_|-managed", title="motd (file.managed)", function="file.managed",
    origin="motd.sls:1", irreversible="the file is removed",
)  # fmt: skip


@pytest.mark.parametrize(
    ("minion", "state", "expected"),
    [
        ("web1", "motd", "the file is removed"),
        ("web1", "nginx", "changes no state"),
        ("db1", "motd", "does not compile"),
        ("gone", "motd", "changes nothing"),
    ],
)
def test_explanation(minion, state, expected):
    of = ChangeClass(id="1", minions=("web1",), folded="web1", resources=(STATE,))
    broken = MinionErrors(minions=("db1",), folded="db1", texts=("no YAML",))
    assert expected in explanation(report_of(classes=(of,), broken=(broken,)), minion, state)
