"""Settings that a child reads: what is wrong with them is known to the agent."""

from __future__ import annotations

import pytest

from minion.agent.settings_reader import settings_from_child
from minion.config.files import BadMinionSettings
from minion.config.settings import load_settings


def test_they_are_those_of_the_folder(tmp_path):
    text = f"id: web1\nmaster: [a.example.org]\ncachedir: {tmp_path}\nmine_functions: {{test.ping: []}}\n"
    (tmp_path / "minion").write_text(text)
    settings = settings_from_child(tmp_path)
    assert settings == load_settings(tmp_path)
    assert settings.cachedir == tmp_path


@pytest.mark.parametrize(("text", "why"), [("id: [", "minion"), ("master_port: high\n", "master_port")])
def test_what_is_wrong_is_said(tmp_path, text, why):
    (tmp_path / "minion").write_text(text)
    with pytest.raises(BadMinionSettings, match=why):
        settings_from_child(tmp_path)


def test_a_child_that_ends_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("minion.agent.settings_reader.read_settings", lambda folder: 1 / 0)
    with pytest.raises(BadMinionSettings, match="exit code 70"):
        settings_from_child(tmp_path)
