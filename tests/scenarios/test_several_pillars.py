"""Several git_pillar remotes: a push to one of them compiles those who read what it changes, and nobody else."""

import re
import shutil
import subprocess
import urllib.request
from pathlib import Path

import pytest

TREE = Path(__file__).parent / "tree" / "pillar"
MINIONS = {"web1": {"roles": ["web"]}, "db1": {"roles": ["db"]}}


def git(folder: Path, *words: str) -> None:
    who = ["-c", "user.name=Operator", "-c", "user.email=operator@example.org"]
    subprocess.run(["git", *who, *words], cwd=folder, check=True, capture_output=True)


def push(clone: Path, **files: str) -> None:
    for name, text in files.items():
        (clone / f"{name}.sls").write_text(text)
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "more")
    git(clone, "push", "-q", "origin", "HEAD:main")


@pytest.fixture
def pillars(tmp_path):
    """Clones of two remotes: the first has what all minions have, the second what web1 alone has."""
    clones = [tmp_path / name for name in ("first", "second")]
    for clone in clones:
        git(tmp_path, "init", "-q", "--bare", "--initial-branch=main", f"{clone}.git")
        git(tmp_path, "init", "-q", "--initial-branch=main", str(clone))
        git(clone, "remote", "add", "origin", f"{clone}.git")
    shutil.copytree(TREE, clones[0], dirs_exist_ok=True)
    push(clones[0])
    push(clones[1], top="base: {'web1': [web]}\n", web="web: {port: 1}\n")
    return clones


def counted(rig):
    """Minions that were compiled, and those that pushes spared."""
    with urllib.request.urlopen(rig.http + "/metrics") as answer:
        text = answer.read().decode()
    names = ("saltern_compile_seconds_count", "saltern_compiles_spared_total")
    return [int(float(re.search(rf"(?m)^{name} (\S+)", text)[1])) for name in names]


def test_a_push_to_one_pillar_compiles_who_reads_it(make_rig, pillars):
    first, second = pillars
    git_pillar = [{f"main {clone}.git": [{"env": "base"}]} for clone in pillars]
    rig = make_rig(minions=MINIONS, ext_pillar=[{"git": git_pillar}])
    rig.wait_applied(rig.push("The states"))
    compiled, spared = counted(rig)
    push(second, web="web: {port: 2}\n")
    rig.wait("the second pillar to be live", lambda: counted(rig) == [compiled + 1, spared + 1])
    push(second, unread="more: 1\n")
    rig.wait("what nobody reads to be live", lambda: counted(rig) == [compiled + 1, spared + 3])
    push(first, web="web: {port: 3}\n")  # the path that web1 reads in the second one, which sees this one below its own
    rig.wait("what stands below to be live", lambda: counted(rig) == [compiled + 1, spared + 5])
    push(first, numbers=(first / "numbers.sls").read_text() + "more: 1\n")
    rig.wait("the first pillar to be live", lambda: counted(rig) == [compiled + 3, spared + 5])
