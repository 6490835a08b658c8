"""What real Salt shows of a case. Runs in a virtualenv that has Salt: `python salt_shapes.py FOLDER < CASES > ANSWERS`.

A line in is a case of `saltern compile --batch` with folders; a line out is {show: result} or {show: {"error": true}}.
"""

import copy
import json
import logging
import os
import sys
from pathlib import Path

import salt.config
import salt.loader
import salt.pillar
import salt.state

SHOWS = ("lowstate", "highstate", "pillar", "top", "sls")


def options(folder):
    config = Path(folder, "minion")
    lines = (f"root_dir: {folder}", "file_client: local", "local: true", "log_level: quiet", "user: root")
    config.write_text("\n".join([*lines, "log_level_logfile: quiet", "grains_cache: false", ""]))
    return dict(salt.config.minion_config(str(config), minion_id="m"))


def answer(base, case, number):
    opts = copy.deepcopy(base)
    opts |= {key: case[key] for key in ("file_roots", "pillar_roots")}
    opts |= {"id": case["minion_id"], "grains": {"id": case["minion_id"], **case.get("grains", {})}, "__role": "minion"}
    opts |= {"cachedir": f"{base['root_dir']}/cache{number}", **case.get("opts", {})}
    Path(opts["cachedir"]).mkdir(parents=True)
    opts["pillar"] = {}
    # As `salt-call` does: the pillar is loaded before anything else, without what the command line gives.
    loaded = salt.pillar.get_pillar(opts, opts["grains"], opts["id"], pillarenv=opts["pillarenv"]).compile_pillar()
    opts["pillar"] = loaded
    functions = salt.loader.minion_mods(opts, utils=salt.loader.utils(opts))
    return {show: shown(functions, opts, case, show) for show in SHOWS}


def shown(functions, opts, case, show):
    try:
        result = _shown(functions, opts, case, show)
    except Exception:
        return {"error": True}
    failed = show in ("lowstate", "sls") and any(
        not isinstance(one, dict if show == "lowstate" else str) for one in result
    )
    failed = failed or (show in ("highstate", "top") and isinstance(result, list))
    failed = failed or (show == "pillar" and "_errors" in result)
    return {"error": True} if failed else {"result": json.loads(json.dumps(result, default=str))}


def _shown(functions, opts, case, show):
    words = {key: case[key] for key in ("saltenv", "pillar") if case.get(key)}
    sls = case.get("sls")
    if show == "pillar":
        return functions["pillar.items"](unmask=True, **words)
    if show == "top":
        return {words.get("saltenv", "base"): sls} if sls else functions["state.show_top"](**words)
    if show == "highstate":
        return functions["state.show_sls"](sls, **words) if sls else functions["state.show_highstate"](**words)
    own = copy.deepcopy(opts)
    own["saltenv"] = words.get("saltenv") or own["saltenv"] or ("base" if sls else None)
    with salt.state.HighState(own, words.get("pillar")) as state:
        if sls:
            state.top_matches = lambda top: {own["saltenv"]: sls}
        low = state.compile_low_chunks()
    return low if show == "lowstate" else list(dict.fromkeys(chunk["__sls__"] for chunk in low))


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    base = options(sys.argv[1])
    for number, line in enumerate(sys.stdin):
        answers.write(json.dumps(answer(base, json.loads(line), number)) + "\n")
