"""The configuration of beacons: which can run, and what is wrong with the others, with the place."""

from __future__ import annotations

from pathlib import Path

import pytest

from minion.beacons.configured import BeaconSources, Ensure, read_beacons
from minion.config.settings import load_settings

ROOT = Path(__file__).resolve().parents[3]
LOAD = [{"averages": {"1m": [0, 1]}}]


def of_file(tmp_path, text):
    (tmp_path / "minion").write_text(f"id: web1\n{text}")
    options = load_settings(tmp_path).options.beacons
    return read_beacons(BeaconSources(own=options.own, places=options.places))


def test_the_example_can_be_used(tmp_path):
    found, wrong = of_file(tmp_path, (ROOT / "examples/beacons/beacons.conf").read_text())
    assert wrong == []
    assert [one.name for one in found] == ["inotify", "log", "service", "diskusage", "load", "certificates"]
    assert found[2].ensure == Ensure(("nginx",), "sls", 3, 30.0)
    assert (found[0].skipped_in_runs, found[5].module, found[5].interval) == (True, "cert_info", 86400.0)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("beacons:\n  lod: []\n", 3, "beacon lod: there is no beacon lod; did you mean load?"),
        ("beacons:\n  load: {}\n", 3, "beacon load: must be a list: write a dash"),
        ("beacons:\n  memusage:\n    - percent: 1\n    - interval: soon\n", 5, "interval must be a number of seconds"),
        ("beacons:\n  memusage:\n    - percnt: 1\n", 3, "percent is missing"),
        ("beacons:\n  memusage:\n    - percent: 1\n    - intervall: 3\n", 5, "did you mean interval?"),
        ("beacons:\n  inotify:\n    - files:\n        /etc:\n          mask: [change]\n", 6, "'change' is no event"),
        ("beacons:\n  twilio_txt_msg: []\n", 3, "beacon twilio_txt_msg is not here"),
        ("beacons:\n  memusage:\n    - percent: 1\n    - ensure: {sl: web}\n", 5, "ensure must be"),
        ("beacons: [load]\n", 2, "beacons must be a mapping"),
    ],
)
def test_what_is_wrong_has_its_line(tmp_path, text, line, message):
    _, wrong = of_file(tmp_path, text)
    assert len(wrong) == 1
    assert wrong[0].startswith(f"{tmp_path}/minion:{line}: ")
    assert message in wrong[0]


def test_the_files_count_over_the_pillar_and_what_is_disabled_does_not_run():
    pillar = {"load": [{"averages": {"5m": [0, 1]}}], "memusage": [{"percent": 1}, {"enabled": False}]}
    found, wrong = read_beacons(BeaconSources(own={"load": LOAD}, pillar=pillar))
    assert wrong == []
    assert [(one.name, one.options) for one in found] == [("load", LOAD[0])]
    assert read_beacons(BeaconSources(own={"load": LOAD, "enabled": False})) == ([], [])
    _, wrong = read_beacons(BeaconSources(pillar={"load": 1}))
    assert wrong == ["pillar, beacons: beacon load: must be a list of options, not 1"]
