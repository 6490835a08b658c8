"""Preview random edits of a generated tree, merge them, and compare what was foretold with what happened.

    .venv/bin/python -m tools.predictions --edits 200 --seed 1
    .venv/bin/python -m tools.predictions --edits 20 --seed 7 --only policy

A controller and three minions run on this machine, all that they manage lies in a folder to throw away. Exit code 1
when a prediction was wrong and did not say that it was uncertain.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tools.predictions.journey import Journey, Journeys
from tools.predictions.site import EDITS, edit, new_site
from tools.predictions.verdict import Verdict


def main() -> int:
    """Parse the command line and try the edits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edits", type=int, default=200, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the tree and the edits")
    parser.add_argument("--states", type=int, default=12, help="in each SLS, at first")
    parser.add_argument("--only", choices=EDITS, help="edits of one kind")
    options = parser.parse_args()
    draw = random.Random(options.seed)  # noqa: S311  (nothing secret is drawn)
    site = new_site(draw, options.states)
    counts: Counter[Verdict] = Counter()
    with tempfile.TemporaryDirectory(prefix="saltern-predictions-") as folder:
        journeys = Journeys.begin(Path(folder), site)
        with journeys.rig:
            site = journeys.up(site)
            for _ in range(options.edits):
                if journeys.failed:  # else everything that follows would be about the failure
                    what, site = journeys.mended(site)
                else:
                    what, site = edit(site, draw, options.only or "")
                journey = journeys.make(what, site)
                counts[journey.verdict] += 1
                _say(journey)
    for each in Verdict:
        print(f"{counts[each]:5} {each.value}")  # noqa: T201
    return 1 if counts[Verdict.WRONG] else 0


def _say(journey: Journey) -> None:
    print(f"{journey.number:4} {journey.verdict.name:7} {journey.edit} {sorted(journey.prediction.timing)}", flush=True)  # noqa: T201
    for each in journey.differences:
        if not each.marked:
            print(f"       {each.minion} {each.key}: {each.what}", flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
