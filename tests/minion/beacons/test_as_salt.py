"""Beacons find what Salt's own find (recorded by tools/oracle/beacons.py)."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from minion.beacons.beacon import World
from minion.beacons.registry import kind_of

ROOT = Path(__file__).resolve().parents[3]
CASES = json.loads((ROOT / "tests/golden/beacons.json").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['beacon']}-{CASES.index(case)}")
def test_a_beacon_finds_what_salts_finds(case, tmp_path, monkeypatch):
    log = tmp_path / "log"
    log.write_text("before\n")
    config = json.loads(json.dumps(case["config"]).replace("{log}", str(log)))
    options = {key: value for item in config for key, value in item.items()}
    kind = kind_of(case["beacon"])
    assert list(kind.check(options)) == []
    watch = kind.watch(options, World({}, lambda: 0.0)) if kind.watch else None
    memory, found = {}, []
    for number, said in enumerate(case["looks"]):
        monkeypatch.setattr(os, "getloadavg", lambda said=said: said.get("load"))
        given = said.get("functions", {})
        functions = {fun: lambda *args, value=value, **kwargs: value for fun, value in given.items()}
        with log.open("a", newline="") as file:
            file.write(said.get("lines", ""))
        of = World(functions, lambda number=number: 1000.0 * number)
        one = watch.look() if watch else kind.look(options, memory, of)
        found.append(
            [{key: value for key, value in each.items() if (case["beacon"], key) != ("status", "tag")} for each in one]
        )
    if watch:
        watch.close()
    assert json.loads(json.dumps(found)) == case["found"]
