"""The documentation as text, for tests that hold it against the code."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^(?P<pad> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=pad)```$", re.MULTILINE | re.DOTALL)
_HEADING = re.compile(r"^(#{1,6}) (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """What stands between two fences."""

    language: str
    text: str
    place: str


@dataclass(frozen=True)
class Page:
    """One Markdown file."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        return str(self.path.relative_to(ROOT))

    @property
    def prose(self) -> str:
        """The text without what stands between fences."""
        return _FENCE.sub("", self.text)

    def blocks(self, *languages: str) -> list[Block]:
        return [
            Block(found["language"], textwrap.dedent(found["text"]), f"{self.name}:{self.line(found.start())}")
            for found in _FENCE.finditer(self.text)
            if found["language"] in languages or not languages
        ]

    def line(self, offset: int) -> int:
        return self.text.count("\n", 0, offset) + 1

    def section(self, title: str) -> str:
        """What stands below a heading, until the next one of its level or above; code left out."""
        lines, level, kept = self.prose.splitlines(), 0, []
        for line in lines:
            heading = _HEADING.match(line)
            if heading and level and len(heading[1]) <= level:
                break
            if level:
                kept.append(line)
            elif heading and heading[2] == title:
                level = len(heading[1])
        assert level, f"{self.name} has no section {title!r}"
        return "\n".join(kept)

    def anchors(self) -> set[str]:
        """As forges make them of headings."""
        return {
            re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")
            for _, title in _HEADING.findall(self.prose)
        }


def rows(text: str) -> list[list[str]]:
    """The cells of all tables in a text, heads left out."""
    found: list[list[str]] = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        is_head = number + 1 < len(lines) and lines[number + 1].startswith("|--")
        if line.startswith("|") and not line.startswith("|--") and not is_head:
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            found.append([cell.strip().replace("\\|", "|") for cell in cells])
    return found


def coded(text: str) -> list[str]:
    """What stands between backticks."""
    return re.findall(r"`([^`]+)`", text)


@pytest.fixture(scope="session")
def pages() -> dict[str, Page]:
    """README, ARCHITECTURE, CONTRIBUTING, CHANGELOG and docs/*.md by name."""
    paths = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    found = [Page(path, path.read_text(encoding="utf-8")) for path in sorted(paths)]
    return {page.name: page for page in found}


@pytest.fixture(scope="session", name="rows")
def rows_fixture():
    return rows


@pytest.fixture(scope="session", name="coded")
def coded_fixture():
    return coded


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture(scope="session")
def prometheus_folder() -> Path:
    return ROOT / "ops" / "prometheus"


@pytest.fixture(scope="session")
def systemd_folder() -> Path:
    return ROOT / "ops" / "systemd"


@pytest.fixture(scope="session")
def recorded(prometheus_folder):
    """The recording rules."""
    groups = yaml.safe_load((prometheus_folder / "recording.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]


@pytest.fixture(scope="session")
def alerts(prometheus_folder):
    """The alert rules."""
    groups = yaml.safe_load((prometheus_folder / "alerts.yml").read_text())["groups"]
    return [rule for group in groups for rule in group["rules"]]
