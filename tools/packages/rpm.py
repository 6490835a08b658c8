"""RPMs, by rpmbuild: a spec for each package, of files that are staged already. See rpm-spec(7) and rpm.org/docs."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tools.packages.definitions import PREFIX, PYTHON, RELEASE, ROOT, VERSION, Package

_QUIET = """%global debug_package %{nil}
%global __os_install_post %{nil}
%global _build_id_links none
%global _binary_payload w12.zstdio
"""


def build_rpm(package: Package, root: Path, out: Path, work: Path) -> Path:
    """The package of a staged folder; the file.

    Args:
        package: which.
        root: its files.
        out: folder for the package.
        work: an empty folder.
    """
    spec = work / f"{package.name}.spec"
    spec.write_text(spec_of(package, root), encoding="utf-8")
    command = ["rpmbuild", "-bb", "--quiet", "--define", f"_topdir {work}", str(spec)]
    subprocess.run(command, check=True, capture_output=True)
    [built] = (work / "RPMS").rglob("*.rpm")
    return Path(shutil.move(built, out / built.name))


def spec_of(package: Package, root: Path) -> str:
    """The spec, which names each file: `root` has them."""
    needs = [f"Requires: {name} = {VERSION}-{RELEASE}" for name in package.needs] or [f"Requires: /usr/bin/{PYTHON}"]
    if package.setup:
        needs.append("Requires(post): shadow-utils")
    head = [
        _QUIET.rstrip(),
        f"Name: {package.name}",
        f"Version: {VERSION}",
        f"Release: {RELEASE}",
        f"Summary: {package.summary}",
        "License: Apache-2.0",
        "AutoReqProv: no",
        *needs,
        "%description",
        package.description,
        "%install",
        f"mkdir -p %{{buildroot}} && cp -a '{root}/.' %{{buildroot}}/",
    ]
    return "\n".join([*head, *_scripts(package), "%files", "%defattr(-,root,root,-)", *_files(root)]) + "\n"


def _scripts(package: Package) -> Iterator[str]:
    """The number is that of the versions which there will be: 1 after an installation, 0 after a removal."""
    if not package.unit:
        return
    units = (ROOT / "ops/packages/units.sh").read_text(encoding="utf-8").rstrip()
    setup = (ROOT / "ops/packages" / package.setup).read_text(encoding="utf-8").rstrip()
    yield from ["%post", setup, units, "make_user_and_folders", "units_changed"]
    yield from ["%preun", units, f'if [ "$1" = 0 ]; then stop_unit {package.unit}; fi']
    yield from ["%postun", units, "units_changed", f'if [ "$1" -ge 1 ]; then restart_unit {package.unit}; fi']


def _files(root: Path) -> Iterator[str]:
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).as_posix()
        if path.is_dir() and not path.is_symlink():
            if inside.startswith((f"{PREFIX}", "usr/share/doc/")):  # the others are the system's
                yield f'%dir "/{inside}"'
        else:
            yield f'"/{inside}"'
