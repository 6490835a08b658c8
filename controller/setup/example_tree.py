"""A first tree of states and pillar, as a git repository with one commit."""

from __future__ import annotations

from pathlib import Path

import pygit2

_BRANCH = "main"
_README = """\
Change a file, commit, and the controller applies it: it watches this repository.

states/top.sls       which minion has which states
states/hello.sls     a state
states/saltern.yaml  the policy: how a push is applied, and what happens to drift
pillar/              values for states

saltern preview --base main --head BRANCH   what a branch would change, before you merge it
saltern status                              where each minion stands
"""
_FILES = {
    "README": _README,
    "states/top.sls": "base:\n  '*':\n    - hello\n",
    "states/hello.sls": (
        "# A file on each minion. Change it there by hand, and `saltern status` shows the drift.\n"
        "hello:\n"
        "  file.managed:\n"
        "    - name: {{ pillar['hello']['file'] }}\n"
        "    - makedirs: true\n"
        "    - contents: Hello from {{ grains['id'] }}\n"
    ),
    "states/saltern.yaml": (
        "drift:\n"
        "  # `remediate` puts it right, too.\n"
        "  mode: report\n"
        "  # A file or service that somebody else changes is seen at once, everything else every half hour.\n"
        "  watch: true\n"
        "  interval: 30m\n"
    ),
    "pillar/top.sls": "base:\n  '*':\n    - hello\n",
}


class CannotMakeTree(Exception):
    """The repository could not be made; the text says why."""


def make_example_tree(folder: Path, managed: Path) -> None:
    """Make the repository in a folder that is not there, or empty.

    Args:
        folder: becomes the work tree, with branch `main`.
        managed: the file that the example has on each minion.

    Raises:
        CannotMakeTree: it cannot be written.
    """
    pillar = f"hello:\n  file: {managed}\n"
    try:
        for name, text in {**_FILES, "pillar/hello.sls": pillar}.items():
            path = folder / name
            path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        repository = pygit2.init_repository(str(folder), initial_head=_BRANCH)
        repository.index.add_all()
        repository.index.write()
        author = pygit2.Signature("saltern init", "saltern@localhost")
        tree = repository.index.write_tree()
        repository.create_commit(f"refs/heads/{_BRANCH}", author, author, "An example\n", tree, [])
    except (OSError, pygit2.GitError) as error:
        raise CannotMakeTree(f"{folder}: {error}") from error


def is_free(folder: Path) -> bool:
    """Whether the repository can be made here. OSError where nobody may look."""
    return not folder.exists() or (folder.is_dir() and not any(folder.iterdir()))
