from __future__ import annotations

import os
import ssl
import subprocess
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NoReturn

import pytest
import trustme
from git_servers import find_giftless, find_nginx, serving

from gitfs.config.settings import RemoteSettings


class Remote:
    """A bare repository and a work tree that pushes to it, both by the git binary."""

    def __init__(self, directory: Path, environment: Mapping[str, str]) -> None:
        self.bare = directory / "remote.git"
        self.work = directory / "work"
        self._environment = environment
        directory.mkdir(parents=True)
        self.run("init", "-q", "--bare", "-b", "main", str(self.bare), cwd=directory)
        self.run("clone", "-q", str(self.bare), str(self.work), cwd=directory)

    def run(self, *arguments: str, cwd: Path | None = None) -> str:
        done = subprocess.run(
            ["git", *arguments],
            cwd=cwd or self.work,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def commit(self, files: Mapping[str, str | bytes | None] | None = None, branch: str = "main") -> str:
        """Commit on a branch (made from where we are) and push; None as content removes the file."""
        if self.run("branch", "--list", branch):
            self.run("checkout", "-q", branch)
        elif self.run("branch", "--list"):
            self.run("checkout", "-q", "-b", branch)
        else:
            self.run("symbolic-ref", "HEAD", f"refs/heads/{branch}")
        for name, content in (files or {}).items():
            path = self.work / name
            if content is None:
                path.unlink()
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        self.run("add", "-A")
        self.run("commit", "-q", "--allow-empty", "-m", f"change on {branch}\n\nwith a body")
        self.run("push", "-q", "origin", branch)
        return self.run("rev-parse", "HEAD")

    def settings(self, **options: object) -> RemoteSettings:
        return RemoteSettings(**{"name": "states", "url": str(self.bare), **options})  # type: ignore[arg-type]


@pytest.fixture
def git_environment(tmp_path: Path) -> dict[str, str]:
    home = tmp_path / "home"
    home.mkdir()
    who = {
        f"GIT_{role}_{what}": value
        for role in ("AUTHOR", "COMMITTER")
        for what, value in (("NAME", "A Writer"), ("EMAIL", "writer@example.com"))
    }
    return {"PATH": os.environ["PATH"], "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1", **who}


@pytest.fixture
def make_remote(tmp_path: Path, git_environment: dict[str, str]) -> Callable[[str], Remote]:
    return lambda name: Remote(tmp_path / name, git_environment)


@pytest.fixture
def remote(make_remote: Callable[[str], Remote]) -> Remote:
    return make_remote("states")


@pytest.fixture
def https(remote: Remote, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """(URL of the remote behind https, file of the CA that signed its certificate)."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with serving(remote.bare.parent, context) as port:
        yield f"https://localhost:{port}/remote.git", str(tmp_path / "ca.pem")


@pytest.fixture(scope="session")
def nginx_program(request: pytest.FixtureRequest) -> str:
    """nginx; where there is none on the machine, the one of Debian, kept in pytest's cache."""
    assert request.config.cache is not None
    found = find_nginx(request.config.cache.mkdir("nginx"))
    return found or _passed_over("there is no nginx, and no apt that brings it")


@pytest.fixture(scope="session")
def giftless_python(request: pytest.FixtureRequest) -> str:
    """Python with giftless: the one that SALTERN_GIFTLESS names, or one that pip can make in pytest's cache."""
    assert request.config.cache is not None
    found = find_giftless(request.config.cache.mkdir("giftless"))
    return found or _passed_over("there is no giftless (SALTERN_GIFTLESS=DIR), and pip does not bring it")


def _passed_over(why: str) -> NoReturn:
    """Where everything is tested, a test that is passed over in silence would be a test less."""
    (pytest.fail if os.environ.get("SALTERN_E2E") else pytest.skip)(why)
