"""docs/limitations.md does not deny what is there, nor promise what is not."""

from __future__ import annotations

from highstate.render.steps import RENDERERS
from minion.modules import loader
from minion.states import registry

PAGE = "docs/limitations.md"


def item(page, start: str) -> str:
    """One item of a list, its lines joined."""
    text = page.prose[page.prose.index(f"\n- {start}") + 3 :]
    return " ".join(text.partition("\n- ")[0].partition("\n\n")[0].split())


def test_state_modules(pages, coded):
    assert sorted(coded(item(pages[PAGE], "State modules:"))) == sorted(registry.MODULES)


def test_functions_of_file(pages, coded):
    there, _, missing = item(pages[PAGE], "`file`:").partition(" No ")
    known = {name.partition(".")[2] for name in registry.names() if name.startswith("file.")}
    assert set(coded(there)) - {"file"} == known
    assert not set(coded(missing)) & known


def test_execution_modules(pages, coded):
    said = item(pages[PAGE], "Execution functions:").partition(", and not all")[0]
    assert sorted(coded(said)) == sorted(loader.MODULES)


def test_renderers(pages, coded):
    there, _, missing = item(pages[PAGE], "Renderers:").partition(" No ")
    assert set(coded(there)) | {"gpg"} == set(RENDERERS)
    assert not set(coded(missing.partition(".")[0])) & set(RENDERERS)
