"""The attack's own git server as long as it is honest: what the controller follows there before the attack begins."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from git_servers import Backend, serving

from tools.attack.scene import HOST, git

FETCH_SECONDS = 1
"""Between two polls of a remote of this server."""


class PublicBackend(Backend):
    """git's own http-backend, for everybody."""

    def is_let_in(self) -> bool:
        """Everybody is."""
        return True


def make_repositories(folder: Path, count: int) -> None:
    """`far0.git` and so on, each with a branch `main` of one file."""
    work, first = folder / "work", folder / "far0.git"
    work.mkdir(parents=True)
    git("init", "-q", "--initial-branch=main", cwd=work)
    (work / "far.txt").write_text("far\n")
    git("add", "-A", cwd=work)
    git("commit", "-q", "-m", "far", cwd=work)
    git("clone", "-q", "--bare", str(work), str(first), cwd=folder)
    for number in range(1, count):
        shutil.copytree(first, folder / f"far{number}.git")


def far_remotes(port: int, count: int) -> list[Mapping[str, Any]]:
    """As `gitfs_remotes` has them."""
    return [
        {
            f"http://{HOST}:{port}/far{number}.git": [
                {"name": f"far{number}"},
                {"base": "main"},
                {"update_interval": FETCH_SECONDS},
            ]
        }
        for number in range(count)
    ]


@contextmanager
def honest_server(folder: Path, port: int, count: int) -> Iterator[None]:
    """The server over new repositories in the folder; nothing when `count` is 0."""
    if not count:
        yield
        return
    make_repositories(folder, count)
    with serving(folder, handler=PublicBackend, port=port):
        yield
