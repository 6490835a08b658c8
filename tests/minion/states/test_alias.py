"""Aliases of the mail system, in a file of the test; results and contents as Salt's, but for lines that it loses."""

from collections.abc import Callable
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.machine.machine import LocalMachine

Converge = Callable[..., StateResult]
FILE = """# remark
three:  a, b   # why
changed : old # keep this
same: x, y
prog: "|/usr/bin/prog -x"

changed: again
lonely
  continued
"""


@pytest.fixture
def mail(tmp_path: Path) -> LocalMachine:
    (tmp_path / "aliases").write_text(FILE)
    (tmp_path / "link").symlink_to("aliases")
    return LocalMachine(sources_port=MemoryFiles({}), opts={"aliases.file": str(tmp_path / "link")})


def test_aliases_are_set_and_removed(converge: Converge, mail: LocalMachine, tmp_path: Path) -> None:
    one = converge("alias.present", "one", machine=mail, target="root")
    assert (one.comment, one.changes) == ("Set email alias one -> root", {"alias": "one"})
    two = converge("alias.present", "two", machine=mail, target=["a@b.c", "root"])
    assert two.comment == "Set email alias two -> ['a@b.c', 'root']"
    assert converge("alias.present", "changed", machine=mail, target="new").changes == {"alias": "changed"}
    assert converge("alias.present", "same", machine=mail, target="x, y").comment == "Alias same already present"
    assert converge("alias.absent", "three", machine=mail).comment == "Removed alias three"
    assert converge("alias.absent", "three", machine=mail).comment == "Alias three already absent"
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "aliases").read_text() == (
        '# remark\nchanged: new # keep this\nsame: x, y\nprog: "|/usr/bin/prog -x"\n\nlonely\n  continued\n'
        "one: root\ntwo: a@b.c, root\n"
    )


def test_a_target_is_one_line(converge: Converge, mail: LocalMachine) -> None:
    for target in "", "root\nevil: x":
        found = converge("alias.present", "one", machine=mail, target=target)
        assert (found.result, "target can not be an empty string" in found.comment) == (False, True)


def test_the_file_is_made(converge: Converge, tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"aliases.file": str(tmp_path / "new")})
    assert converge("alias.present", "one", machine=machine, target="root").changes
    assert (tmp_path / "new").read_text() == "one: root\n"
