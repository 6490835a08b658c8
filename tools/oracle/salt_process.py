"""Real Salt as a process that answers JSON lines. Runs in a virtualenv that has Salt; knows nothing of Saltern.

Started by `Salt` of `tools/oracle/client.py`, never by hand. The first line that it reads is what that sends: where to
write, which functions of templates need the machine and what those answer that were recorded (the others fail, as where
a tree is compiled for a machine that is not this one), and which states can be watched. Each further line is a `Job`
of `tools/oracle/client.py`; each of its runs is answered by one line {"low"} or {"errors"}, with "seconds".
"""

from __future__ import annotations

import copy
import json
import logging
import os
import random
import sys
import time
from pathlib import Path
from typing import Any


class LiveMachine(Exception):
    """A template asks the machine."""


def main() -> None:
    """Answer until there are no more jobs."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Salt prints is no answer
    world = json.loads(sys.stdin.readline())
    base = _options(Path(world["folder"]))
    _answer_from_facts(frozenset(world["live"]), frozenset(world["pure"]), world["facts"])
    _draw_by_id()
    _compile_once()
    for line in sys.stdin:
        for answer in _answer(base, json.loads(line), world["watched"]):
            answers.write(json.dumps(answer, default=str) + "\n")


def _options(folder: Path) -> dict[str, Any]:
    import salt.config

    logging.disable(logging.CRITICAL)
    config = folder / "minion"
    lines = (f"root_dir: {folder}", "file_client: local", "local: true", "log_level: quiet", "user: root")
    config.write_text("\n".join([*lines, "log_level_logfile: quiet", "grains_cache: false", ""]))
    loaded = salt.config.minion_config(str(config), minion_id="oracle")
    return dict(loaded)  # not the wrapper that it is, which hides what is put into it from Salt


def _answer_from_facts(live: frozenset[str], pure: frozenset[str], facts: dict[str, Any]) -> None:
    """Templates get what was recorded in place of a function of the machine, and an error where nothing was."""
    import salt.utils.templates as templates

    def is_live(name: str) -> bool:
        return name not in pure and name.partition(".")[0] in live

    def answering(name: str) -> Any:
        def answer(*ignored: Any, **options: Any) -> Any:
            if name not in facts:
                raise LiveMachine(name)
            return copy.deepcopy(facts[name])

        return answer

    class Module:
        def __init__(self, name: str, functions: Any) -> None:
            self.__name, self.__functions = name, functions

        def __getattr__(self, name: str) -> Any:
            full = f"{self.__name}.{name}"
            return answering(full) if is_live(full) else getattr(self.__functions(), name)

    class Recorded(templates.AliasedLoader):  # type: ignore[misc, name-defined]
        def __getitem__(self, name: str) -> Any:
            return answering(name) if is_live(name) else super().__getitem__(name)

        def __contains__(self, name: str) -> bool:
            if not is_live(name):
                return bool(super().__contains__(name))
            if name not in facts:
                raise LiveMachine(name)
            return True

        def get(self, name: str, default: Any = None) -> Any:
            return self[name] if name in self else default  # noqa: SIM401  (this is `get`)

        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__
            return Module(name, lambda: found(name)) if name in live else found(name)

    templates.AliasedLoader = Recorded


def _draw_by_id() -> None:
    """`|random` gives what it gives in Saltern: the same for a minion each time."""
    import jinja2
    from salt.utils.decorators.jinja import JinjaFilter

    @jinja2.pass_context
    def choose(context: Any, values: Any) -> Any:
        return random.Random(context["opts"]["id"]).choice(list(values))  # noqa: S311  (no secret)

    JinjaFilter.salt_jinja_filters["random"] = choose


def _compile_once() -> None:
    """Keep the code of templates, of which Salt forgets all at each render: nine tenths of the time here."""
    from jinja2.environment import Environment

    compile_template, codes = Environment.compile, {}
    options = ("trim_blocks", "lstrip_blocks", "block_start_string", "variable_start_string", "line_statement_prefix")

    def kept(self: Any, source: Any, name: Any = None, filename: Any = None, *rest: Any, **named: Any) -> Any:
        if not isinstance(source, str) or rest or named:
            return compile_template(self, source, name, filename, *rest, **named)
        key = (type(self), source, name, filename, *(getattr(self, option) for option in options))
        if key not in codes:
            codes[key] = compile_template(self, source, name, filename)
        return codes[key]

    Environment.compile = kept  # type: ignore[method-assign]


def _answer(base: dict[str, Any], job: dict[str, Any], watched: list[str]) -> list[dict[str, Any]]:
    """One answer for each run of a job, which share a pillar and a loaded Salt."""
    import salt.state

    opts = copy.deepcopy(base)
    opts |= {"grains": job["grains"], "id": job["minion"], "cachedir": job["cachedir"]}
    opts |= {"file_roots": job["file_roots"], "pillar_roots": job["pillar_roots"], **job["settings"]}
    Path(opts["cachedir"]).mkdir(parents=True, exist_ok=True)
    try:
        pillar = _pillar(opts, {})
        if job["override"]:  # as salt-call does: the pillar without it is there while the one with it is made
            opts["pillar"] = pillar
            pillar = _pillar(opts, job["override"])
        if pillar.get("_errors"):
            return [{"errors": pillar["_errors"], "seconds": 0.0}] * len(job["runs"])
        opts["pillar"] = pillar
        with salt.state.HighState(opts, initial_pillar=pillar) as state:
            for name in watched:
                state.state.states[f"{name}.mod_watch"] = print
            return [_unchanged(state, run) for run in job["runs"]]
    except Exception as error:
        return [{"errors": [f"{type(error).__name__}: {error}"], "seconds": 0.0}] * len(job["runs"])


def _pillar(opts: dict[str, Any], override: dict[str, Any]) -> Any:
    import salt.pillar

    found = salt.pillar.get_pillar(
        opts,
        opts["grains"],
        opts["id"],
        opts.get("saltenv"),
        pillarenv=opts.get("pillarenv"),
        pillar_override=override or None,
    )
    return found.compile_pillar()


def _unchanged(state: Any, sls: list[str]) -> dict[str, Any]:
    """One run, after which each place of pillar is as it was: templates can change it, and runs are commands apart."""
    packed = state.state.functions.pack["__pillar__"]
    places = [state.opts["pillar"], state.state.opts["pillar"], getattr(packed, "value", lambda: packed)()]
    pillars = list({id(place): place for place in places if isinstance(place, dict)}.values())
    before = [copy.deepcopy(pillar) for pillar in pillars]
    answer = _timed(state, sls)
    for pillar, kept in zip(pillars, before, strict=True):
        pillar.clear()
        pillar.update(kept)
    return answer


def _timed(state: Any, sls: list[str]) -> dict[str, Any]:
    started = time.perf_counter()
    try:
        answer = _run(state, sls)
    except Exception as error:
        answer = {"errors": [f"{type(error).__name__}: {error}"]}
    return {**answer, "seconds": time.perf_counter() - started}


def _run(state: Any, sls: list[str]) -> dict[str, Any]:
    from salt.state import DependencyGraph, HashableOrderedDict

    state.iorder = 10000
    state.building_highstate = HashableOrderedDict()
    state.state.dependency_dag = DependencyGraph()
    state.__dict__.pop("top_matches", None)
    if sls:
        state.top_matches = lambda top: {"base": sls}
    else:
        problems = state.verify_tops(state.get_top())
        if problems:
            return {"errors": problems}
    low = state.compile_low_chunks()
    if any(not isinstance(chunk, dict) for chunk in low):
        return {"errors": low}
    return {"low": low}


if __name__ == "__main__":
    main()
