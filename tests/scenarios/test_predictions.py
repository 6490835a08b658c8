"""What a preview says of random edits is what their merge then does, and it leaves nothing on a minion.

`make predictions` tries many more.
"""

import random
import shutil
import tempfile
from pathlib import Path

from tools.predictions.edits import edit
from tools.predictions.journey import Journeys
from tools.predictions.site import new_site
from tools.predictions.verdict import Verdict


def test_previews_foretell_merges():
    draw = random.Random(1)
    site = new_site(draw, states=8)
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    journeys = Journeys.begin(folder, site)
    try:
        site = journeys.up(site)
        for _ in range(4):
            what, site = journeys.mended(site) if journeys.failed else edit(site, draw)
            journey = journeys.make(what, site)
            assert journey.verdict is not Verdict.WRONG, (journey.edit, journey.differences)
    finally:
        journeys.rig.stop_all()
        shutil.rmtree(folder, ignore_errors=True)
