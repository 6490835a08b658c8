"""python -m tools.packages [--format deb|rpm] [--out DIR]: build the packages of this tree."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tools.packages.deb import build_deb
from tools.packages.definitions import PACKAGES, ROOT
from tools.packages.rpm import build_rpm
from tools.packages.staging import stage

_BUILDERS = {"deb": "dpkg-deb", "rpm": "rpmbuild"}


def main() -> None:
    """Build, and print the files."""
    parser = argparse.ArgumentParser(prog="python -m tools.packages", description=__doc__)
    parser.add_argument("--format", choices=[*_BUILDERS], action="append", help="these alone")
    parser.add_argument("--out", type=Path, default=ROOT / "dist", help="folder for the packages")
    given = parser.parse_args()
    wanted = given.format or [each for each, program in _BUILDERS.items() if shutil.which(program)]
    if lacking := [_BUILDERS[each] for each in wanted if shutil.which(_BUILDERS[each]) is None] or not wanted:
        raise SystemExit(f"packages are built by {lacking or 'dpkg-deb or rpmbuild'}, which is not installed")
    given.out.mkdir(parents=True, exist_ok=True)
    os.umask(0o022)
    os.environ.setdefault("SOURCE_DATE_EPOCH", _time_of_commit())
    for file in build_packages(given.out, wanted):
        sys.stdout.write(f"{file}\n")


def build_packages(out: Path, formats: list[str]) -> list[Path]:
    """All packages in these formats (`deb`, `rpm`); the files."""
    found = []
    with tempfile.TemporaryDirectory(prefix="saltern-packages-") as folder:
        work = Path(folder)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q", "wheel"]
        wheel = [*pip, "--no-build-isolation", "--no-deps", "--no-index", "-w", str(work), str(ROOT)]
        subprocess.run(wheel, check=True)
        [file] = work.glob("saltern-*.whl")
        for package in PACKAGES:
            staged = work / package.name
            stage(package, file, staged)
            for form in formats:
                root = work / f"{package.name}-{form}"
                shutil.copytree(staged, root, symlinks=True)
                topdir = work / f"{package.name}-topdir-{form}"
                topdir.mkdir()
                built = build_deb(package, root, out) if form == "deb" else build_rpm(package, root, out, topdir)
                found.append(built)
            shutil.rmtree(staged)
    return found


def _time_of_commit() -> str:
    """Seconds since the epoch, so that the same tree gives the same packages; 0 without git."""
    done = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "0"


if __name__ == "__main__":
    main()
