"""Comments as they are posted, in tests/golden/preview; `pytest --rewrite` writes them."""

from __future__ import annotations

from pathlib import Path

import pytest
from preview_reports import SAMPLES, URL

from controller.report.comment import CommentOptions, comment
from controller.report.text import text

_GOLDEN = Path(__file__).parents[2] / "golden" / "preview"


@pytest.mark.parametrize("name", SAMPLES)
def test_the_comment_is_the_golden_one(name: str, request: pytest.FixtureRequest) -> None:
    _compare(_GOLDEN / f"{name}.md", comment(SAMPLES[name], CommentOptions(url=URL)), request)


@pytest.mark.parametrize("name", ["one-class", "compile-errors"])
def test_the_terminal_shows_the_golden_text(name: str, request: pytest.FixtureRequest) -> None:
    shown = text(SAMPLES[name])
    _compare(_GOLDEN / f"{name}.txt", shown, request)


def _compare(path: Path, shown: str, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        path.write_text(shown)
    assert shown == path.read_text()
