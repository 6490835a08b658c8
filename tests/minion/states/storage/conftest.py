"""Loop devices of the test's own."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

Devices = Callable[[], str]


@pytest.fixture
def loop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Devices]:
    """loop(): a new device of 300 MiB. Skips where the kernel has none for us."""
    made: list[str] = []
    folder = tmp_path_factory.mktemp("disks")

    def make() -> str:
        image = Path(folder / f"{len(made)}.img")
        with image.open("wb") as file:
            file.truncate(300 << 20)
        done = subprocess.run(["losetup", "-f", "--show", image], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            pytest.skip(f"there are no loop devices here: {done.stderr.strip()}")
        made.append(done.stdout.strip())
        return made[-1]

    if os.geteuid() != 0 or shutil.which("losetup") is None:
        pytest.skip("needs root and losetup")
    yield make
    for device in made:
        subprocess.run(["losetup", "-d", device], check=False)
