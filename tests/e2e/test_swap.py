"""mount.swap for real, in a file of its own, where the machine lets one swap."""

import os
import subprocess
from pathlib import Path

import pytest

from tools.docs.cases.case import Case
from tools.docs.states_table import judge

MAKE = "dd if=/dev/zero of={top}/swap bs=1M count=8 status=none && chmod 600 {top}/swap && mkswap -q {top}/swap"


def _may_swap(folder: Path) -> bool:
    command = MAKE.replace("{top}", str(folder)) + f" && swapon {folder}/swap && swapoff {folder}/swap"
    return subprocess.run(command, shell=True, capture_output=True).returncode == 0


@pytest.mark.e2e
@pytest.mark.skipif(os.geteuid() != 0, reason="only root may swap")
@pytest.mark.parametrize("persist", [False, True])
def test_swap_comes_on_in_a_file(tmp_path: Path, persist: bool) -> None:
    if not _may_swap(tmp_path):
        pytest.skip("swapon is not permitted here")
    off = "swapoff {top}/swap"
    case = Case(fun="mount.swap", name="{top}/swap", arguments={"persist": persist}, before=(MAKE,), after=(off,),
                restores=("/etc/fstab",))  # fmt: skip
    row = judge(case)
    assert (row.said, row.holds) == ("", True)
    assert row.results["run"].changes["swap"].endswith("/swap")
