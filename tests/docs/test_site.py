"""The documentation builds as a site without a warning, its links resolve, and it asks nothing of other hosts."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ASSETS = {"link": "href", "script": "src", "img": "src", "iframe": "src", "source": "src", "object": "data"}
PARTS = ("Tutorial", "How-to", "Reference", "Explanation")


@dataclass
class BuiltPage(HTMLParser):
    """One page of the site."""

    path: Path
    assets: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if given.get("id"):
            self.ids.add(given["id"])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get(ASSETS.get(tag, "")):
            self.assets.append(given[ASSETS[tag]])


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(built)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=300)
    said = done.stdout + done.stderr
    assert (done.returncode, said) == (0, ""), f"{said}\na new page has to stand in the navigation of mkdocs.yml"
    return built


@pytest.fixture(scope="module")
def site(folder) -> dict[Path, BuiltPage]:
    """Pages of the theme; 404.html is for servers, and files of examples are as they are."""
    paths = [path for path in sorted(folder.rglob("*.html")) if path != folder / "404.html"]
    return {path: BuiltPage(path) for path in paths if "htdocs" not in path.parts}


def test_every_page_is_there(folder):
    for page in [*(ROOT / "docs").rglob("*.md"), *ROOT.glob("examples/*/README.md")]:
        name = page.relative_to(ROOT / "docs" if ROOT / "docs" in page.parents else ROOT)
        built = name.with_name("index.html") if name.name == "README.md" else name.with_suffix(".html")
        assert (folder / built).is_file(), name


def test_four_parts(folder):
    tabs = (folder / "index.html").read_text().partition("md-tabs__list")[2].partition("</nav>")[0]
    assert [part for part in PARTS if f"{part}\n" in re.sub(r"<[^>]*>| {2,}", "", tabs) + "\n"] == list(PARTS)


def test_links_and_anchors_lead_somewhere(site, folder):
    broken, seen = [], 0
    for page in site.values():
        for target in page.links:
            if re.match(r"[a-z]+:", target):
                continue
            seen += 1
            name, _, anchor = target.partition("#")
            path = (page.path.parent / name).resolve() if name else page.path
            path = path / "index.html" if path.is_dir() else path
            if not path.is_file() or (anchor and path in site and anchor not in site[path].ids):
                broken.append(f"{page.path.relative_to(folder)}: {target}")
    assert seen > 1000
    assert broken == []


def test_every_page_is_reached_from_the_first(site, folder):
    reached, waiting = set(), [folder / "index.html"]
    while waiting:
        path = waiting.pop()
        if path in reached or path not in site:
            continue
        reached.add(path)
        names = [target.partition("#")[0] for target in site[path].links if not re.match(r"[a-z]+:", target)]
        waiting += [(path.parent / name).resolve() for name in names if name]
    lost = sorted(str(path.relative_to(folder)) for path in {*site} - reached)
    assert lost == []


def test_nothing_comes_from_another_host(site, folder):
    outside = re.compile(r"(?:[a-z]+:)?//(?!www\.w3\.org)")
    strange = [f"{page.path.name}: {one}" for page in site.values() for one in page.assets if outside.match(one)]
    assert strange == []
    assert all(page.assets for page in site.values())
    sheets = "".join(path.read_text() for path in folder.rglob("*.css"))
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//[^)\s]*", sheets) == []


def test_pages_are_rendered_as_on_a_forge(site, folder):
    """No list, fence, table or link is taken for text."""
    wrong = []
    for page in site.values():
        body = page.text.partition("<article")[2].partition("</article>")[0]
        prose = re.sub(r"<pre.*?</pre>", "", body, flags=re.S)
        for text in re.findall(r"<(?:p|li|td)>(.*?)</(?:p|li|td)>", prose, flags=re.S):
            if (
                "```" in text
                or re.search(r"^(?:- |\d+\. |\| )", text, flags=re.M)
                or "\\|</code>" in text
                or "](" in text
            ):
                wrong.append(f"{page.path.relative_to(folder)}: {text[:80]}")
    assert wrong == []


def test_the_search_finds_pages_without_a_network(folder):
    index = json.loads((folder / "search/search_index.json").read_text())
    found = {each["location"].partition("#")[0] for each in index["docs"] if "canary" in each["text"].lower()}
    assert {"rollouts.html", "policy.html"} <= found
    assert (folder / "search/search_index.js").read_text().startswith("var __index =")
    assert "window.IFrameWorker" in (folder / "assets/iframe-worker.js").read_text()
    assert "assets/iframe-worker.js" in (folder / "index.html").read_text()


def test_make_says_where_the_site_is():
    said = subprocess.run(["make", "-n", "docs"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert f"open file://{ROOT}/dist/site/index.html" in said
