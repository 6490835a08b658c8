"""Compare the goldens of tests/golden with real Salt, which runs in a virtualenv of its own.

    .venv/bin/python ops/oracle.py --salt /path/to/venv [--record] [--random N [--seed S]] [NAME ...]

The process that compares (ours) starts one process of that virtualenv, which compiles all cases through Salt's
Python API. `--record` writes what Salt says into the goldens, for cases that expect nothing yet or something else.
`--random N` compares N random trees instead, compiled here and there. For error cases only *that* Salt fails is
compared: the text is ours. Exit code 1 on any unexpected difference.
"""

from __future__ import annotations

import argparse
import copy
import json
import logging
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parent.parent / "tests" / "golden"


def main() -> int:
    """Parse the command line, compare, report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--salt", type=Path, required=True, help="virtualenv that has Salt")
    parser.add_argument("--record", action="store_true", help="write Salt's results into the goldens")
    parser.add_argument("--random", type=int, default=0, metavar="N", help="compare N random trees instead")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first random tree")
    parser.add_argument("names", nargs="*", help="cases (default: all)")
    options = parser.parse_args()
    sys.path.insert(0, str(GOLDEN))
    import archive

    if options.random:
        cases = [random_case(archive, seed) for seed in range(options.seed, options.seed + options.random)]
    else:
        cases = [case for case in archive.read_cases(GOLDEN) if not options.names or case.name in options.names]
    with tempfile.TemporaryDirectory() as folder:
        answers = ask_salt(options.salt, cases, Path(folder))
    equal, known, wrong = 0, [], []
    for case in cases:
        answer = answers[case.name]
        difference = compare(case, answer)
        if not difference:
            equal += 1
        elif case.differs:
            known.append(f"{case.name}: {case.differs}")
        elif options.record and "low" in answer:
            case.expecting("lowstate.yaml", archive.dump_lowstate(answer["low"])).write()
            equal += 1
        else:
            wrong.append(f"{case.name}: {difference}")
    print(f"{len(cases)} cases, {equal} equal to Salt, {len(known)} differ on purpose, {len(wrong)} differ")  # noqa: T201
    for line in [*(f"on purpose: {line}" for line in known), *(f"DIFFERS: {line}" for line in wrong)]:
        print(line)  # noqa: T201
    return 1 if wrong else 0


def random_case(archive: Any, seed: int) -> Any:
    """A random tree that expects what our compile gives."""
    from random_trees import random_sections

    from highstate import MemoryFiles, Minion, Settings, compile_minion

    case = archive.Case(path=GOLDEN / f"random-{seed}", comment="", sections=random_sections(seed))
    trees = MemoryFiles(case.trees("states")), MemoryFiles(case.trees("pillar"))
    compiled = compile_minion(*trees, Minion(id=case.minion, grains=case.grains), Settings(**case.settings))
    if compiled.errors:
        return case.expecting("errors", "\n".join(map(str, compiled.errors)))
    chunks = json.loads(json.dumps([chunk.as_salt() for chunk in compiled.lowstate]))
    return case.expecting("lowstate.yaml", archive.dump_lowstate(chunks))


def compare(case: Any, answer: dict[str, Any]) -> str:
    """What is not the same, empty when all is."""
    expected = case.lowstate
    if expected is None or "low" not in answer:
        if expected is None and "errors" in answer:
            return ""
        return f"Salt says {json.dumps(answer)[:600]}"
    low = answer["low"]
    if json.loads(json.dumps(expected)) == low:
        return ""
    for index, (ours, theirs) in enumerate(zip(expected, low, strict=False)):
        if json.loads(json.dumps(ours)) != theirs:
            return (
                f"chunk {index}: golden {json.dumps(ours, sort_keys=True)}, Salt {json.dumps(theirs, sort_keys=True)}"
            )
    return f"golden has {len(expected)} chunks, Salt {len(low)}"


def ask_salt(venv: Path, cases: list[Any], folder: Path) -> dict[str, dict[str, Any]]:
    """Case name -> {"low": [...]} or {"errors": [...]}, from one process of the other virtualenv."""
    asked = []
    for case in cases:
        roots: dict[str, dict[str, list[str]]] = {}
        for kind in "states", "pillar":
            for saltenv, files in case.trees(kind).items():
                root = folder / case.name / kind / saltenv
                root.mkdir(parents=True)
                for path, data in files.items():
                    (root / path).parent.mkdir(parents=True, exist_ok=True)
                    (root / path).write_bytes(data)
                roots.setdefault(kind, {})[saltenv] = [str(root)]
        asked.append(
            {
                "name": case.name,
                "id": case.minion,
                "grains": case.grains,
                "sls": case.sls,
                "settings": case.settings,
                "file_roots": roots["states"],
                "pillar_roots": roots["pillar"],
                "cachedir": str(folder / case.name / "cache"),
            }
        )
    request = folder / "request.json"
    request.write_text(json.dumps(asked))
    done = subprocess.run(
        [venv / "bin" / "python", __file__, "--inside", str(request), str(folder / "answer.json")], check=False
    )
    if done.returncode:
        raise SystemExit(f"Salt's process ended with {done.returncode}")
    answers: dict[str, dict[str, Any]] = json.loads((folder / "answer.json").read_text())
    return answers


def inside(request: Path, answer: Path) -> None:
    """In Salt's virtualenv: compile every case."""
    import salt.config

    logging.disable(logging.CRITICAL)
    config = request.parent / "minion"
    config.write_text(
        "\n".join(
            [
                f"root_dir: {request.parent}",
                "file_client: local",
                "local: true",
                "log_level: quiet",
                "log_level_logfile: quiet",
                "user: root",
                "grains_cache: false",
            ]
        )
    )
    base = salt.config.minion_config(str(config), minion_id="oracle")
    answers = {case["name"]: _compile(base, case) for case in json.loads(request.read_text())}
    answer.write_text(json.dumps(answers, default=str))


def _compile(base: dict[str, Any], case: dict[str, Any]) -> dict[str, Any]:
    import salt.pillar
    import salt.state

    opts = copy.deepcopy(dict(base))  # not the wrapper that it is, which hides what is put into it from Salt
    opts |= {key: case[key] for key in ("id", "grains", "file_roots", "pillar_roots", "cachedir")}
    opts |= case["settings"]
    Path(opts["cachedir"]).mkdir(parents=True, exist_ok=True)
    try:
        pillar = salt.pillar.get_pillar(
            opts, opts["grains"], opts["id"], opts.get("saltenv"), pillarenv=opts.get("pillarenv")
        ).compile_pillar()
        if pillar.get("_errors"):
            return {"errors": pillar["_errors"]}
        opts["pillar"] = pillar
        with salt.state.HighState(opts, initial_pillar=pillar) as state:
            if case["sls"]:
                state.top_matches = lambda top: {"base": case["sls"]}
            else:
                problems = state.verify_tops(state.get_top())
                if problems:
                    return {"errors": problems}
            low = state.compile_low_chunks()
    except Exception as error:
        return {"errors": [f"{type(error).__name__}: {error}"]}
    if any(not isinstance(chunk, dict) for chunk in low):
        return {"errors": low}
    return {"low": json.loads(json.dumps(low, default=str))}


if __name__ == "__main__":
    if sys.argv[1:2] == ["--inside"]:
        inside(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        sys.exit(main())
