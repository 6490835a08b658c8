"""What minions and branches say, as people and comments on pull requests are shown it."""

from controller.cli import output
from controller.cli.client import json_lines
from controller.report.markdown import markdown
from controller.schema.reports import ChangeClass, LiveTest, PreviewReport


def preview_of(**test):
    tests = (LiveTest(minion="web1", **test),)
    one = ChangeClass(id="1", minions=("web1",), folded="web1", resources=(), tests=tests)
    return markdown(PreviewReport(made_at=1.0, base="a", head="b", minions=1, changed=1, classes=(one,)))


def test_a_summary_puts_no_markdown_into_a_comment():
    hostile = "@team <img src=//evil.example> ![x](//evil.example)"
    assert f"- `web1`: failed `{hostile}`" in preview_of(outcome="failed", summary=hostile)
    assert "failed `` a`b ``" in preview_of(outcome="failed", summary="a`b")
    assert "failed `a\\n\\nb`" in preview_of(outcome="failed", summary="a\n\nb")


def test_states_are_shown_whatever_their_numbers_are():
    numbers = ["x", None, [1], 2, 1.5, float("inf")]
    found = {f"test_|-{at}_|-{at}_|-nop": {"result": True, "__run_num__": each} for at, each in enumerate(numbers)}
    assert len(output.states(found)) == 6


def test_a_comment_shows_what_happens_to_files():
    changes = {"diff": "--- \n+++ \n@@ -1 +1 @@\n-a\n+b ```", "mode": "0600"}
    states = {
        "file_|-motd_|-/etc/motd_|-managed": {"result": None, "comment": "set to be\nchanged", "changes": changes}
    }
    shown = preview_of(outcome="pending", summary="motd", states=states).splitlines()
    assert "````diff" in shown, "what a file holds must stay inside its fence"
    assert shown[shown.index("````diff") + 1 :][:7] == [
        "# motd (file.managed): set to be changed", "--- ", "+++ ", "@@ -1 +1 @@", "-a", "+b ```", "  mode: 0600"
    ]  # fmt: skip


def test_states_of_a_step_are_shown_by_minion():
    inner = {"test_|-a_|-a_|-nop": {"result": True, "comment": "Success!", "changes": {}, "__run_num__": 0}}
    changes = {"out": "highstate", "ret": {"web1": inner, "web2": False, "db1": ["no SLS"]}}
    found = {"salt_|-web_|-web_|-state": {"result": False, "comment": "Run failed", "changes": changes}}
    assert output.states(found) == [
        "failed   salt.state web",
        "         Run failed",
        "           web1:",
        "               ok       test.nop a",
        "                        Success!",
        "           web2:",
        "               False",
        "           db1:",
        "               - no SLS",
    ]
    odd = {"salt_|-web_|-web_|-state": {"result": True, "changes": {"out": "highstate", "ret": 3}}}
    assert output.states(odd)[1:] == [
        "           out:",
        "               highstate",
        "           ret:",
        "               3",
    ]


def test_lines_of_a_stream_end_where_they_end():
    parts = [b'{"a": "x\x0by', "\x85z\u2028".encode(), b'"}\n{"b"', b": 1}\n\n[]"]
    assert list(json_lines(parts)) == [b'{"a": "x\x0by' + "\x85z\u2028".encode() + b'"}', b'{"b": 1}', b"", b"[]"]
