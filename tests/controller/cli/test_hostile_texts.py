"""What minions and branches say, as people and comments on pull requests are shown it."""

from controller.cli import output
from controller.cli.verbs.preview import PreviewItems, markdown
from controller.schema.previews import PreviewResult


def preview_of(summary):
    items = PreviewItems()
    items.add(PreviewResult(minion="web1", outcome="failed", summary=summary))
    return markdown(items)


def test_a_summary_puts_no_markdown_into_a_comment():
    hostile = "@team <img src=//evil.example> ![x](//evil.example)"
    assert f"**failed** `{hostile}`" in preview_of(hostile)
    assert "**failed** `` a`b ``" in preview_of("a`b")
    assert "**failed** `a b`" in preview_of("a\n\nb")
    assert preview_of("").startswith("- `web1` (test=True): **failed**\n")


def test_states_are_shown_whatever_their_numbers_are():
    numbers = ["x", None, [1], 2, 1.5, float("inf")]
    found = {f"test_|-{at}_|-{at}_|-nop": {"result": True, "__run_num__": each} for at, each in enumerate(numbers)}
    assert len(output.states(found)) == 6


def test_a_comment_shows_what_happens_to_files():
    items = PreviewItems()
    changes = {"diff": "--- \n+++ \n@@ -1 +1 @@\n-a\n+b ```", "mode": "0600"}
    states = {
        "file_|-motd_|-/etc/motd_|-managed": {"result": None, "comment": "set to be\nchanged", "changes": changes}
    }
    items.add(PreviewResult(minion="web1", outcome="pending", summary="motd", states=states))
    shown = markdown(items).splitlines()
    assert "````diff" in shown, "what a file holds must stay inside its fence"
    assert shown[shown.index("````diff") + 1 :][:7] == [
        "# motd [/etc/motd] (file.managed): set to be", "--- ", "+++ ", "@@ -1 +1 @@", "-a", "+b ```", "mode:"
    ]  # fmt: skip
