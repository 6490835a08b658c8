"""The backup of docs/operations.md can be made and put back, and scripts of the documents are shell."""

from __future__ import annotations

import subprocess
from pathlib import Path

from controller.cli.main import run
from controller.config.settings import load_settings
from controller.store import Store


def test_scripts_can_be_read_by_bash(pages):
    blocks = [block for page in pages.values() for block in page.blocks("sh", "bash") if "$ " not in block.text[:2]]
    assert len(blocks) > 5
    for block in blocks:
        done = subprocess.run(["bash", "-n"], input=block.text, capture_output=True, text=True)
        assert done.returncode == 0, f"{block.place}: {done.stderr}"


def test_the_backup_can_be_made_and_put_back(pages, tmp_path):
    """As the page says it, with the paths of a root of its own."""
    config = tmp_path / "etc/saltern"
    config.mkdir(parents=True)
    (tmp_path / "var/backups").mkdir(parents=True)
    (config / "controller").write_text(f"root_dir: {tmp_path}\ngitfs_remotes: [https://git.example.org/x.git]\n")
    settings = load_settings(config)
    with Store(settings.store_url) as store:
        store.minions.seen("web1", 1.0)
    lines = [line for block in pages["docs/operations.md"].blocks("console") for line in block.text.splitlines()]
    create, restore = [line.removeprefix("$ saltern ") for line in lines if line.startswith("$ saltern backup ")]
    for words in (create, restore):
        if words is restore:
            Path(settings.store_url.removeprefix("sqlite:///")).unlink()
        assert run([*words.replace("/var/", f"{tmp_path}/var/").split(), "-c", str(config)]) == 0
    with Store(settings.store_url) as store:
        assert [each.id for each in store.minions.all()] == ["web1"]
