"""Templates and YAML against what Salt 3008.3 made of them (recorded_templates.json).

Each case was rendered by Salt's own `jinja|yaml` with the files, pillar and grains given there; of errors, only
that there was one is recorded. Sets are recorded as sorted lists of text, bytes as their text.
"""

import json
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.types import Minion

RECORDED = json.loads((Path(__file__).parent / "recorded_templates.json").read_text())
PILLAR = {**RECORDED["pillar"], "ports": {80: "http"}}
CASES = [pytest.param(case, id=case["sls"]) for case in RECORDED["cases"]]


def as_json(value: object) -> object:
    def other(one: object) -> object:
        return sorted(map(str, one)) if isinstance(one, set | frozenset) else str(one)

    return json.loads(json.dumps(value, default=other))


@pytest.mark.parametrize("case", CASES)
def test_as_salt(case):
    name = case["sls"]
    tree = {**RECORDED["files"], f"{name}.sls": case["template"]}
    files = MemoryFiles({"base": {path: text.encode() for path, text in tree.items()}})
    context = RenderContext(minion=Minion(id="minion", grains=RECORDED["grains"]), files=files, pillar=PILLAR)
    if case.get("error"):
        with pytest.raises(RenderFailed):
            render_sls(f"{name}.sls", context, sls=name)
    else:
        data = as_json(render_sls(f"{name}.sls", context, sls=name).data)
        assert repr(data) == repr(as_json(case["data"])), case["template"]
