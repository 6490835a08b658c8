"""Orchestrations answer as those of Salt (tools/oracle/orchestrations.py records them), but where a case says why."""

import copy
import os
import shutil
import tempfile
from pathlib import Path

import pytest
import yaml
from rig import Rig

from controller.reactions.controller_machine import controller_id
from tools.oracle.orchestrations import MINIONS, answer, cases, place, recorded, salt, words

CASES = cases()


@pytest.fixture(scope="module")
def rig():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    place(folder / "tree" / "states", CASES)
    (folder / "tree" / "pillar").mkdir()
    (folder / "tree" / "pillar" / "top.sls").write_text("base: {}\n")
    with Rig(folder, {minion: {} for minion in MINIONS}, folder / "tree", forked=True) as made:
        made.up()
        made.wait_applied(made.push("orchestrations"))
        made.away = set()
        yield made
    shutil.rmtree(folder, ignore_errors=True)


def answered(rig, name):
    case = CASES[name]
    for minion in set(case.get("without", ())) - rig.away:
        rig.stop(minion)
        rig.away.add(minion)
        rig.wait(f"{minion} to be away", lambda away=minion: not rig.status()[away]["connected"])
    done = rig.saltern("runner", *words(name, case), "--out", "json", check=False)
    return answer(done.returncode, done.stdout or done.stderr, controller_id())


def expected(name):
    """Salt's answer, and what is another on purpose put over it."""
    case = CASES[name]
    found = copy.deepcopy(recorded()[name])
    ours = case.get("ours", {})
    if "instead" in ours:
        return ours["instead"]
    for key in ("code", "retcode"):
        if key in ours:
            (found if key == "code" else found["answer"])[key] = ours[key]
    for step, fields in ours.get("steps", {}).items():
        [running] = found["answer"]["data"].values()
        [key] = [key for key in running if key.split("_|-")[1] == step]
        running[key] |= fields
        for gone in [field for field, value in fields.items() if value == "(none)"]:
            del running[key][gone]
    return found


@pytest.mark.parametrize("name", list(CASES))
def test_an_orchestration_answers_as_that_of_salt(rig, name):
    assert answered(rig, name) == expected(name)
    assert ("ours" in CASES[name]) == ("why" in CASES[name])


def test_what_is_recorded_is_what_salt_answers():
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("SALT_VENV names no virtualenv with Salt")
    with salt(Path(venv), CASES) as made:
        for name, case in CASES.items():
            made.stop(case.get("without", ()))
            assert made.call(words(name, case)) == recorded()[name], yaml.safe_dump(case)
