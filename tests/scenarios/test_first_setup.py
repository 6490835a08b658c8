"""From nothing to a minion that has the example's state: `saltern init`, and the line that it prints, in a shell."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml
from rig import PATIENCE, free_ports

BIN = Path(sys.executable).parent


@contextmanager
def started(folder: Path, *words: str) -> Iterator[None]:
    with (folder / f"{words[0]}.log").open("wb") as log:
        process = subprocess.Popen([BIN / "saltern", *words], stdout=log, stderr=log)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE)


def shell(line: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"}
    return subprocess.run(line, shell=True, env=environment, capture_output=True, text=True, check=check)


def waited(look, folder: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not look():
        logs = "\n".join(path.read_text() for path in folder.glob("*.log"))
        assert time.monotonic() < end, logs
        time.sleep(0.1)


def is_seen_to_drift(hello, folder):
    """Change it by hand, as the example says; again where the check after the push has put the first change right."""
    if hello.read_text() != "by hand\n":
        hello.write_text("by hand\n")
    return "Drifted" in shell(f"saltern status -c {folder}/etc").stdout


def test_the_printed_line_makes_a_minion():
    with tempfile.TemporaryDirectory(prefix="si-") as name:
        folder = Path(name)
        publish, request, http = free_ports(3)
        ports = {"interface": "127.0.0.1", "publish_port": publish, "ret_port": request, "http_port": http}
        (folder / "etc/controller.d").mkdir(parents=True)
        (folder / "etc/controller.d/ports.conf").write_text(yaml.safe_dump(ports))
        init = f"saltern init --yes -c {folder}/etc --root-dir {folder}/c"
        said = shell(init)
        line = said.stdout
        assert "within 1d:" in said.stderr, "what was asked for, not what is left a moment later"
        mine = f" -c {folder}/minion --root-dir {folder}/m"
        with started(folder, "controller", "-c", f"{folder}/etc"):
            waited(lambda: shell(line.strip() + mine + " --id web1", check=False).returncode == 0, folder)
            with started(folder, "minion", "-c", f"{folder}/minion"):
                hello = folder / "c/etc/saltern-hello"
                waited(hello.exists, folder)
                assert hello.read_text() == "Hello from web1\n"
                # While the controller runs it makes the token; the first one was for one minion.
                other = shell(init).stdout
                assert shlex.split(other)[-1] != shlex.split(line)[-1]
                assert "web1" in shell(f"saltern key list acc -c {folder}/etc").stdout
                change = f"cd {folder}/c/srv/saltern && sed -i 's/Hello/Good day/' states/hello.sls"
                git = "git -c user.name=A -c user.email=a@example.org commit -q -a -m 'Another greeting'"
                shell(f"{change} && {git}")
                waited(lambda: hello.read_text() == "Good day from web1\n", folder)
                waited(lambda: is_seen_to_drift(hello, folder), folder)
