"""examples/gateway: its files are read, and a real salt-minion with them is driven from git."""

import json
import subprocess
import tempfile
from pathlib import Path

import pytest
import yaml
from rig import SALTERN, Rig
from stock_minions import StockMinions, salt_venvs

from gateway.settings import controllers_of, load_gateway_settings

FOLDER = Path(__file__).parents[2] / "examples/gateway"
VENVS = salt_venvs()


def test_the_files_are_read(tmp_path):
    (tmp_path / "gateway").write_text((FOLDER / "gateway.conf").read_text())
    settings = load_gateway_settings(tmp_path)
    assert settings.warnings == ()
    assert [each.host for each in controllers_of(settings, tmp_path).values()] == ["controller.example.org"]
    assert yaml.safe_load((FOLDER / "minion.conf").read_text())["master"] == settings.interface


def test_the_file_for_two_controllers_is_read(tmp_path):
    (tmp_path / "gateway").write_text((FOLDER / "several-controllers.conf").read_text())
    settings = load_gateway_settings(tmp_path)
    assert settings.warnings == ()
    found = controllers_of(settings, tmp_path)
    assert list(found) == ["controller1.example.org", "controller2.example.org"]
    assert len({each.controller_key for each in found.values()}) == 1


def _of_gateway(stock, option):
    """What `saltern gateway` prints of itself."""
    done = subprocess.run([*SALTERN, "gateway", option, "-c", stock.folder], capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.skipif(not VENVS, reason="SALT_MINION_VENVS names no virtualenv with salt-minion")
def test_a_salt_minion_with_the_file_is_driven_from_git(tmp_path):
    states = tmp_path / "tree/states"
    states.mkdir(parents=True)
    (states / "top.sls").write_text("base: {'*': [web]}\n")
    (states / "web.sls").write_text(f"{tmp_path}/applied:\n  file.managed: [{{contents: '{{{{ grains.id }}}}'}}]\n")
    with Rig(tmp_path / "rig", {}, tmp_path / "tree", forked=True) as rig:
        rig.up()
        rig.push("first")
        gateway = yaml.safe_load((FOLDER / "gateway.conf").read_text())["id"]
        # The names of the sockets of a salt-minion may have 107 bytes.
        with tempfile.TemporaryDirectory() as short, StockMinions(rig, Path(short) / "stock", {"id": gateway}) as stock:
            rig.saltern("key", "add", "--gateway", gateway, _of_gateway(stock, "--key"))
            stock.start_gateway()
            written = yaml.safe_load((FOLDER / "minion.conf").read_text())
            assert written.pop("master")
            venv = next(iter(VENVS.values()))
            stock.start_minion(venv, "web1", {**written, "master_finger": _of_gateway(stock, "--fingerprint")})
            stock.wait("its key", lambda: "web1" in rig.keys("pending"))
            local = [venv / "bin/salt-call", "-c", stock.root("web1") / "etc", "--local", "--out", "json", "key.finger"]
            shown = json.loads(subprocess.run(local, capture_output=True, check=True).stdout)["local"]
            assert shown in rig.saltern("key", "finger", "web1").stdout
            rig.saltern("key", "accept", "web1")
            applied = tmp_path / "applied"
            stock.wait("what git says", lambda: applied.exists() and applied.read_text() == "web1\n")
