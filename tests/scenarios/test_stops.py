"""A controller that is told to stop is gone soon, whatever it is waiting for."""

import os
import signal
import socket
import time
from pathlib import Path

ENDLESS = """#!py
import time
from pathlib import Path
def run():
    open(__grains__["root"] + "-begun", "w").close()
    time.sleep(3600)
"""


def stopped(rig):
    """SIGTERM ends it, and it says nothing that frightens."""
    pid = rig.pid("controller")
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + 30
    while not _gone(pid):
        assert time.monotonic() < deadline, rig.log("controller", lines=50)
        time.sleep(0.02)
    assert "Traceback" not in rig.log("controller", lines=1000)


def test_a_compile_that_hangs_is_not_waited_for(make_rig):
    rig = make_rig(minions={"web1": {}}, compile_confinement=False, compile_timeout=3600)
    rig.wait_applied(rig.push("first"))
    (rig.work / "states" / "endless.sls").write_text(ENDLESS)
    (rig.work / "states" / "top.sls").write_text("base: {'*': [endless]}")
    rig.push("endless")
    root = rig.root("web1")
    rig.wait("the compile to hang", root.with_name(root.name + "-begun").exists)
    stopped(rig)


def test_a_remote_that_hangs_is_not_waited_for(make_rig):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        rig = make_rig(minions={"web1": {}}, gitfs_remotes=[f"http://127.0.0.1:{silent.getsockname()[1]}/states.git"])
        with silent.accept()[0] as asked:
            assert asked.recv(1)
            stopped(rig)


def _gone(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True
