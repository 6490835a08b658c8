"""Preview random edits of a generated tree, merge them, and compare what was foretold with what happened.

    .venv/bin/python -m tools.predictions --edits 200 --seed 1
    .venv/bin/python -m tools.predictions --edits 20 --seed 7 --only policy

A controller and three minions run on this machine, all that they manage lies in a folder to throw away; as root the
minions have an /etc and services of their own, too. Exit code 1 when a prediction was wrong and did not say that it was
uncertain.
"""

from __future__ import annotations

import argparse
import random
import re
import signal
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tools.predictions import machines
from tools.predictions.circumstances import Circumstances
from tools.predictions.edits import EDITS
from tools.predictions.journey import Journey, Journeys
from tools.predictions.kinds import lines
from tools.predictions.prediction import Prediction
from tools.predictions.site import Site, new_site
from tools.predictions.verdict import Verdict


def main() -> int:
    """Parse the command line and try the edits."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--edits", type=int, default=200, help="how many")
    parser.add_argument("--seed", type=int, default=1, help="of the tree and the edits")
    parser.add_argument("--states", type=int, default=12, help="in each SLS, at first")
    parser.add_argument("--only", choices=EDITS, help="edits of one kind")
    parser.add_argument("--calm", action="store_true", help="nobody is away or paused, nothing is changed by hand")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # nothing it started is left running
    draw = random.Random(options.seed)  # noqa: S311  (nothing secret is drawn)
    site = new_site(draw, options.states, machine=machines.can_be_had())
    counts: Counter[Verdict] = Counter()
    reasons: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="saltern-predictions-") as folder:
        journeys = Journeys.begin(Path(folder), site)
        with journeys.rig:
            circumstances = Circumstances(journeys, journeys.up(site), draw, options.only or "", calm=options.calm)
            try:
                for _ in range(options.edits):
                    journey = circumstances.next()
                    counts[journey.verdict] += 1
                    reasons.update(_reasons(journey.prediction))
                    _say(journey, circumstances.site)
            finally:
                _sum_up(counts, reasons)
    return 1 if counts[Verdict.WRONG] else 0


def _sum_up(counts: Counter[Verdict], reasons: Counter[str]) -> None:
    for each in Verdict:
        print(f"{counts[each]:5} {each.value}")  # noqa: T201
    print("states that a preview did not vouch for:")  # noqa: T201
    for reason, count in reasons.most_common():
        print(f"{count:5} {reason}")  # noqa: T201


def _reasons(prediction: Prediction) -> list[str]:
    """Why states are uncertain, without what names one of them."""
    return [
        re.sub(r"\S*(/|s\d+)\S*", "…", state.uncertain)[:120]
        for states in prediction.states.values()
        for state in states.values()
        if state.uncertain
    ]


def _say(journey: Journey, site: Site) -> None:
    print(f"{journey.number:4} {journey.verdict.name:7} {journey.edit} {sorted(journey.prediction.timing)}", flush=True)  # noqa: T201
    for each in journey.differences:
        mark = "marked: " if each.marked else ""
        print(f"       {mark}{each.minion} {each.key}: {each.what}", flush=True)  # noqa: T201
        if each.why:
            print(f"         because {each.why}", flush=True)  # noqa: T201
        if not each.marked:
            print("\n".join(f"         | {line}" for line in _lines(each.key, site)), flush=True)  # noqa: T201


def _lines(key: str, site: Site) -> list[str]:
    """The state of this key, as it stands in the tree."""
    named = [*key.split("_|-"), "", ""][1].removeprefix("listener_")
    blocks = [block for blocks in site.blocks.values() for block in blocks]
    return [line for block in blocks if block.id == named for line in lines(block)]


if __name__ == "__main__":
    sys.exit(main())
