"""Record what the programs of Salt print: `python -m tools.oracle.programs VENV`, the folder of one with Salt.

A real master and a real minion are started on this machine, in a folder of their own. What they say is compared with
Saltern's programs by tests/scenarios/test_salt_programs.py. Texts that differ by machine stand as they are: the
tests leave them out.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "salt_programs.json"
CASES = (
    "salt '*' test.ping --out json",
    "salt '*' test.ping --out json --static",
    "salt '*' test.ping --out json --out-indent -1",
    "salt '*' test.ping --out txt",
    "salt '*' test.ping --out yaml",
    "salt '*' test.ping --out raw",
    "salt '*' test.ping",
    "salt web1 test.echo 'two words' --out json",
    "salt web1 test.echo '[1, {a: b}]' --out json",
    "salt -L web1 test.ping --out json --static",
    "salt -G roles:web test.ping --out json",
    "salt -E 'web[0-9]' test.ping --out json",
    "salt -C 'web* and G@roles:web' test.ping --out json",
    "salt web1 cmd.run 'exit 3' --out json",
    "salt web1 cmd.run 'echo a; echo b' --out json",
    "salt web1 cmd.run pwd cwd=/ --out json",
    "salt web1 no.such --out json",
    "salt nobody test.ping",
    "salt '*' test.ping,test.echo , hello --out json --static",
    "salt '*' test.ping --preview-target --out json",
    "salt '*' test.ping -b 1 --out json --static",
    "salt '*' test.ping --subset 1 --out json",
    "salt '*' test.ping --summary",
    "salt-run test.arg a b=2 --out json",
    "salt-run test.arg a --out json --out-indent=-1",
    "salt-run test.arg 'x=[1, 2]' y=null --out json",
    "salt-run manage.up --out json",
    "salt-run manage.up",
    "salt-run manage.status --out json",
    "salt-run test.metasyntactic --out json",
    "salt-run --async test.sleep 0",
    "salt-key -L",
    "salt-key -L --out json",
    "salt-key -l acc",
    "salt-key -l acc --out json",
    "salt-key -l un --out json",
    "salt-key -a nobody -y",
    "salt-key -f web1 --out json",
    "salt-cp '*' src.txt FOLDER/dst.txt --out json",
    "salt-cp -C '*' src.txt FOLDER/dst2.txt --out json",
    "salt-cp '*' src.txt FOLDER/dst3.txt",
)
"""As typed; `-c` is added."""


def main() -> None:
    """Write what Salt says."""
    venv = Path(sys.argv[1]).absolute()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _configure(folder)
        started = [
            subprocess.Popen([venv / "bin" / f"salt-{each}", "-c", folder], stderr=subprocess.DEVNULL)
            for each in ("master", "minion")
        ]
        try:
            _wait(venv, folder)
            found = {case: _said(venv, folder, case) for case in CASES}
        finally:
            for process in started:
                process.terminate()
                process.wait()
    GOLDEN.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")


def _configure(folder: Path) -> None:
    common = f"root_dir: {folder}\nuser: root\nlog_level: quiet\nlog_level_logfile: quiet\npublish_port: 24515\n"
    (folder / "master").write_text(common + "interface: 127.0.0.1\nret_port: 24516\nauto_accept: true\n")
    minion = "id: web1\nmaster: 127.0.0.1\nmaster_port: 24516\ngrains: {roles: [web]}\n"
    (folder / "minion").write_text(common + minion)
    (folder / "src.txt").write_text("hello\n")


def _wait(venv: Path, folder: Path) -> None:
    deadline = time.monotonic() + 120
    while "true" not in _said(venv, folder, CASES[0])["out"] and time.monotonic() < deadline:
        time.sleep(1)


def _said(venv: Path, folder: Path, case: str) -> dict[str, Any]:
    program, *words = shlex.split(case.replace("FOLDER", str(folder)))
    done = subprocess.run(
        [venv / "bin" / program, "-c", folder, *words], cwd=folder, capture_output=True, text=True, timeout=120
    )
    return {"out": done.stdout.replace(str(folder), "FOLDER"), "code": done.returncode}


if __name__ == "__main__":
    main()
