"""The example of a Salt master, checked and converted as its page says."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from controller.config.checks import check_engines, check_git
from controller.config.settings import load_settings
from minion.config import settings as of_minion

FOLDER = Path(__file__).parents[2] / "examples/migrate"


def saltern(*arguments):
    command = [sys.executable, "-c", "from controller.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "80"}
    return subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, check=False, env=environment)


def test_the_page_says_what_has_no_counterpart():
    line = next(line for line in (FOLDER / "README.md").read_text().splitlines() if line.startswith("$ saltern "))
    done = saltern(*line.split()[2:], "--out", "json")
    assert done.returncode == 2, done.stderr
    absent = [f"{item['kind']} {item['name']}" for item in json.loads(done.stdout)["items"]
              if item["verdict"] == "no counterpart"]  # fmt: skip
    assert absent == [
        "login ldap", "engine slack", "option thorium_roots", "beacon twilio_txt_msg", "function sensors.sense",
    ]  # fmt: skip


def test_the_converted_files_are_taken(tmp_path):
    done = saltern("migrate", "check", "etc/salt", "--root", ".", "--write", str(tmp_path / "out"))
    assert done.returncode == 2, done.stderr
    settings = load_settings(tmp_path / "out")
    check_git(settings)
    check_engines(settings)
    assert (settings.notes, settings.trees.file_roots) == ((), {"base": ("/srv/salt",)})
    minion = of_minion.load_settings(tmp_path / "out")
    assert (minion.id, minion.warnings) == ("web1", ())
