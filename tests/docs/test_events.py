"""docs/events.md has every event of Saltern's own that the code publishes."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROOMS = ("controller", "minion", "reactors")
ANY = "X"
"""A part of a tag that is known at run time alone."""
NO_EVENTS = {"saltern/deploy", "saltern/v1"}
"""The context of a commit status; what manages objects of Kubernetes."""


@cache
def tags_of_code() -> frozenset[str]:
    return frozenset(tags_in_strings())


def tags_in_strings() -> Iterator[str]:
    """Tags as they stand in strings and f-strings; globs, and beginnings that only name a family, are left out."""
    for room in ROOMS:
        for path in (ROOT / room).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in ast.walk(tree):
                tag = text_of(node) if id(node) not in parts else ""
                if re.fullmatch(r"saltern/[\w/-]*[\w-]", tag):
                    yield tag


def text_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    return "".join(str(part.value) if isinstance(part, ast.Constant) else ANY for part in node.values)


def tags_of_page(text: str) -> set[str]:
    """Tags of the tables; `…/resumed` is beside the tag before it."""
    found, before = set(), ""
    for cell in re.findall(r"^\| (`[^|]*`) \|", text, re.MULTILINE):
        for tag in re.findall(r"`([^`]+)`", cell):
            before = f"{before.rpartition('/')[0]}/{tag.removeprefix('…/')}" if tag.startswith("…/") else tag
            found.add(before)
    return found


def is_on(page: set[str], tag: str) -> bool:
    words = tag.split("/")
    return any(
        len(parts := one.split("/")) == len(words)
        and all(part.isupper() or part == word or word == ANY for part, word in zip(parts, words, strict=True))
        for one in page
    )


def test_every_event_is_on_the_page(pages):
    page = tags_of_page(pages["docs/events.md"].section("Saltern's own events"))
    code = tags_of_code() - NO_EVENTS
    assert len(code) > 40
    assert sorted(tag for tag in code if not is_on(page, tag)) == []


CHOSEN = (
    "saltern/rollout/",
    "saltern/pull/",
    "saltern/reaction/",
    "saltern/returner/",
    "saltern/ensure/",
    "saltern/minion/ID/paused",
    "saltern/minion/ID/resumed",
    "saltern/minion/ID/agent/",
    "saltern/schedule/",
)
"""Events whose last word is chosen at run time."""


def test_the_page_has_no_event_that_there_is_not(pages):
    known = [re.sub(ANY, "[^/]+", tag) for tag in tags_of_code() if not tag.endswith(ANY)]
    page = tags_of_page(pages["docs/events.md"].section("Saltern's own events"))
    assert len(page) > 60
    missing = [tag for tag in page if not tag.startswith(CHOSEN) and not any(re.fullmatch(one, tag) for one in known)]
    assert missing == []
