"""What a controller has freed, the system has again."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

SCRIPT = """
from pathlib import Path
from controller.cli.verbs.controller import return_freed_memory

def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096

{call}
before = resident()
for _ in range(4):
    large = b"x" * (15 * 1024 * 1024)
    del large
print((resident() - before) // 2**20)
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about the memory allocator of glibc")
@pytest.mark.parametrize(("call", "kept"), [("return_freed_memory()", False), ("", True)])
def test_memory_of_large_messages_is_given_back(call: str, kept: bool) -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT.format(call=call)], capture_output=True, text=True, check=True)
    assert (int(done.stdout) >= 8) == kept
