"""The files of each package, below a folder that stands for /. Called by the builders of both formats.

Libraries are copied from the environment that runs this, which was installed by hashes (requirements.lock): a package
has what the tests ran with, and building it needs no network.
"""

from __future__ import annotations

import compileall
import gzip
import os
import py_compile
import shutil
import zipfile
from importlib import metadata
from pathlib import Path

from click.shell_completion import get_completion_class

from controller.cli.main import saltern
from controller.cli.verbs.terminal.completion import VARIABLE
from tools.docs import man
from tools.packages.definitions import OWN_MODULES, PREFIX, PYTHON, ROOT, SITE, Package, libraries_of

_COMPLETIONS = {
    "bash": "usr/share/bash-completion/completions/saltern",
    "fish": "usr/share/fish/vendor_completions.d/saltern.fish",
    "zsh": "usr/share/zsh/vendor-completions/_saltern",
}
"""Shell -> where it looks."""
_CONTROLLER = "saltern/rooms/controller/"
_OF_ALL = tuple(f"{_CONTROLLER}{each}" for each in ("__init__.py", "cli/"))
"""Of the controller's room, what the command line of a minion has, too (tests/test_packages.py)."""
_PROGRAM = f"""#!/{PREFIX}/bin/python3
import sys

from saltern import main

sys.exit(main())
"""
_ENVIRONMENT = f"""home = /usr/bin
include-system-site-packages = false
version = {PYTHON.removeprefix("python")}
executable = /usr/bin/{PYTHON}
"""
_COPYRIGHT = """Saltern: Apache-2.0, as below.
Libraries below /usr/lib/saltern have their licences in their folders *.dist-info.

"""


def stage(package: Package, wheel: Path, root: Path) -> None:
    """Put the files of a package below `root`, which is made.

    Args:
        package: which.
        wheel: of this tree.
        root: an empty folder, or none.
    """
    root.mkdir(parents=True, exist_ok=True)
    for name in libraries_of(package):
        _copy_library(name, root / SITE)
    if package.name == "saltern":
        _put_program(wheel, root)
    if package.name == "saltern-controller":
        _unpack(wheel, root, of_controller=True)
    if package.unit:
        _put_unit(package.unit, root)
    if (root / SITE).exists():
        _compile(root)
    _put(root / f"usr/share/doc/{package.name}/copyright", _COPYRIGHT + (ROOT / "LICENSE").read_text(encoding="utf-8"))
    _set_modes(root)


def _copy_library(name: str, site: Path) -> None:
    distribution = metadata.distribution(name)
    for file in distribution.files or ():
        if ".." in file.parts or "__pycache__" in file.parts or file.name in ("RECORD", "INSTALLER", "REQUESTED"):
            continue  # programs of libraries, and what pip keeps for itself
        target = site / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(str(file.locate()), target)


def _unpack(wheel: Path, root: Path, *, of_controller: bool) -> None:
    """The files of the wheel that a controller alone needs, or all others."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            inside = Path(name)
            if inside.parts[0].endswith(".data"):
                target = root / PREFIX / Path(*inside.parts[2:])
            else:
                target = root / SITE / inside
            own = name.startswith(_CONTROLLER) and not name.startswith(_OF_ALL)
            if own is not of_controller or name.endswith("/") or inside.name == "RECORD":
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(archive.read(name))


def _put_program(wheel: Path, root: Path) -> None:
    _unpack(wheel, root, of_controller=False)
    _put(root / PREFIX / "pyvenv.cfg", _ENVIRONMENT)
    _put(root / PREFIX / "bin/saltern", _PROGRAM)
    (root / PREFIX / "bin/python3").symlink_to(f"/usr/bin/{PYTHON}")
    (root / PREFIX / "bin/python").symlink_to("python3")
    _put(root / SITE / "saltern-own-modules.pth", OWN_MODULES + "\n")
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    (root / "usr/bin/saltern").symlink_to("../lib/saltern/bin/saltern")
    put_terminal_files(root)


def put_terminal_files(root: Path) -> None:
    """Manual pages, and what shells complete by."""
    for name, text in man.pages().items():
        target = root / f"usr/share/man/man1/{name}.gz"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(gzip.compress(text.encode(), mtime=0))
    for shell, path in _COMPLETIONS.items():
        made = get_completion_class(shell)
        if made is not None:
            _put(root / path, made(saltern, {}, "saltern", VARIABLE).source())


def _put_unit(unit: str, root: Path) -> None:
    text = (ROOT / "ops/systemd" / unit).read_text(encoding="utf-8")
    _put(root / "usr/lib/systemd/system" / unit, text.replace("/usr/local/bin/saltern", "/usr/bin/saltern"))


def _compile(root: Path) -> None:
    """Bytecode that holds without looking at the times of the sources, which unpacking may change."""
    compileall.compile_dir(
        root / PREFIX,
        stripdir=root,
        prependdir="/",
        quiet=2,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
        workers=0,
    )


def _put(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _set_modes(root: Path) -> None:
    """Files may be read by all, programs may be run; nothing depends on who builds."""
    for folder, _, names in os.walk(root):
        Path(folder).chmod(0o755)
        for name in names:
            path = Path(folder, name)
            if not path.is_symlink():
                path.chmod(0o755 if path.parent.name == "bin" or ".so" in path.name else 0o644)
