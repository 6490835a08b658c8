"""The reactors of examples/reactors do what its page says."""

import json
from pathlib import Path

import pytest

from controller.cli.main import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "reactors"


@pytest.mark.parametrize(
    ("tag", "event", "calls"),
    [
        ("salt/auth", "key", [("wheel", "key.accept", None, {"match": "web-1"})]),
        (
            "salt/minion/web-1/start",
            "start",
            [
                ("local", "state.apply", "web-1", {}),
                ("local", "service.reload", "role:lb", {"name": "haproxy"}),
            ],
        ),
        ("salt/beacon/web-1/service/nginx", "nginx", [("local", "service.start", "web-1", {"name": "nginx"})]),
        (
            "salt/beacon/web-1/diskusage//srv",
            "disk",
            [
                ("notify", "slack", None, {"title": "web-1", "text": "The disk at /srv is 97.5 % full."}),
                ("notify", "webhook", None, {"profile": "pager", "text": "web-1: /srv is full"}),
            ],
        ),
    ],
)
def test_each_rule_does_what_it_says(tag, event, calls, tmp_path, capsys):
    config = tmp_path / "controller.conf"
    config.write_text((EXAMPLE / "controller.conf").read_text().replace("/srv/reactor", str(EXAMPLE / "reactor")))
    data = EXAMPLE / "events" / f"{event}.json"
    assert run(["reactor", "test", tag, str(data), "--config", str(config), "--out", "json"]) == 0
    said = capsys.readouterr()
    assert not said.err
    assert [(each["type"], each["fun"], each["tgt"], each["kwarg"]) for each in json.loads(said.out)] == calls
