"""Reactions as Salt's reactor hands them to its clients (tools/oracle/reactors.py records them)."""

import json
import os
from pathlib import Path

import pytest
import yaml

from controller.offline.reacting import plain_reaction
from controller.reactions.controller_machine import controller_id
from controller.reactions.reactor_files import find_files
from controller.reactions.rendering import ReactorRenderer
from gitfs.tree.snapshot import directory_snapshot
from highstate.compile import CompileOptions
from options.document import Option
from reactors.rules.reaction import Parameters
from reactors.rules.reactor_map import read_reactor_map, sls_of
from tools.oracle.call import place
from tools.oracle.reactors import GOLDENS, record

PARAMETERS = {
    ("runner", "state.orchestrate"): Parameters(("mods",), ("saltenv", "test", "pillar"), False),
    ("runner", "cache.grains"): Parameters((), ("tgt", "tgt_type"), True),
    ("wheel", "key.accept"): Parameters(("match",), ("include_rejected", "include_denied"), False),
    ("wheel", "key.delete"): Parameters(("match",), (), False),
}


def cases():
    for path in sorted(GOLDENS.glob("*.yaml")):
        golden = yaml.safe_load(path.read_text())
        for number, case in enumerate(golden["cases"]):
            yield pytest.param(golden, case, id=f"{path.stem}-{number}-{case['tag'].replace('/', '-')}")


@pytest.mark.parametrize(("golden", "case"), list(cases()))
def test_reactions_are_those_of_salt(golden, case, tmp_path):
    place(tmp_path, golden["files"])
    assert told(golden, case, tmp_path) == case.get("ours", case["salt"])
    assert ("ours" in case) == ("why" in case)


def test_what_is_recorded_is_what_salt_does():
    venv = os.environ.get("SALT_VENV")
    if not venv:
        pytest.skip("SALT_VENV names no virtualenv with Salt")
    for path in sorted(GOLDENS.glob("*.yaml")):
        golden = yaml.safe_load(path.read_text())
        assert record(Path(venv), golden) == [case["salt"] for case in golden["cases"]]


def told(golden, case, folder):
    """Our reactions in terms of `{tmp}`."""
    option = case.get("reactor", golden.get("reactor"))
    faults = []
    found = read_reactor_map(Option(in_folder(option, folder), "master:1"), faults)
    assert not faults
    tree = directory_snapshot({"base": [str(folder / "tree")]})
    files = find_files(sls_of(found.matching(case["tag"])), tree)
    made = ReactorRenderer(language=CompileOptions()).reactions(
        files, tag=case["tag"], data=case["data"], parameters_of=lambda *function: PARAMETERS.get(function)
    )
    return [settled(plain_reaction(each), folder) for each in made.reactions]


def settled(reaction, folder):
    text = json.dumps(reaction).replace(str(folder), "{tmp}").replace(controller_id(), "controller")
    return json.loads(text)


def in_folder(option, folder):
    return yaml.safe_load(yaml.safe_dump(option).replace("{tmp}", str(folder)))
