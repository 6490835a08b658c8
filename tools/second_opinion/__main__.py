"""Apply public formulas by Saltern and by real Salt, each on fresh roots, and compare; as root on Debian.

    make second-opinion FORMULAS=DIR                 all cases of formulas, checked out in DIR (NAME-formula each)
    make second-opinion FORMULAS=DIR ONLY=--own      those of own_cases.yaml, in which servers run
    .venv/bin/python -m tools.second_opinion --formulas DIR nginx users/default
    .venv/bin/python -m tools.second_opinion --formulas DIR --compare     judge the kept results anew, run nothing

Of each case two overlay roots are made. In each, one side applies the highstate; then the other side is asked under
test=True about that work, then the one that did it, then the other again. What is compared: compile errors, results
and `changes` of the states, the files that the two leave behind, and the answers under test=True. Every disagreement
has its reason in explanations.yaml, or the exit code is 1; so it is when an entry there explains nothing any more.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue

from tools.second_opinion.cases import OpinionCase, cases
from tools.second_opinion.comparison import SIDES, disagreements, read_side
from tools.second_opinion.explanations import explained, load_explanations, outdated
from tools.second_opinion.report import case_report, summary, tables
from tools.second_opinion.roots import SALT, SALTERN, Root, base, run_side

_CACHE = Path(__file__).resolve().parents[2] / ".cache" / "second-opinion"
_RIG = Path(__file__).resolve().parents[2] / "tests" / "rig"
_HERE = "<!-- written by python -m tools.second_opinion --page -->"


def main() -> int:
    """Parse the command line, run the cases, print the table; the exit code."""
    options = _parser().parse_args()
    if options.formulas is None or not options.formulas.is_dir():
        raise SystemExit("name a folder of formulas: FORMULAS=DIR, or --formulas DIR")
    found = cases(options.formulas, options.names)
    chosen = [case for case in found if case.own == options.own or (case.own and options.names)]
    if options.list:
        sys.stdout.writelines(f"{case.key}\n" for case in chosen)
        return 0
    results = options.cache / "results"
    if not options.compare:
        if os.geteuid() != 0:
            raise SystemExit("roots are made by root")
        _run_all(chosen, options, results)
    there = [case.key for case in chosen if (results / case.key / "done").exists()]
    return _report(there, options)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    formulas = os.environ.get("FORMULAS")
    parser.add_argument(
        "--formulas", type=Path, default=formulas and Path(formulas), help="folder of NAME-formula each"
    )
    parser.add_argument("--cache", type=Path, default=_CACHE, help="where the base root, packages and results are kept")
    parser.add_argument("--seconds", type=int, default=300, help="of one step of one side")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    parser.add_argument("--new", action="store_true", help="run only cases without results")
    parser.add_argument("--compare", action="store_true", help="run nothing: judge the results that are kept")
    parser.add_argument("--page", type=Path, help="write the tables into this page too, below its mark")
    parser.add_argument("--own", action="store_true", help="the cases of own_cases.yaml, and no others")
    parser.add_argument("--list", action="store_true", help="list the cases")
    parser.add_argument("names", nargs="*", help="formulas, or formula/case (default: all)")
    return parser


def _run_all(chosen: Sequence[OpinionCase], options: argparse.Namespace, results: Path) -> None:
    made = base(options.cache)
    left = [case for case in chosen if not (options.new and (results / case.key / "done").exists())]
    packages: SimpleQueue[Path] = SimpleQueue()
    for number in range(options.jobs):
        folder = options.cache / f"packages-{number}"
        (folder / "partial").mkdir(parents=True, exist_ok=True)
        packages.put(folder)

    def one(case: OpinionCase) -> str:
        debs = packages.get()
        try:
            run_case(case, made, results / case.key, debs, options.seconds)
        finally:
            packages.put(debs)
        return case.key

    with ThreadPoolExecutor(options.jobs) as pool:
        for number, key in enumerate(pool.map(one, left), 1):
            print(f"{number}/{len(left)} {key}", file=sys.stderr, flush=True)  # noqa: T201


def run_case(case: OpinionCase, made: Path, results: Path, debs: Path, seconds: int) -> None:
    """Both sides of a case; what they say is left in the folder `results`."""
    shutil.rmtree(results, ignore_errors=True)
    with tempfile.TemporaryDirectory(prefix="saltern-opinion-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        case.lay_out(folder)
        root = Root(base=made, case=folder, debs=debs, daemons=case.daemons, network=case.network)
        for side in SIDES:
            out = results / side
            out.mkdir(parents=True)
            with _engine() if case.engine else nullcontext("") as socket:
                run_side(replace(root, engine=socket), out, _steps(side), seconds)
    (results / "done").touch()


@contextmanager
def _engine() -> Iterator[str]:
    """A Docker engine's socket."""
    sys.path.append(str(_RIG))
    from docker_engine import DockerServer

    server = DockerServer()
    try:
        yield server.url.removeprefix("unix://")
    finally:
        server.close()


def _steps(side: str) -> list[tuple[str, Sequence[str]]]:
    common = ("--local", "--config-dir", "/case/conf", "--out", "json", "--log-level", "error", "state.highstate")
    commands = {"saltern": (*SALTERN, *common), "salt": (*SALT, *common)}
    own, other = commands[side], commands["salt" if side == "saltern" else "saltern"]
    return [
        ("apply", own), ("files", ()), ("other", (*other, "test=True")), ("own", (*own, "test=True")),
        ("again", (*other, "test=True")),
    ]  # fmt: skip


def _report(ran: Sequence[str], options: argparse.Namespace) -> int:
    entries, results = load_explanations(), options.cache / "results"
    reports = []
    for key in ran:
        saltern, salt = (read_side(results / key / side) for side in SIDES)
        found = explained(disagreements(key, saltern, salt), entries)
        reports.append(case_report(key, saltern, salt, found))
    text = f"{summary(reports)}\n\n{tables(reports)}"
    sys.stdout.write(text)
    if options.page is not None:
        options.page.write_text(f"{options.page.read_text().partition(_HERE)[0]}{_HERE}\n\n{text}")
    unexplained = [one for report in reports for one in report.unexplained]
    for one in unexplained:
        print(f"\nDIFFERS {one.case} {one.about} {one.place}\n  Saltern: {one.saltern}\n  Salt:    {one.salt}")  # noqa: T201
    told = [pair for report in reports for pair in report.found]
    old = [entry for entry in outdated(entries, told, ran) if not options.names or entry.cases != ("*",)]
    if options.own:
        old = [entry for entry in old if set(entry.cases) <= set(ran)]
    for entry in old:
        print(f"\nNO LONGER OCCURS: {', '.join(entry.cases)} {entry.about} {entry.place}: {entry.why}")  # noqa: T201
    return 1 if unexplained or old else 0


if __name__ == "__main__":
    sys.exit(main())
