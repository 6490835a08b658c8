"""The packages as they are defined: libraries, scripts, files. `make packages-test` builds, installs and runs them."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path

import pytest

from tools.packages.deb import control, scripts
from tools.packages.definitions import PACKAGES, PROJECT, closure, libraries_of
from tools.packages.rpm import spec_of
from tools.packages.staging import put_terminal_files, stage

ROOT = Path(__file__).parents[1]
BY_NAME = {each.name: each for each in PACKAGES}
WITH_UNITS = [each for each in PACKAGES if each.unit]


def test_each_library_is_in_one_package_and_none_is_missing():
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"]]
    for extra in ("controller", "cryptography", "vault", "pam", "oidc", "postgres", "redis", "gateway"):
        needed += extras[extra]
    brought = [name for package in PACKAGES for name in libraries_of(package)]
    assert len(brought) == len(set(brought))
    assert set(brought) == closure(tuple(needed))
    assert len(libraries_of(BY_NAME["saltern"])) + 1 <= 15


@pytest.mark.parametrize("package", WITH_UNITS, ids=lambda each: each.name)
def test_scripts_are_shell_and_make_what_the_unit_needs(package, tmp_path):
    for name, text in scripts(package).items():
        done = subprocess.run(["sh", "-n"], input=text, capture_output=True, text=True)
        assert done.returncode == 0, f"{name}: {done.stderr}"
    setup = scripts(package)["postinst"]
    unit = (ROOT / "ops/systemd" / package.unit).read_text()
    for line in unit.splitlines():
        if line.startswith(("User=", "Group=")):
            assert f"--system {line.split('=')[1]}" in setup or f"--gid {line.split('=')[1]}" in setup
    spec = spec_of(package, tmp_path)
    for part in ("%post", "%preun", "%postun", "make_user_and_folders"):
        assert part in spec


@pytest.mark.parametrize("package", WITH_UNITS, ids=lambda each: each.name)
def test_the_files_of_a_package_with_a_unit(package, tmp_path):
    root = tmp_path / "root"
    small = type(package)(name="unit-alone", summary="", description="", unit=package.unit, setup=package.setup)
    stage(small, Path("none.whl"), root)
    files = {path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}
    assert files == {f"usr/lib/systemd/system/{package.unit}", "usr/share/doc/unit-alone/copyright"}
    text = (root / f"usr/lib/systemd/system/{package.unit}").read_text()
    assert "/usr/bin/saltern" in text
    assert "/usr/local" not in text
    assert all(not (root / each).stat().st_mode & 0o022 for each in files)
    spec = spec_of(package, root)
    assert f'"/usr/lib/systemd/system/{package.unit}"' in spec
    assert '%dir "/usr/lib"' not in spec


def test_a_minion_imports_nothing_that_the_package_of_a_controller_brings():
    code = """
import importlib, sys
from controller.cli.main import ON_MINIONS, VERBS
for verb in ON_MINIONS:
    importlib.import_module(f"controller.cli.verbs.{VERBS[verb][0]}")
print(*(name for name in sys.modules if name.startswith("controller.") and not name.startswith("controller.cli")))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("\n", "")


def test_manual_pages_and_completions(tmp_path):
    put_terminal_files(tmp_path)
    page = gzip.decompress((tmp_path / "usr/share/man/man1/saltern-doctor.1.gz").read_bytes()).decode()
    assert page.startswith(".TH")
    script = (tmp_path / "usr/share/bash-completion/completions/saltern").read_text()
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    files = [path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*saltern*") if path.is_file()]
    assert {"usr/share/fish/vendor_completions.d/saltern.fish", "usr/share/zsh/vendor-completions/_saltern"} < {*files}


@pytest.mark.parametrize("package", PACKAGES, ids=lambda each: each.name)
def test_the_control_file(package):
    fields = dict(line.split(": ", 1) for line in control(package, "amd64", 5).splitlines() if ": " in line)
    assert fields["Package"] == package.name
    assert fields["Version"] == f"{PROJECT['version']}-1"
    for name in package.needs:
        assert f"{name} (= {fields['Version']})" in fields["Depends"]
    assert "python3." in fields["Depends"] or package.needs
