"""What others wrote has no effect in a report, whatever it is: seen through real renderers of Markdown and HTML."""

from __future__ import annotations

import re
import shutil
import subprocess
import unicodedata
from html.parser import HTMLParser
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from preview_reports import SAMPLES, URL

from controller.report.comment import CommentOptions, comment
from controller.report.escape import code_span, fenced, html_in_markdown, visible
from controller.report.html import CONTENT_SECURITY_POLICY, html
from controller.report.markdown import markdown
from controller.report.text import text
from controller.schema.reports import PreviewReport

_ATTACKS = (
    "EVIL **bold** _it_ [a](http://evil.example) ![i](http://evil.example/x.png)",
    "EVIL <script>alert(1)</script><img src=http://evil.example onerror=x> <!-- hidden -->",
    "EVIL @admin @org/team #1 GH-1 !1 org/states#2 http://evil.example www.evil.example a@evil.example",
    "EVIL`\n\n# EVIL heading\n```\n</details></summary></code></pre> EVIL\n~~~\nEVIL",
    "EVIL ``` ```` ````` | EVIL | \\| EVIL |",
    "EVIL\u202eLIVE\u200b\u200d\ufeff\u2066x\u2069 \u034f\u3164\ufe0f\U000e0101 \r\n# EVIL\r## EVIL\u2028# EVIL",
    "/merge EVIL\n/close\n/saltern approve\n   /saltern apply EVIL",
    "EVIL [x]: http://evil.example\n\nEVIL\n===\n- [ ] EVIL\n> EVIL\n    EVIL\n$`EVIL`$ $$EVIL$$ :tada:",
    "--> EVIL <!-- saltern-preview:v1 controller=x environment=y head=z time=1 -->",
    "EVIL &lt;b&gt; &#64;admin &commat;admin \\@admin",
)


def poisoned(value: Any, attack: str) -> Any:
    """A report as plain data, all of whose texts are the attack."""
    match value:
        case dict():
            return {key: each if key in _FIXED else poisoned(each, attack) for key, each in value.items()}
        case list():
            return [poisoned(each, attack) for each in value]
        case str():
            return attack
        case _:
            return value


_FIXED = ("action", "kind", "certainty", "outcome")
"""Sets that are closed, of our own words."""


def attacked(name: str, attack: str) -> PreviewReport:
    """A sample with the attack everywhere."""
    return msgspec.convert(poisoned(msgspec.to_builtins(SAMPLES[name]), attack), PreviewReport, strict=False)


class _Seen(HTMLParser):
    """What a page has: elements, and text outside code."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.comments: list[str] = []
        self.plain = ""
        self.code = ""
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._open += [tag] if tag not in ("br", "hr", "img", "meta", "input", "link") else []

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if {"code", "pre"} & set(self._open):
            self.code += data
        else:
            self.plain += data

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def cmark(source: str) -> str:
    """GitHub's own renderer, with nothing filtered."""
    program = shutil.which("cmark-gfm")
    if program is None:
        pytest.skip("cmark-gfm is not installed (apt install cmark-gfm)")
    command = [program, "--unsafe", *(part for name in ("table", "autolink", "strikethrough") for part in ("-e", name))]
    return subprocess.run(command, input=source, capture_output=True, text=True, check=True).stdout


def markdown_it(source: str) -> str:
    """Another renderer of CommonMark with tables."""
    found = pytest.importorskip("markdown_it", reason="markdown-it-py is not installed")
    return str(found.MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render(source))


@pytest.mark.parametrize("render", [cmark, markdown_it])
@pytest.mark.parametrize("name", ["one-class", "compile-errors", "strangers", "holes"])
@pytest.mark.parametrize("attack", _ATTACKS)
def test_markdown_has_no_effect_but_ours(render: Any, name: str, attack: str) -> None:
    found = attacked(name, attack)
    for source in (comment(found, CommentOptions(url=URL)), markdown(found)):
        seen = _Seen()
        seen.feed(render(source))
        assert "EVIL" in seen.code
        assert "EVIL" not in seen.plain
        links = [attributes.get("href") for tag, attributes in seen.elements if tag == "a"]
        assert set(links) <= {URL}
        assert {tag for tag, _ in seen.elements} <= _OURS
        assert len(seen.comments) <= 1
        assert not any(re.match(r"/\w", line) for line in source.split("\n"))


_OURS = frozenset(("a", "b", "code", "details", "h1", "h2", "h3", "h4", "li", "p", "pre", "strong", "summary")) | {
    *("table", "tbody", "td", "th", "thead", "tr", "ul")
}


@pytest.mark.parametrize("name", ["one-class", "compile-errors"])
@pytest.mark.parametrize("attack", _ATTACKS)
def test_a_forge_without_html_shows_the_same(name: str, attack: str) -> None:
    source = comment(attacked(name, attack), CommentOptions(url=URL, html=False))
    seen = _Seen()
    seen.feed(cmark(source))
    assert "EVIL" not in seen.plain
    assert "<details>" not in source.replace(attack, "")
    assert "saltern-preview" not in seen.plain


@pytest.mark.parametrize("name", ["one-class", "compile-errors", "strangers"])
@pytest.mark.parametrize("attack", _ATTACKS)
def test_the_page_has_no_effect_but_ours(name: str, attack: str) -> None:
    page = html(attacked(name, attack))
    seen = _Seen()
    seen.feed(page)
    assert not {tag for tag, _ in seen.elements} & {"script", "img", "iframe", "a", "form", "input", "link", "base"}
    for tag, attributes in seen.elements:
        assert not any(key.startswith("on") or "EVIL" in str(value) for key, value in attributes.items()), tag
    assert not seen.comments
    assert CONTENT_SECURITY_POLICY in page
    assert "unsafe-inline" not in page


@pytest.mark.parametrize("attack", _ATTACKS)
def test_nothing_is_hidden_or_reordered(attack: str) -> None:
    found = attacked("one-class", attack)
    for shown in (comment(found), markdown(found), html(found), text(found)):
        assert not [
            each for each in shown if unicodedata.category(each) in ("Cf", "Cc", "Zl", "Zp") and each not in "\n\t"
        ]
    if "\u202e" in attack:
        assert "\\u202e" in markdown(found)
        assert "\\u200b" in html(found)
        assert "\\u3164" in text(found)


@given(st.text())
@settings(max_examples=300, deadline=None)
def test_what_is_visible_stays_as_it_is(found: str) -> None:
    shown = visible(found)
    assert shown.isprintable()
    assert visible(shown) == shown
    if found.isascii() and found.isprintable():
        assert shown == found


@given(st.text(alphabet="`~|\\ab \n<>&*_[]@#!$/", max_size=40))
@settings(max_examples=60, deadline=None)
def test_code_shows_its_text(found: str) -> None:
    seen = _Seen()
    seen.feed(cmark(f"| h |\n|---|\n| x {code_span(found, 100)} y |\n\n{fenced(found, '')}\n\nend\n"))
    assert seen.plain.split() == ["h", "x", "y", "end"]
    seen = _Seen()
    seen.feed(cmark(f"<details><summary>{html_in_markdown(found, 100)}</summary>\n\nx\n\n</details>"))
    assert seen.plain.split() == ["x"]
    assert seen.code.strip() == (visible(found).strip() or "(empty)")


def test_letters_from_right_to_left_stay_apart() -> None:
    span = code_span("שלום", 100)
    assert (span[0], span[-1]) == ("\u2068", "\u2069")
    assert code_span("plain", 100) == "`plain`"


def test_piled_marks_are_written_out() -> None:
    assert visible("e" + "\u0301" * 5) == "e" + "\u0301" * 3 + "\\u0301" * 2
