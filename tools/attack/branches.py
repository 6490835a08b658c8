"""Attacks by people who may push a branch that is not live; some need a person who previews it."""

from __future__ import annotations

import itertools
import subprocess
import time
from collections.abc import Mapping

from rig import SALTERN

from tools.attack.attacks import Attack, Running
from tools.attack.scene import Scene, git

USAGE = 64
"""Exit code of a command that is written wrongly."""
_TOP = "base:\n  '*':\n    - hostile\n"


def name_that_is_not_utf8(scene: Scene, running: Running) -> None:
    """A branch whose name is no UTF-8, beside the honest ones."""
    scene.push_branch("latin", {"states/x.sls": "{}\n"})
    clone = scene.folder / "clone-latin"
    subprocess.run(
        [b"git", b"push", b"-q", b"origin", b"HEAD:refs/heads/caf\xe9"], cwd=clone, check=False, capture_output=True
    )
    _wait(running)
    subprocess.run(
        [b"git", b"push", b"-q", b"origin", b":refs/heads/caf\xe9"], cwd=clone, check=False, capture_output=True
    )


def many_branches(scene: Scene, running: Running) -> None:
    """Thousands of branches in one push, again and again."""
    scene.push_branch("many", {"states/x.sls": "{}\n"})
    clone = scene.folder / "clone-many"
    for turn in itertools.count():
        names = [f"HEAD:refs/heads/m{turn}-{at}" for at in range(1000)]
        git("push", "-q", "origin", *names, cwd=clone)
        if not running():
            return


def endless_template(scene: Scene, running: Running) -> None:
    """A previewed branch whose templates take until the compile's time limit: few steps, each of seconds."""
    loop = "{% for i in range(9999) %}{{ ('a' * 40) | regex_search('(a+)+\\\\1Z') }}{% endfor %}"
    _preview(scene, running, "endless", {"states/top.sls": _TOP, "states/hostile.sls": loop})


def slow_regex(scene: Scene, running: Running) -> None:
    """A previewed branch that targets and asks the mine with expressions that backtrack."""
    slow = ".?" * 300 + "Z"
    states = f"{{{{ salt['mine.get']('{slow}', 'a.b', 'pcre') }}}}\n{{{{ ('a' * 30) | regex_search('(a+)+Z') }}}}\n"
    top = f"base:\n  'E@{slow}':\n    - hostile\n  '*':\n    - hostile\n"
    _preview(scene, running, "regex", {"states/top.sls": top, "states/hostile.sls": states})


def many_states(scene: Scene, running: Running) -> None:
    """A previewed branch with 100,000 states."""
    states = "{% for i in range(100000) %}s{{ i }}:\n  test.nop: []\n{% endfor %}"
    _preview(scene, running, "states", {"states/top.sls": _TOP, "states/hostile.sls": states})


def large_document(scene: Scene, running: Running) -> None:
    """A previewed branch whose states hold a hundred MiB."""
    states = "{% for i in range(1000) %}s{{ i }}:\n  test.nop:\n    - name: {{ 'x' * 100000 }}\n{% endfor %}"
    _preview(scene, running, "large", {"states/top.sls": _TOP, "states/hostile.sls": states})


def _preview(scene: Scene, running: Running, branch: str, files: Mapping[str, str]) -> None:
    """Push the branch and have it previewed, again and again; each asker gives up after a few seconds."""
    scene.push_branch(branch, files)
    while running():
        asker = subprocess.Popen(
            [*SALTERN, "preview", "--head", branch, "--base", "main", "-c", str(scene.config)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            asker.wait(timeout=5)
        except subprocess.TimeoutExpired:
            asker.terminate()
            asker.wait()
        if asker.returncode == USAGE:
            raise AssertionError("the command line does not know this preview")
        time.sleep(0.2)


def _wait(running: Running) -> None:
    while running():
        time.sleep(0.1)


ATTACKS: Mapping[str, Attack] = {
    "name-not-utf8": Attack("a branch name that is no UTF-8", name_that_is_not_utf8),
    "many-branches": Attack("thousands of branches, a thousand a push", many_branches),
    "endless-template": Attack("previews of templates that never end", endless_template),
    "slow-regex": Attack("previews with expressions that backtrack", slow_regex),
    "many-states": Attack("previews of 100,000 states", many_states),
    "large-document": Attack("previews of states of 100 MiB", large_document),
}
