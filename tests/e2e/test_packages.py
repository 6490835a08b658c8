"""The packages of this tree, installed and run: lines of docs/runbooks/procedures.md on machines with nothing else.

`make packages-test`, as root: it builds the packages, which takes a minute (SALTERN_PACKAGES=DIR: those of a folder).
Machines are overlays of a root that debootstrap makes (SALTERN_ROOT=DIR: of one that is there); where there is no
mirror, of this machine's.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from machines import Machine, waited
from rig import PATIENCE

from tools.packages.__main__ import build_packages

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/runbooks/procedures.md").read_text()
UNITS = "/usr/lib/systemd/system"
QUIET = {"SYSTEMD_OFFLINE": "1", "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"}

pytestmark = [
    pytest.mark.fresh_root,
    pytest.mark.timeout(900),
    pytest.mark.skipif("SALTERN_PACKAGES" not in os.environ, reason="builds packages: make packages-test"),
    pytest.mark.skipif(os.geteuid() != 0 or shutil.which("unshare") is None, reason="makes roots: needs root"),
]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with the packages of this tree, in all formats that can be built here."""
    if Path(os.environ["SALTERN_PACKAGES"]).is_dir():
        return Path(os.environ["SALTERN_PACKAGES"])
    folder = tmp_path_factory.mktemp("packages")
    formats = [form for form, program in (("deb", "dpkg-deb"), ("rpm", "rpmbuild")) if shutil.which(program)]
    for file in build_packages(folder, formats):
        print(f"{file.name}: {file.stat().st_size / 1e6:.1f} MB")  # noqa: T201 - `pytest -s` shows the figures
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A root of Debian 12 with its Python and nothing else; this machine's where none can be made."""
    if "SALTERN_ROOT" in os.environ:
        return Path(os.environ["SALTERN_ROOT"])
    if shutil.which("debootstrap") is None:
        print("no debootstrap: the machines are overlays of this one's root")  # noqa: T201
        return Path("/")
    root = tmp_path_factory.mktemp("base") / "root"
    made = ["debootstrap", "--variant=minbase", "--include=python3.11,passwd,git,ca-certificates", "bookworm", root]
    done = subprocess.run(made, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"debootstrap: {done.stdout[-500:]}")  # noqa: T201
        return Path("/")
    return root


@pytest.fixture
def namespace() -> Iterator[int]:
    """A process whose mount and network namespaces end with it."""
    ready = "ip link set lo up && echo ready && exec sleep infinity"
    with subprocess.Popen(["unshare", "-m", "-n", "sh", "-c", ready], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


def lines_of(heading: str) -> list[str]:
    """The commands below a heading."""
    section = re.split(rf"^#+ {heading}$", PAGE, flags=re.MULTILINE)[1]
    return re.findall(r"^\$ (.+)$", re.split(r"^#+ ", section, flags=re.MULTILINE)[0], re.MULTILINE)


class Operator:
    """Does lines of the procedures on machines with the packages, and what systemd would do for them."""

    def __init__(self, namespace: int, folder: Path, packages: Path, base: Path) -> None:
        self._machine = partial(self._made, namespace, folder, packages, base)
        command = ["dpkg", "--print-architecture"]
        self._architecture = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        self.running: dict[str, subprocess.Popen[bytes]] = {}

    @staticmethod
    def _made(namespace: int, folder: Path, packages: Path, base: Path, name: str) -> Machine:
        return Machine(namespace, folder / name, packages, base, UNITS)

    def machine(self, name: str) -> Machine:
        return self._machine(name)

    def do(self, on: Machine, line: str, check: bool = True) -> str:
        return on.run(line.replace("amd64", self._architecture), check=check, **QUIET)

    def start(self, on: Machine, unit: str) -> None:
        if unit in self.running:
            self.end(unit)
        self.running[unit] = on.start(unit)

    def end(self, unit: str) -> None:
        service = self.running.pop(unit)
        service.terminate()
        assert service.wait(PATIENCE) == 0, unit

    def set_up_controller(self, controller: Machine, init: str) -> str:
        """Started; the line by which minions join."""
        join = re.search(r"saltern minion join .*", self.do(controller, init))[0]
        self.start(controller, "saltern-controller")
        self.until(controller, "saltern status")
        return re.sub(r"join \S+", "join 127.0.0.1", join) + " --id web1"

    def until(self, on: Machine, line: str) -> str:
        return waited(lambda: self.do(on, line, check=False), line)

    def is_well(self, on: Machine, doctor: str) -> None:
        assert "FAIL" not in self.do(on, doctor, check=False)


@pytest.fixture
def operator(namespace, tmp_path, packages, base) -> Iterator[Operator]:
    found = Operator(namespace, tmp_path, packages, base)
    yield found
    for unit in [*found.running]:
        found.end(unit)


def test_the_procedures_install_upgrade_and_replace(operator):
    do, controller, minion = operator.do, operator.machine("controller"), operator.machine("minion")
    install, init, doctor = lines_of("Install a controller")
    do(controller, install)
    assert do(controller, "saltern --version") == "saltern 0.1.0\n"
    owned = do(controller, "stat -c '%U %a' /var/lib/saltern /etc/saltern/pki/controller")
    assert owned.splitlines() == ["saltern 700"] * 2
    join = operator.set_up_controller(controller, init)
    operator.is_well(controller, doctor)

    install, _, minions_doctor = lines_of("Install a minion")
    do(minion, install)
    assert "pip install 'saltern[controller]'" in do(minion, "saltern status", check=False)
    look_at_size(do, minion)
    do(minion, join)
    operator.start(minion, "saltern-minion")
    assert operator.until(minion, "cat /etc/saltern-hello") == "Hello from web1\n"
    operator.is_well(minion, minions_doctor)

    backup, install, doctor, status = lines_of("Upgrade")
    for line in ("mkdir -p /var/backups", backup, install):
        do(controller, line)
    operator.start(controller, "saltern-controller")
    operator.until(controller, status)
    operator.is_well(controller, doctor)
    operator.until(controller, "saltern minions | grep web1")

    # Without a backup: another machine at the same address.
    operator.end("saltern-controller")
    new = operator.machine("new")
    do(new, lines_of("Install a controller")[0])
    init, move, _, restart = lines_of("Without a backup")
    join = operator.set_up_controller(new, init)
    do(minion, move)
    do(minion, join)
    assert restart == "systemctl restart saltern-minion"
    operator.start(minion, "saltern-minion")
    operator.until(new, "saltern status | grep 'web1.*Synced'")

    # What is removed takes its program along, and leaves keys and the store.
    do(controller, "dpkg -r saltern-controller saltern-cryptography saltern")
    assert do(controller, "ls /usr/lib/saltern /usr/bin/saltern 2>&1", check=False).count("No such file") == 2
    assert do(controller, "ls /etc/saltern/pki/controller/controller.key /var/lib/saltern/controller.sqlite")


def look_at_size(do, minion: Machine) -> None:
    count = len(do(minion, "ls -d /usr/lib/saltern/lib/python3*/site-packages/*.dist-info").split())
    megabytes = int(do(minion, "du -sk /usr/lib/saltern").split()[0]) * 1024 / 1e6
    print(f"a minion: {count} packages of Python, {megabytes:.0f} MB")  # noqa: T201
    assert count <= 15
    assert megabytes <= 40


def test_rpms_install_and_are_removed(namespace, tmp_path, packages):
    """On an overlay of this machine's root, with a database of RPM of its own: dependencies are not looked at."""
    if not list(packages.glob("*.rpm")):
        pytest.skip("rpmbuild is not installed")
    machine = Machine(namespace, tmp_path / "rpm", packages, units=UNITS)
    machine.run("rpm -i --nodeps --force-debian saltern*.rpm", **QUIET)
    assert machine.run("saltern --version") == "saltern 0.1.0\n"
    assert machine.run("stat -c %U /var/lib/saltern").strip() == "saltern"
    assert machine.run("rpm -q --requires saltern-controller --force-debian").count("= 0.1.0-1") >= 2
    with_units = ("saltern-controller", "saltern-relay", "saltern-gateway", "saltern-minion")
    names = (*with_units, "saltern-cryptography", "saltern-prometheus", "saltern")
    machine.run(f"rpm -e --nodeps --force-debian {' '.join(names)}", **QUIET)
    assert "No such file" in machine.run("ls /usr/lib/saltern 2>&1", check=False)
