"""The execution module aliases, on a file of its own."""

from pathlib import Path
from typing import Any

import pytest

from minion.execution import CallFailed, Context, Modules

TEXT = """# mail
postmaster:    root
bob: robert  # the builder
list: :include:/etc/list
bob: again
\tindented: line
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "aliases"
    path.write_text(TEXT)
    return path


def call(file: Path, fun: str, *args: Any) -> Any:
    return Modules(Context(minion_id="m", opts={"aliases.file": str(file)})).call(f"aliases.{fun}", args)


def test_aliases_are_read(file: Path) -> None:
    assert call(file, "list_aliases") == {"postmaster": "root", "bob": "again", "list": ":include:/etc/list"}
    assert call(file, "get_target", "postmaster") == "root"
    assert call(file, "get_target", "nobody") == ""
    assert call(file, "has_target", "postmaster", "root") is True
    assert call(file, "has_target", "postmaster", "bob") is False
    assert call(file, "list_aliases") == call(file, "list_aliases")


def test_an_alias_is_set_once_and_other_lines_stay(file: Path) -> None:
    assert call(file, "set_target", "bob", ["a", "b"]) is True
    assert file.read_text() == (
        "# mail\npostmaster:    root\nbob: a, b  # the builder\nlist: :include:/etc/list\n\tindented: line\n"
    )
    before = file.stat().st_ino
    assert call(file, "set_target", "bob", "a, b") is True
    assert file.stat().st_ino == before
    assert call(file, "set_target", "fred", "bob") is True
    assert file.read_text().endswith("fred: bob\n")


def test_an_alias_is_removed(file: Path) -> None:
    assert call(file, "rm_alias", "bob") is True
    assert "bob" not in file.read_text()
    assert call(file, "rm_alias", "bob") is True
    assert call(file, "rm_alias", "") is True
    assert "# mail" in file.read_text()


def test_a_file_that_is_not_there_is_made(tmp_path: Path) -> None:
    path = tmp_path / "new"
    assert call(path, "list_aliases") == {}
    assert call(path, "set_target", "fred", "bob") is True
    assert path.read_text() == "fred: bob\n"
    assert path.stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize("arguments", [("fred", ""), ("", "bob"), ("fred", "a\nroot: |sh")])
def test_empty_names_and_several_lines_are_refused(file: Path, arguments: tuple[str, str]) -> None:
    with pytest.raises(CallFailed, match="empty string"):
        call(file, "set_target", *arguments)
    assert file.read_text() == TEXT


def test_a_wrong_place_is_named() -> None:
    with pytest.raises(CallFailed, match=r"aliases\.file"):
        call(Path("relative"), "list_aliases")
