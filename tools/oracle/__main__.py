"""Compare with real Salt, which runs in a virtualenv of its own: goldens, random trees, public formulas.

    make oracle                          the goldens of tests/golden, and some hundred random trees
    FORMULAS=DIR make oracle             every SLS of the formulas checked out in DIR (NAME-formula each)
    python -m tools.oracle --trees DIR   highstates, SLS and globs of the trees checked out in DIR
    .venv/bin/python -m tools.oracle --random 1000 --seed 7

Salt is that of the virtualenv SALT_VENV; without one, it is installed into .cache/oracle once. `--record` writes what
Salt says into the goldens. Of errors only *that* Salt fails is compared: the text is ours. Exit code 1 on any
difference that no golden names (`differs:`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import venv
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from tools.oracle.client import Salt

if TYPE_CHECKING:
    from tools.oracle.formulas import Outcome

VERSION = "3008.3"
_ROOT = Path(__file__).resolve().parents[2]


def main() -> int:
    """Parse the command line, compare, report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    formulas = os.environ.get("FORMULAS")
    parser.add_argument("--salt", type=Path, help="virtualenv that has Salt (default: SALT_VENV, or .cache/oracle)")
    parser.add_argument("--record", action="store_true", help="write Salt's results into the goldens")
    parser.add_argument("--random", type=int, metavar="N", help="compare N random trees, pillars and top files instead")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first random tree")
    parser.add_argument("--formulas", type=Path, default=formulas and Path(formulas), help="compare formulas instead")
    parser.add_argument("--trees", type=Path, help="compare the highstates, SLS and globs of a folder's trees instead")
    parser.add_argument(
        "--most", type=int, default=60, metavar="N", help="at most N single SLS of each tree or formula"
    )
    parser.add_argument("--combined", type=int, default=60, metavar="N", help="N trees of several formulas each")
    parser.add_argument("--json", action="store_true", help="a JSON line a formula, or for all else")
    parser.add_argument("--verbose", action="store_true", help="also the errors that both have")
    parser.add_argument("names", nargs="*", help="names of goldens, or of formulas (default: all)")
    options = parser.parse_args()
    if options.formulas and not options.formulas.is_dir():
        parser.error(f"there is no folder {options.formulas}")
    with Salt(salt_venv(options.salt)) as salt:
        if options.trees:
            return _trees(salt, options)
        if options.formulas:
            return _formulas(salt, options)
        if options.random is not None:
            return _random(salt, options.seed, options.random)
        return _goldens(salt, options) or (0 if options.names else _random(salt, options.seed, 100))


def salt_venv(given: Path | None = None) -> Path:
    """The virtualenv to use; made, where nobody named one."""
    named = given or (Path(os.environ["SALT_VENV"]) if os.environ.get("SALT_VENV") else None)
    folder = named or _ROOT / ".cache" / "oracle"
    if (folder / "bin" / "salt-call").exists():
        return folder
    if named is not None:
        raise SystemExit(f"{named} has no Salt: pip install salt=={VERSION}")
    print(f"installing Salt {VERSION} into {folder} (once)", file=sys.stderr)  # noqa: T201
    venv.create(folder, with_pip=True)
    # Mako is a renderer of Salt's that wants its package.
    subprocess.run([folder / "bin" / "pip", "install", "-q", f"salt=={VERSION}", "mako"], check=True)
    return folder


def _goldens(salt: Salt, options: argparse.Namespace) -> int:
    from tools.oracle.goldens import compare_goldens

    outcome = compare_goldens(salt, options.names, record=options.record)
    return _told(outcome.lines(), bool(outcome.different))


def _random(salt: Salt, seed: int, count: int) -> int:
    from tools.oracle.goldens import compare_random

    outcome = compare_random(salt, range(seed, seed + count))
    return _told(outcome.lines(), bool(outcome.different))


def _formulas(salt: Salt, options: argparse.Namespace) -> int:
    from tools.oracle.formulas import compare, compare_combined, formulas

    seeds = range(options.seed, options.seed + options.combined)
    outcomes = (compare(path, salt, options.most) for path in formulas(options.formulas, options.names))
    together = (compare_combined(options.formulas, options.names, seeds, salt) for _ in (1,))
    return _table(chain(outcomes, together), options)


def _trees(salt: Salt, options: argparse.Namespace) -> int:
    from tools.oracle.trees import compare_tree, trees

    return _table((compare_tree(path, salt, options.most) for path in trees(options.trees, options.names)), options)


def _table(outcomes: Iterable[Outcome], options: argparse.Namespace) -> int:
    from tools.oracle.formulas import COLUMNS, line

    total, wrong = dict.fromkeys(COLUMNS[1:], 0), []
    if not options.json:
        _told([line(dict(zip(COLUMNS, COLUMNS, strict=True)))])
    for outcome in outcomes:
        row = outcome.row()
        _told([json.dumps(row) if options.json else line(row)])
        total = {key: value + row[key] for key, value in total.items()}
        wrong += outcome.different
        if options.verbose:
            _told(f"  {count} times, both: {text}" for text, count in outcome.errors.most_common())
        _told(f"  {count} times, another SLS is blamed: {text}" for text, count in outcome.blame.most_common())
    if not options.json:
        _told([line({"formula": "all", **total})])
    return _told((f"DIFFERS: {one}" for one in wrong), bool(wrong))


def _told(lines: Iterable[str], failed: bool = False) -> int:
    for one in lines:
        print(one, flush=True)  # noqa: T201
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
