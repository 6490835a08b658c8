"""One controller to a store."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from controller.store.errors import StoreInUse, StoreUnavailable
from controller.store.exclusive_use import exclusive_use

HOLD = """
import sys
from controller.store.exclusive_use import exclusive_use
with exclusive_use(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def url(tmp_path):
    return f"sqlite:///{tmp_path}/new/controller.sqlite"


@pytest.fixture
def holder(url):
    with subprocess.Popen(
        [sys.executable, "-c", HOLD, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_process_is_refused_and_told_who_has_it(url, holder):
    with pytest.raises(StoreInUse, match=rf"process {holder.pid}\); stop that one"), exclusive_use(url):
        pass


def test_a_killed_holder_holds_nothing(url, holder):
    holder.kill()
    holder.wait()
    with exclusive_use(url):
        pass


def test_a_forked_child_does_not_keep_it(url):
    with exclusive_use(url):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.read(read, 1)
            os._exit(0)
    done = subprocess.run([sys.executable, "-c", HOLD, url], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    os.write(write, b"x")
    os.waitpid(child, 0)
    assert done.stdout == "held\n"


def test_stores_without_a_file_are_not_locked():
    with exclusive_use("sqlite://"), exclusive_use("sqlite://"), exclusive_use("no url"):
        pass


def test_a_folder_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreUnavailable), exclusive_use(f"sqlite:///{tmp_path}/file/x.sqlite"):
        pass
