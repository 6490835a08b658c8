"""`make example NAME=previews`: a pull request on a forge of each kind, from its preview to what its merge did.

The controller, the minion and git are real; the forges are those of the tests, which answer as the real ones do. The
options are those of examples/previews, with the addresses and tokens of the forges on this machine.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from every_forge import AllForges, Repository

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "previews"
Echo = Callable[[str], object]


def forge_options() -> dict[str, dict[str, Any]]:
    """Kind -> its entry in `forges`, of the file that is named so."""
    files = sorted(EXAMPLE.glob("*.conf"))
    return {path.stem: yaml.safe_load(path.read_text())["forges"][0] for path in files}


def run_previews(echo: Echo) -> None:
    """Open, ask and merge on each forge.

    Raises:
        Failed: something of it did not happen.
    """
    folder = Path(tempfile.mkdtemp(prefix="sa-"))
    written = {_fake_of(kind): options for kind, options in forge_options().items()}
    forges = AllForges(folder, [*written], written=written, policy=(EXAMPLE / "saltern.yaml").read_text())
    try:
        forges.start()
        echo("alice opens a pull request on each forge. The controller comments it and sets the check.")
        forges.each(lambda one: one.open(1))
        forges.wait("a comment and a check", lambda one: one.has_report())
        newest = next(iter(forges.of.values()))
        echo(f"\n{newest.ours()[0].body}\n")
        echo("max comments: /saltern help")
        forges.each(_ask)
        forges.wait("an answer", lambda one: one.has_report(2) and "/saltern preview" in one.ours()[1].body)
        echo("max merges. The comment is completed with what became of it.")
        for one in forges.of.values():  # one after the other: each is then what its preview said, and nothing else
            one.merge()
            forges.wait("what became of it", lambda each, one=one: each is not one or _is_completed(each))
            echo(f"  {one.name}: number 1 is applied, and the comment says so")
        echo(f"\n{newest.ours()[0].body}\n")
    finally:
        forges.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _fake_of(kind: str) -> str:
    """The forge of the tests; that of GitHub with an App has a name of its own."""
    return "github-app" if kind == "github" else kind


def _ask(one: Repository) -> None:
    one.asked = one.fake.model.comment(one.pull, "max", "/saltern help")


def _is_completed(one: Repository) -> bool:
    file = one.rig.root("web1") / one.name
    return file.read_text() == "number 1\n" and "After the merge of" in one.ours()[0].body
