"""Apply the same trees on a stock salt-minion under a real salt-master and under us, and compare; as root.

    make beside-master SALT_VENV=DIR                       the cases of tests/golden/beside_master
    .venv/bin/python -m tools.oracle.beside_master --runs            every requisite with every end
    .venv/bin/python -m tools.oracle.beside_master --goldens         the goldens of the language, planned alone
    .venv/bin/python -m tools.oracle.beside_master --formulas DIR    public formulas, planned alone

SALT_VENV is a virtualenv with the Salt that the master and both minions are of. The exit code is 1 on a difference that
its case does not explain (`ours.yaml`).
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[3] / "tests" / "rig"))

from tools.oracle.__main__ import salt_venv
from tools.oracle.beside_master.cases import TwoSidedCase, compile_cases, formula_trees, own_cases, run_cases
from tools.oracle.beside_master.comparison import TwoSides, text
from tools.oracle.beside_master.sides import GatewaySide, MasterSide

LANGUAGE = 3008
"""Salt's release whose language is spoken here."""


@contextmanager
def two_sides(venv: Path, *, older_salt: bool = False) -> Iterator[TwoSides]:
    """Both sides, in a folder of their own."""
    with tempfile.TemporaryDirectory(prefix="saltern-", dir="/tmp") as name, ExitStack() as stack:
        folder = Path(name)
        target = folder / "target"
        master = MasterSide(venv, folder / "master", target)
        gateway = GatewaySide(venv, folder / "gateway", target)
        for side in (master, gateway):
            stack.callback(side.stop)
            side.start()
        yield TwoSides(master, gateway, target, older_salt=older_salt)


def _release(venv: Path) -> int:
    said = subprocess.run([venv / "bin/salt-call", "--version"], capture_output=True, text=True, check=True).stdout
    return int(said.split()[1].split(".")[0])


def main() -> int:
    """Parse the command line, compare, report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--salt", type=Path, help="virtualenv that has Salt (default: SALT_VENV, or .cache/oracle)")
    parser.add_argument("--runs", action="store_true", help="the cases of tools/oracle/runs instead")
    parser.add_argument("--goldens", action="store_true", help="the goldens of tests/golden instead")
    parser.add_argument("--formulas", type=Path, help="the formulas checked out in a folder instead")
    parser.add_argument("--verbose", action="store_true", help="also what differs on purpose")
    parser.add_argument("names", nargs="*", help="names of cases (default: all)")
    options = parser.parse_args()
    venv = salt_venv(options.salt)
    older = _release(venv) < LANGUAGE
    if options.formulas:
        cases: Iterable[TwoSidedCase] = formula_trees(options.formulas, options.names, older_salt=older)
    elif options.goldens:
        cases = compile_cases(options.names, older_salt=older)
    else:
        cases = (run_cases if options.runs else own_cases)(options.names)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    compared = wrong = purpose = states = parts = errors = 0
    with two_sides(venv, older_salt=older) as sides:
        for case in cases:
            started = time.monotonic()
            outcome = sides.compare(case)
            told = outcome.found if options.verbose else outcome.unexplained
            _say(
                f"{case.name}: {outcome.states} states, {outcome.parts} parts, {len(outcome.unexplained)} differ",
                started,
            )
            sys.stdout.writelines(f"  {text(one)}\n" for one in told)
            sys.stdout.flush()
            compared, states, parts = compared + 1, states + outcome.states, parts + outcome.parts
            errors, wrong = errors + outcome.errors, wrong + len(outcome.unexplained)
            purpose += len(outcome.found) - len(outcome.unexplained)
    sys.stdout.write(
        f"{compared} cases, {states} states, {parts} parts, {errors} refused by both, "
        f"{purpose} differ on purpose, {wrong} differ\n"
    )
    return 1 if wrong or not compared else 0


def _say(line: str, started: float) -> None:
    sys.stdout.write(f"{line} ({time.monotonic() - started:.1f} s)\n")


if __name__ == "__main__":
    sys.exit(main())
