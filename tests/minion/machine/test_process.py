"""Commands that the system does not let the minion start."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minion.machine.failure import StateFailed
from minion.machine.process import run


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may run commands as somebody else")
def test_root_is_told_what_a_user_may_not_execute(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    program = tmp_path / "program"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    with pytest.raises(StateFailed, match=f"nobody may not execute {program}: Permission denied"):
        run([str(program)], cwd="/", runas="nobody")
