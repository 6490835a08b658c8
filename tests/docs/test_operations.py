"""The backup of docs/operations.md copies a store that is in use, and scripts of the documents are shell."""

from __future__ import annotations

import sqlite3
import subprocess
import sys

import pytest


def test_scripts_can_be_read_by_bash(pages):
    blocks = [block for page in pages.values() for block in page.blocks("sh", "bash") if "$ " not in block.text[:2]]
    assert len(blocks) > 5
    for block in blocks:
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        assert done.returncode == 0, f"{block.place}: {done.stderr}"


@pytest.fixture
def machine(tmp_path):
    """A root with the store of a controller that runs."""
    for folder in ("etc/saltern/pki/controller", "var/lib/saltern", "var/backups"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "etc/saltern/pki/controller/controller.key").write_text("secret")
    store = sqlite3.connect(tmp_path / "var/lib/saltern/controller.sqlite")
    store.execute("pragma journal_mode=wal")
    store.execute("create table runs (id text)")
    store.execute("insert into runs values ('written')")
    store.commit()
    yield tmp_path
    store.close()


def test_a_backup_has_what_was_written(pages, machine):
    block = next(block for block in pages["docs/operations.md"].blocks("sh") if "store.backup" in block.text)
    script = block.text.replace("/var/", f"{machine}/var/").replace("-C / ", f"-C {machine} ")
    script = script.replace("python3 -", f"{sys.executable} -", 1)
    done = subprocess.run(["bash", "-e", "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    copy = machine / "var/backups/saltern.sqlite"
    assert copy.stat().st_mode & 0o077 == 0
    with sqlite3.connect(copy) as restored:
        assert restored.execute("select id from runs").fetchall() == [("written",)]
    restored.close()
    archive = machine / "var/backups/saltern-etc.tar.gz"
    listed = subprocess.run(["tar", "-tzf", archive], capture_output=True, text=True, check=True).stdout
    assert "etc/saltern/pki/controller/controller.key" in listed
