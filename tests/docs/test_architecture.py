"""ARCHITECTURE.md and CONTRIBUTING.md name what is there, and each folder of the rooms has its line."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("controller", "extmods", "gitfs", "highstate", "matching", "minion", "options", "reactors", "saltern", "wire")
FAMILIES = ("minion/modules/", "minion/providers/", "minion/states/")
"""Folders whose line says that a family of files has a folder below."""
DOTTED = re.compile(rf"(?<![\w/`])`?((?:{'|'.join((*ROOMS, 'tools'))})(?:\.\w+)+)")
PAGES = ("ARCHITECTURE.md", "CONTRIBUTING.md")


def test_each_folder_has_its_line():
    page = (ROOT / "ARCHITECTURE.md").read_text()
    told = set(re.findall(r"`([\w/]+)/`", page)) | {"controller", "minion"}
    folders = {path.parent.relative_to(ROOT).as_posix() for room in ROOMS for path in (ROOT / room).rglob("*.py")}
    assert {folder for folder in folders if not folder.startswith(FAMILIES)} - told == set()
    gone = {one for one in told if one.split("/")[0] in ROOMS and not (ROOT / one).is_dir()}
    assert gone == set()


@pytest.mark.parametrize("page", PAGES)
def test_what_is_named_is_there(page):
    named = {name for name in DOTTED.findall((ROOT / page).read_text()) if not name.endswith((".md", ".py", ".yaml"))}
    assert len(named) > 5
    assert {name for name in named if not is_there(name)} == set()


@pytest.mark.parametrize("page", PAGES)
def test_each_file_that_is_named_is_there(page):
    files = set(re.findall(r"[`(]((?:[\w.-]+/)+[\w.-]+\.(?:py|md|yaml|txt))[`)]", (ROOT / page).read_text()))
    assert files
    assert {file for file in files if not (ROOT / file).exists()} == set()


def is_there(name):
    """Whether a dotted name is a module, or what a module or package has at its top, or in a class there."""
    parts = name.split(".")
    for length in range(len(parts), 0, -1):
        path = ROOT.joinpath(*parts[:length])
        file = path.with_suffix(".py") if path.with_suffix(".py").exists() else path / "__init__.py"
        if file.exists():
            text = file.read_text()
            return all(re.search(rf"\b(?:class|def|import) {part}\b|\b{part}\b", text) for part in parts[length:])
    return False
