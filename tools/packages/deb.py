"""Debian packages, by dpkg-deb. See deb-control(5) and debian-policy, chapter 6, for the scripts."""

from __future__ import annotations

import hashlib
import subprocess
from pathlib import Path

from tools.packages.definitions import PYTHON, RELEASE, ROOT, VERSION, Package

_MAINTAINER = "Saltern maintainers <maintainers@saltern.example.org>"


def build_deb(package: Package, root: Path, out: Path) -> Path:
    """The package of a staged folder; the file.

    Args:
        package: which.
        root: its files; the folder DEBIAN is made in it.
        out: folder for the package.
    """
    architecture = _architecture()
    folder = root / "DEBIAN"
    folder.mkdir()
    files = sorted(path for path in root.rglob("*") if path.is_file() and folder not in path.parents)
    size = sum(0 if path.is_symlink() else path.stat().st_size for path in files) // 1024 + 1
    sums = [
        f"{hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()}  {path.relative_to(root)}\n"
        for path in files
        if not path.is_symlink()
    ]
    _write(folder / "control", control(package, architecture, size))
    _write(folder / "md5sums", "".join(sums))
    for name, text in scripts(package).items():
        _write(folder / name, text, 0o755)
    file = out / f"{package.name}_{VERSION}-{RELEASE}_{architecture}.deb"
    command = ["dpkg-deb", "--root-owner-group", "-Zzstd", "-z12", "--build", str(root), str(file)]
    subprocess.run(command, check=True, capture_output=True)
    return file


def control(package: Package, architecture: str, size: int) -> str:
    """The file `control`; `size` in KiB."""
    needs = [f"{name} (= {VERSION}-{RELEASE})" for name in package.needs] or [PYTHON]
    if package.setup:
        needs.append("passwd")
    fields = {
        "Package": package.name,
        "Version": f"{VERSION}-{RELEASE}",
        "Architecture": architecture,
        "Maintainer": _MAINTAINER,
        "Installed-Size": str(size),
        "Depends": ", ".join(needs),
        "Section": "admin",
        "Priority": "optional",
        "Description": f"{package.summary}\n {package.description}",
    }
    return "".join(f"{name}: {value}\n" for name, value in fields.items())


def scripts(package: Package) -> dict[str, str]:
    """What dpkg runs: name -> text. A service is restarted by an upgrade where it runs, and started by nobody else."""
    if not package.unit:
        return {}
    head = "#!/bin/sh\nset -e\n"
    units = (ROOT / "ops/packages/units.sh").read_text(encoding="utf-8")
    setup = (ROOT / "ops/packages" / package.setup).read_text(encoding="utf-8")
    configure = (
        'if [ "$1" = configure ]; then\n    make_user_and_folders\n    units_changed\n'
        f'    [ -z "$2" ] || restart_unit {package.unit}\nfi\n'
    )
    return {
        "postinst": head + setup + units + configure,
        "prerm": head + units + f'if [ "$1" = remove ]; then\n    stop_unit {package.unit}\nfi\n',
        "postrm": head + units + "units_changed\n",
    }


def _architecture() -> str:
    done = subprocess.run(["dpkg", "--print-architecture"], check=True, capture_output=True, text=True)
    return done.stdout.strip()


def _write(path: Path, text: str, mode: int = 0o644) -> None:
    path.write_text(text, encoding="utf-8")
    path.chmod(mode)
