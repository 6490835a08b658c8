"""Packages of Ruby: by the gem that is here, in a folder of the tests' own."""

import gzip
import shutil
import subprocess

import pytest

from minion.execution import CallFailed, Context, Modules
from minion.machine.failure import StateFailed
from minion.providers.gems import in_file, rows, satisfies

SPEC = """Gem::Specification.new do |s|
  s.name, s.version, s.summary, s.authors, s.files = "{name}", "{version}", "x", ["x"], []
end
"""


@pytest.fixture
def call(tmp_path, monkeypatch):
    """call("list"): packages are in a folder of this test."""
    if shutil.which("gem") is None:
        pytest.skip("there is no gem: Debian's package ruby has it")
    monkeypatch.setenv("GEM_HOME", str(tmp_path / "gems"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    modules = Modules(Context(minion_id="m"))
    return lambda fun, *args, **given: modules.call(f"gem.{fun}", args, given)


def test_packages_are_installed_and_removed(call, tmp_path):
    (tmp_path / "x.gemspec").write_text(SPEC.format(name="casegem", version="1.2"))
    subprocess.run(["gem", "build", "-q", "x.gemspec", "-o", "casegem-1.2.gem"], cwd=tmp_path, check=True)
    call("install", str(tmp_path / "casegem-1.2.gem"))
    assert call("list", "casegem") == {"casegem": ["1.2"]}
    call("uninstall", "casegem")
    assert call("list", "casegem") == {}
    with pytest.raises(CallFailed, match="is no name of a package"):
        call("install", "--system")


def test_sources(call, tmp_path):
    (tmp_path / "s").mkdir()
    (tmp_path / "s/specs.4.8.gz").write_bytes(gzip.compress(b"\x04\x08[\x00"))
    before = call("sources_list")
    call("sources_add", f"file://{tmp_path}/s/")
    assert call("sources_list") == [*before, f"file://{tmp_path}/s/"]
    call("sources_remove", f"file://{tmp_path}/s/")
    assert call("sources_list") == before
    with pytest.raises(CallFailed, match="list of processes"):
        call("sources_add", "https://user:sesame@gems.example.org/")
    with pytest.raises(CallFailed, match="/none/gem is not there"):
        call("version", gem_bin="/none/gem")


def test_rows_and_files_name_packages():
    assert rows("bundler (default: 2.3.15)\nrake (13.0, 12.1)\n") == {"bundler": ["2.3.15"], "rake": ["13.0", "12.1"]}
    assert in_file("/x/a-b-1.2.3-x86_64-linux.gem") == ("a-b", "1.2.3")
    assert in_file("rake") == ("rake", None)


@pytest.mark.parametrize(
    ("version", "conditions", "fits"),
    [
        ("1.2.0", "1.2", True),
        ("1.10", "> 1.9", True),
        ("2.0.0.rc1", "< 2", True),
        ("2.0.0", ">= 2.0.0.rc1", True),
        ("1.4.9", "~> 1.4.2", True),
        ("1.5", "~> 1.4.2", False),
        ("1.5", "~> 1.4", True),
        ("2.0", "~> 1.4", False),
        ("1.5", ">= 1.2, < 1.5", False),
        ("1.5", "<= 1.5", True),
        ("1.5", "!= 1.5", False),
    ],
)
def test_conditions_are_those_of_ruby(version, conditions, fits):
    assert satisfies(version, conditions) is fits


def test_a_condition_that_is_none_is_refused():
    with pytest.raises(StateFailed, match="is no version"):
        satisfies("1", "=> 2")
