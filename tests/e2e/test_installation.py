"""docs/installation.md as written, each machine an overlay of this one's root: wheel, environments, pipx, units.

The wheelhouse is what requirements.lock names, so that the machines install without a network. Where systemd does not
run, the commands of a unit are run as it would: its user, its folders, and no other environment than systemd gives.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from effort import soak
from machines import Machine, waited
from rig import PATIENCE

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/installation.md").read_text()
UNITS = "/etc/systemd/system"
pytestmark = [
    pytest.mark.fresh_root,
    pytest.mark.timeout(600),
    pytest.mark.skipif(
        os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "systemctl", "systemd-analyze", "setpriv"))),
        reason="makes roots of its own: needs root, systemd's programs and util-linux",
    ),
]


def blocks(heading: str) -> list[list[str]]:
    """Commands of the page below a heading, a list for each block."""
    section = PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    found = re.findall(r"^```console\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    return [[line[2:] for line in block.splitlines() if line.startswith("$ ")] for block in found]


@pytest.fixture(autouse=True)
def umask() -> Iterator[None]:
    """That of a new machine: a test before this one may have left another, and roots are made with it."""
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, and what the lock names."""
    folder = tmp_path_factory.mktemp("wheels")
    wheel = ["-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps", "-w", str(folder), str(ROOT)]
    [download], _ = blocks("Without a network")
    gather = shlex.split(download.replace("-d dist", f"-d {folder}"))
    for arguments in wheel, gather[1:]:
        subprocess.run([sys.executable, *arguments], check=True, cwd=ROOT, capture_output=True)
    return folder


@pytest.fixture
def namespace() -> Iterator[int]:
    """A process whose mount and network namespaces end with it."""
    ready = "ip link set lo up && echo ready && exec sleep infinity"
    command = ["unshare", "-m", "-n", "sh", "-c", ready]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process.pid
        process.kill()


def offline(machine: Machine, lines: list[str]) -> list[str]:
    """What the lines printed, with no other source of packages than the wheels, and no systemd to talk to."""
    variables = {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "/tmp/wheels",
        "PIP_CONFIG_FILE": "/dev/null",
        "SYSTEMD_OFFLINE": "1",
    }
    return [machine.run(line, **variables) for line in lines]


def test_the_page_installs_a_controller_and_a_minion_that_work(namespace: int, tmp_path: Path, wheels: Path) -> None:
    of_minion, of_controller = blocks("In a virtual environment")
    minion, controller = (Machine(namespace, tmp_path / name, wheels) for name in ("minion", "controller"))
    _, [without_network] = blocks("Without a network")
    assert offline(minion, [of_minion[0], without_network, *of_minion[2:]])[-1] == "saltern 0.1.0\n"
    packages, megabytes = measured(minion)
    assert (packages <= 15, megabytes <= 50) == (True, True), "the figures of docs/installation.md"
    assert "pip install 'saltern[controller]'" in minion.run("saltern status", check=False)
    assert offline(controller, [of_minion[0], *of_controller, *of_minion[2:]])[-1] == "saltern 0.1.0\n"
    packages, megabytes = measured(controller)
    assert (packages <= 45, megabytes <= 200) == (True, True)
    units = dict(zip(("minion", "controller"), blocks("Units for systemd"), strict=True))
    controller.write("/srv/states/top.sls", "base: {'*': [web]}\n")
    controller.write("/srv/states/web.sls", "/etc/installed:\n  file.managed: [{contents: '{{ grains.id }}'}]\n")
    git = "git -C /srv/states -c user.name=A -c user.email=a@example.org"
    controller.run(f"{git} init -q -b main && {git} add . && {git} commit -q -m first")
    controller.write("/etc/saltern/controller", "gitfs_remotes: ['file:///srv/states']\n")
    services = [started(controller, "controller", units["controller"])]
    try:
        key = waited(lambda: controller.run("saltern key controller", check=False), "saltern key controller")
        minion.write("/etc/saltern/minion", f"id: web1\nmaster: 127.0.0.1\ncontroller_key: '{key.split()[0]}'\n")
        services.append(started(minion, "minion", units["minion"]))
        waited(lambda: controller.run("saltern key accept web1", check=False), "saltern key accept web1")
        assert waited(lambda: minion.run("cat /etc/installed", check=False), "the file of the state") == "web1\n"
    finally:
        for service in services:
            service.terminate()
        assert [service.wait(PATIENCE) for service in services] == [0] * len(services)


def measured(machine: Machine) -> tuple[int, int]:
    """Packages and MB of their files, besides pip and setuptools; they are printed."""
    packages = machine.run("ls -d /opt/saltern/lib/python3*/site-packages/*.dist-info").split()
    count = sum(not Path(each).name.startswith(("pip-", "setuptools-")) for each in packages)
    left_out = "--exclude=pip --exclude=pip-* --exclude=setuptools* --exclude=pkg_resources"
    megabytes = round(int(machine.run(f"du -sk --apparent-size {left_out} /opt/saltern").split()[0]) * 1024 / 1e6)
    print(f"{count} packages, {megabytes} MB")  # noqa: T201 - `pytest -s` shows the figures
    return count, megabytes


def started(machine: Machine, name: str, lines: list[str]) -> subprocess.Popen[bytes]:
    """The service, after the page's commands, with a unit that systemd takes."""
    said = offline(machine, [line.replace("enable --now", "enable") for line in lines])  # it is started below
    unit = f"saltern-{name}"
    assert machine.run(f"systemctl is-enabled {unit}") == "enabled\n", said
    assert machine.run(f"systemd-analyze verify {UNITS}/{unit}.service") == ""
    return machine.start(unit)


@soak
def test_pipx_installs_the_program_where_the_units_start_it(tmp_path: Path, wheels: Path) -> None:
    made = [sys.executable, "-m", "venv", tmp_path / "tool"]
    subprocess.run(made, check=True)
    pip = subprocess.run([tmp_path / "tool/bin/pip", "install", "-q", "pipx"], check=False, capture_output=True)
    if pip.returncode:
        pytest.skip("pipx cannot be installed here")
    [[line]] = blocks("With pipx")
    bin_folder = tmp_path / "bin"
    line = line.replace("/opt/pipx", str(tmp_path / "home")).replace("/usr/local/bin", str(bin_folder))
    words = line.replace(" pipx install", f" {tmp_path}/tool/bin/pipx install")
    subprocess.run(words, shell=True, check=True, cwd=wheels, capture_output=True)
    for arguments, text in ((["--version"], "saltern 0.1.0"), (["status", "-c", "/nowhere"], "/nowhere")):
        done = subprocess.run([bin_folder / "saltern", *arguments], capture_output=True, text=True, check=False)
        assert text in done.stdout + done.stderr
    assert (tmp_path / "home/venvs/saltern/share/saltern/systemd/saltern-minion.service").is_file()
