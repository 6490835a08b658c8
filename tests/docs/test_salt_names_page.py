"""The distribution saltern-salt-names has what docs/salt-names.md says."""

import importlib
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.build import build_wheel

FOLDER = Path(__file__).parents[2] / "ops" / "salt-names"


def test_the_wheel_has_one_package_without_modules(tmp_path, monkeypatch):
    monkeypatch.chdir(FOLDER)
    with zipfile.ZipFile(tmp_path / build_wheel(str(tmp_path))) as wheel:
        files = [name for name in wheel.namelist() if ".dist-info/" not in name]
    assert sorted(files) == ["salt/OF_SALTERN", "salt/__init__.py"]


def test_every_program_is_there_and_on_the_page():
    programs = tomllib.loads((FOLDER / "pyproject.toml").read_text())["project"]["scripts"]
    page = (FOLDER.parents[1] / "docs" / "salt-names.md").read_text()
    for name, target in programs.items():
        module, _, function = target.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
        assert f"`{name}`" in page


@pytest.mark.parametrize("name", ["salt.client", "salt.config", "salt.loader", "salt.runner", "salt.utils.event"])
def test_the_names_are_on_the_page(name):
    page = (FOLDER.parents[1] / "docs" / "salt-names.md").read_text()
    assert name in page
