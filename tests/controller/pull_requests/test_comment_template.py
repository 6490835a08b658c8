"""A tree's own wording of the comment is read from beside its policy."""

from __future__ import annotations

import pytest
from preview_reports import SAMPLES

from controller.pull_requests.comment_template import COMMENT_TEMPLATE, read_template
from controller.report.comment import CommentOptions, comment
from gitfs.tree.snapshot import directory_snapshot


@pytest.mark.parametrize(
    ("written", "shown"),
    [
        (b"\xef\xbb\xbfOur words\n\n{{ summary }}", "Our words"),
        (b"\xff {{ title }}", "\ufffd"),
        (b"x" * 100_000, "the template of the comment was not used"),
        (None, "1 distinct change"),
    ],
)
def test_the_template_of_the_tree_words_the_comment(tmp_path, written, shown):
    if written is not None:
        (tmp_path / COMMENT_TEMPLATE).write_bytes(written)
    template = read_template(directory_snapshot({"base": [str(tmp_path)]}))
    assert shown in comment(SAMPLES["one-class"], CommentOptions(template=template))
