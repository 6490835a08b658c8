"""What the documentation site has beside docs/: README as its first page, the pages at the root, and the examples.

mkdocs calls the functions `on_*` (mkdocs.yml names this file). Pages are written for the forge, where links lead from
file to file of the repository; here they are rewritten to where those files stand on the site.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md")
FOLDERS = ("examples", "ops/container", "ops/grafana", "ops/prometheus", "ops/systemd")
_FENCE = re.compile(r"(^ *```.*?^ *```$)", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")
_CODE = re.compile(r"`[^`\n]+`")
_ITEM = re.compile(r"(?:-|\d+\.) ")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Name all files of a folder where the navigation names the folder."""
    config.nav = [_expanded(entry) for entry in config.nav or []]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the files that are not in docs/."""
    named = dict.fromkeys([*PAGES, *_examples()], InclusionLevel.INCLUDED)
    for folder in FOLDERS:
        paths = sorted(
            path for path in (ROOT / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts
        )
        names = [path.relative_to(ROOT).as_posix() for path in paths]
        named |= {name: InclusionLevel.NOT_IN_NAV for name in names if name not in named}
    for name, inclusion in named.items():
        files.append(File.generated(config, site_path(name), abs_src_path=str(ROOT / name), inclusion=inclusion))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links lead to files of the site, and lists and bars in code of tables be what they are on a forge."""
    parts = _FENCE.split("\n".join(_indented(markdown.splitlines())))
    own = page.file.src_uri
    return "".join(part if number % 2 else _rewritten(part, own) for number, part in enumerate(parts))


def site_path(name: str) -> str:
    """Where a file of the repository stands on the site, relative to its root."""
    if name == "README.md":
        return "index.md"
    return name.removeprefix("docs/")


def repository_path(uri: str) -> str:
    """The file of the repository that stands at a place of the site."""
    if uri == "index.md":
        return "README.md"
    return uri if uri in PAGES or uri.startswith(FOLDERS) else f"docs/{uri}"


def _expanded(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    [(title, inner)] = entry.items()
    if isinstance(inner, list):
        return {title: [_expanded(each) for each in inner]}
    if inner == "examples/":
        return {title: _examples()}
    if inner.endswith("/"):
        return {title: [f"{inner}{path.name}" for path in sorted((ROOT / "docs" / inner).glob("*.md"))]}
    return entry


def _examples() -> list[str]:
    """The pages of the examples, their list first."""
    pages = [*(ROOT / "examples").glob("README.md"), *sorted((ROOT / "examples").glob("*/README.md"))]
    return [path.relative_to(ROOT).as_posix() for path in pages]


def _indented(lines: list[str]) -> Iterator[str]:
    """Lists as Python-Markdown wants them: a blank line before the first item, four spaces below each."""
    offset, before, fenced = 0, "", False
    for line in lines:
        if line.startswith("```"):
            fenced = not fenced
        item = None if fenced else _ITEM.match(line)
        if item:
            if before and not offset:
                yield ""
            offset = len(item[0])
        elif fenced or (line and not line.startswith(" ") and not before):
            offset = 0
        inside = offset and not item and line.startswith(" " * offset)
        yield " " * (4 - offset) + line if inside else line
        before = line


def _rewritten(text: str, own: str) -> str:
    folder = posixpath.dirname(repository_path(own))

    def link(found: re.Match[str]) -> str:
        name = posixpath.normpath(posixpath.join(folder, found[1]))
        if (ROOT / name).is_dir():
            name += "/README.md"
        return f"]({posixpath.relpath(site_path(name), posixpath.dirname(own) or '.')}{found[2] or ''})"

    text = _LINK.sub(link, text)
    return re.sub(r"^\|.*$", lambda row: _CODE.sub(lambda code: code[0].replace("\\|", "|"), row[0]), text, flags=re.M)
