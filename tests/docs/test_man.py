"""The man pages have every verb, subcommand and option, and man renders them without a warning."""

import re
import shutil
import subprocess

import click
import pytest

from controller.cli.main import VERBS, saltern
from tools.docs import man

_FORMATTING = re.compile(r"\x1b\[[0-9;]*m|.\x08")


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """File name -> the page as 80 columns show it. All are rendered at once, with all warnings of groff."""
    if shutil.which("groff") is None:
        pytest.skip("groff-base is not installed")
    folder = tmp_path_factory.mktemp("man")
    pages = man.pages()
    for name, text in pages.items():
        (folder / name).write_text(text)
    words = ["groff", "-man", "-ww", "-Kutf8", "-Tutf8", "-rLL=80n", "-P-c", *pages]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True, timeout=60)
    assert done.stderr == ""
    return _FORMATTING.sub("", done.stdout)


def test_no_line_is_wider_than_the_terminal(rendered):
    assert [line for line in rendered.splitlines() if len(line) > 80] == []


def test_what_is_rendered_can_be_copied(rendered):
    assert "saltern run 'web*' state.apply" in rendered
    assert "--file-root" in rendered
    assert "~/.saltern_token" in rendered


@pytest.mark.parametrize("verb", VERBS)
def test_each_verb_has_a_page_with_all_its_options(verb):
    page = man.pages_of([verb])[f"saltern-{verb}.1"]
    command = saltern.get_command(click.Context(saltern), verb)
    for each, path in _all(command, f"saltern {verb}"):
        assert path in page, path
        for option in each.params:
            for name in option.opts if isinstance(option, click.Option) and not option.hidden else ():
                assert name.replace("-", r"\-") in page, f"{path} {name}"


def test_the_first_page_names_all_verbs_and_what_they_have_in_common():
    page = man.pages_of([])["saltern.1"]
    for verb in VERBS:
        assert rf"saltern\-{verb}" in page
    for word in ("NO_COLOR", "SALTERN_TOKEN", "130", "no controller answers"):
        assert word in page


def test_the_command_writes_them(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.argv", ["man", str(tmp_path / "man1")])
    man.main()
    assert len(list((tmp_path / "man1").glob("saltern*.1"))) == len(VERBS) + 1


def _all(command, path):
    yield command, path
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _all(inner, f"{path} {name}")
