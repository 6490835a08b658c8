"""The jobs of examples/ci: their shell parts are run, in a clone as CI makes it, beside a forge that keeps comments."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

_CI = Path(__file__).parents[2] / "examples" / "ci"
_GIT = ("git", "-c", "user.name=A. Writer", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
_NUMBER = 7


class Forge:
    """Comments of one pull request, by GitHub's and GitLab's addresses."""

    def __init__(self) -> None:
        self.comments: dict[int, str] = {1: "<!-- saltern-preview:v1 controller=prod environment=x head=y time=1 -->"}
        self.calls: list[str] = []
        self.tokens: set[str | None] = set()
        forge = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._answer([{"id": number, "body": body} for number, body in forge.comments.items()])

            def do_POST(self) -> None:
                self._put(len(forge.comments) + 1)

            def do_PATCH(self) -> None:
                self._put(int(self.path.rpartition("/")[2]))

            do_PUT = do_PATCH  # noqa: N815  (the name of the method)

            def _put(self, number: int) -> None:
                size = int(self.headers["Content-Length"])
                forge.comments[number] = json.loads(self.rfile.read(size))["body"]
                self._answer({"id": number})

            def _answer(self, body: Any) -> None:
                forge.calls.append(f"{self.command} {self.path.partition('?')[0]}")
                forge.tokens.add(self.headers.get("PRIVATE-TOKEN") or self.headers.get("Authorization"))
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(body).encode())

            def log_message(self, *_: object) -> None:
                """Nothing on stderr."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self) -> None:
        """End it."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def forge() -> Iterator[Forge]:
    found = Forge()
    yield found
    found.close()


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with the branches main and change; CI's files are in ci/."""
    work = tmp_path / "origin"
    (work / "salt").mkdir(parents=True)
    (work / "pillar").mkdir()
    (work / "ci").mkdir()
    for name in ("preview.sh", "post_comment.py"):
        shutil.copy(_CI / name, work / "ci" / name)
    (work / "salt" / "top.sls").write_text("base: {'*': [motd]}\n")
    (work / "salt" / "motd.sls").write_text("/etc/motd: {file.managed: [{contents: one}]}\n")
    (work / "pillar" / "top.sls").write_text("base: {}\n")
    (work / "grains.json").write_text(json.dumps({"web1": {"os": "Debian"}, "web2": {"os": "Debian"}}))
    _git(work, "init", "-q")
    _commit(work, "first")
    _git(work, "switch", "-q", "-c", "change")
    _change(work, "/etc/motd: {file.managed: [{contents: two}]}\n")
    return work


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run([*_GIT, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _commit(folder: Path, subject: str) -> None:
    _git(folder, "add", "-A")
    _git(folder, "commit", "-q", "-m", subject)


def _change(folder: Path, text: str) -> None:
    (folder / "salt" / "motd.sls").write_text(text)
    _commit(folder, "change")


class Job:
    """A job's shell, in a fresh clone."""

    def __init__(self, origin: Path, folder: Path, variables: dict[str, str]) -> None:
        self.folder = folder
        shutil.rmtree(folder, ignore_errors=True)
        _git(origin, "clone", "-q", "-b", "change", str(origin), str(folder))
        programs = folder.parent / "programs"
        programs.mkdir(exist_ok=True)
        for name in ("pipx", "pip"):  # what they would install is here
            (programs / name).write_text(f'#!/bin/sh\necho {name} "$@"\n')
            (programs / name).chmod(0o755)
        path = f"{programs}:{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
        self.environment = {"PATH": path, "HOME": str(folder.parent), "PYTHONPATH": str(Path.cwd()), **variables}

    def run(self, script: str, more: dict[str, str] | None = None) -> int:
        """As runners do: bash that ends at the first failure."""
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],
            cwd=self.folder, env={**self.environment, **(more or {})}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        self.said = done.stdout + done.stderr
        return done.returncode


def _github(origin: Path, folder: Path, forge: Forge) -> int:
    """The steps of the workflow, with the expressions as GitHub would fill them in; the worst exit code."""
    workflow = yaml.safe_load((_CI / "github.yml").read_text())
    values = {
        "github.event.pull_request.base.ref": "main",
        "github.event.pull_request.head.sha": _git(origin, "rev-parse", "change"),
        "github.event.pull_request.number": str(_NUMBER),
        "github.token": "t0ken",
    }
    job = Job(origin, folder, {"GITHUB_REPOSITORY": "org/states", "GITHUB_API_URL": forge.address})
    worst = 0
    for step in workflow["jobs"]["preview"]["steps"]:
        if "run" in step and (not worst or "if" in step):
            filled = {
                name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: values[found[1]], text)
                for name, text in step.get("env", {}).items()
            }
            worst = max(worst, job.run(step["run"], filled))
    return worst


def _gitlab(origin: Path, folder: Path, forge: Forge) -> int:
    """The script of the job, its lines in one shell as GitLab runs them."""
    [job_text] = yaml.safe_load((_CI / "gitlab.yml").read_text()).values()
    variables = {
        "CI_API_V4_URL": forge.address,
        "CI_PROJECT_ID": "5",
        "CI_MERGE_REQUEST_IID": str(_NUMBER),
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "main",
        "CI_COMMIT_SHA": _git(origin, "rev-parse", "change"),
        "GITLAB_TOKEN": "t0ken",
    }
    own = {
        name: re.sub(r"\$(\w+)", lambda found: variables[found[1]], text)
        for name, text in job_text["variables"].items()
    }
    job = Job(origin, folder, {**variables, **own})
    return job.run("\n".join([*job_text["before_script"], *job_text["script"]]))


_FORGES = {
    "github": (_github, "/repos/org/states/issues/7/comments", "PATCH /repos/org/states/issues/comments/2"),
    "gitlab": (_gitlab, "/projects/5/merge_requests/7/notes", "PUT /projects/5/merge_requests/7/notes/2"),
}


@pytest.mark.parametrize("name", _FORGES)
def test_a_job_comments_once_and_then_edits(name: str, origin: Path, tmp_path: Path, forge: Forge) -> None:
    run, comments, edit = _FORGES[name]
    folder = tmp_path / "clone"
    assert run(origin, folder, forge) == 0
    assert forge.calls == [f"GET {comments}", f"POST {comments}"]
    assert "1 distinct change on 2 of 2 minions" in forge.comments[2]
    assert "-contents: one" in forge.comments[2]
    assert (folder / "preview.html").read_text().startswith("<!doctype html>")
    assert json.loads((folder / "preview.json").read_text())["changed"] == 2
    assert run(origin, folder, forge) == 0
    assert forge.calls[2:] == [f"GET {comments}"], "a comment that says the same is left"
    _change(origin, "/etc/motd: {file.managed: [{contents: three}]}\n")
    assert run(origin, folder, forge) == 0
    assert forge.calls[3:] == [f"GET {comments}", edit]
    assert "three" in forge.comments[2]
    assert "controller=prod" in forge.comments[1], "a comment of a controller is left"
    assert forge.tokens in ({"Bearer t0ken"}, {"t0ken"})


@pytest.mark.parametrize("name", _FORGES)
def test_a_change_that_does_not_compile_fails_the_job_and_is_commented(
    name: str, origin: Path, tmp_path: Path, forge: Forge
) -> None:
    run, _, _ = _FORGES[name]
    _change(origin, "/etc/motd: {file.managed: [{contents: {{ nothing.here }}}]}\n")
    assert run(origin, tmp_path / "clone", forge) == 1
    assert "Does not compile: 2 minions" in forge.comments[2]


def test_the_jenkins_pipeline_makes_the_report(origin: Path, tmp_path: Path) -> None:
    text = (_CI / "Jenkinsfile").read_text()
    assert text.count("{") == text.count("}")
    install, preview = re.findall(r"sh '''(.*?)'''", text, re.DOTALL)
    assert "venv" in install
    job = Job(origin, tmp_path / "clone", {"CHANGE_TARGET": "main"})
    assert job.run(preview) == 0, job.said
    for name in re.search(r"artifacts: '(.*?)'", text)[1].split(","):  # type: ignore[index]  # it is there
        assert (tmp_path / "clone" / name).stat().st_size > 0


def test_a_shallow_clone_says_what_to_do(origin: Path, tmp_path: Path) -> None:
    job = Job(origin, tmp_path / "clone", {"BASE": "origin/gone"})
    assert job.run("sh ci/preview.sh") == 1
    assert "shallow clone" in job.said
