"""Real Salt's gitfs over a small repository, for every option that says which ref is which saltenv.

    SALT-PYTHON ops/oracle_gitfs.py FOLDER > tests/golden/gitfs/saltenvs.json

Run by hand with an interpreter that has salt and GitPython, to record again what `tests/gitfs/test_salt_saltenvs.py`
compares with; FOLDER is where the test made its repository (`remote.git`). Imports nothing of ours.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

CASES = Path(__file__).resolve().parent.parent / "tests" / "golden" / "gitfs" / "cases.json"


def main() -> None:
    """Print what Salt shows in each case."""
    import salt.config

    logging.disable(logging.CRITICAL)
    cases = json.loads(CASES.read_text().replace("URL", f"file://{Path(sys.argv[1]).resolve()}/remote.git"))
    defaults = salt.config.DEFAULT_MASTER_OPTS
    json.dump({name: _apart(defaults, config, cases["saltenvs"]) for name, config in cases["cases"].items()},
              sys.stdout, indent=1)  # fmt: skip
    sys.stdout.write("\n")


def _apart(defaults: dict[str, Any], config: dict[str, Any], saltenvs: list[str]) -> dict[str, Any]:
    """In a process of its own: Salt keeps its remotes for as long as a process lives."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with tempfile.TemporaryDirectory() as folder, os.fdopen(writer, "w") as out:
            json.dump(_shown(defaults, config, saltenvs, folder), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        found: dict[str, Any] = json.load(answer)
    os.waitpid(child, 0)
    return found


def _shown(defaults: dict[str, Any], config: dict[str, Any], saltenvs: list[str], folder: str) -> dict[str, Any]:
    import salt.fileserver.gitfs
    import salt.utils.gitfs

    opts = {**copy.deepcopy(defaults), "cachedir": folder, "root_dir": folder, "sock_dir": folder, "__role": "master"}
    opts |= {"fileserver_backend": ["gitfs"], "gitfs_provider": "gitpython", **config}
    remotes = salt.utils.gitfs.GitFS(
        opts,
        opts["gitfs_remotes"],
        per_remote_overrides=salt.fileserver.gitfs.PER_REMOTE_OVERRIDES,
        per_remote_only=salt.fileserver.gitfs.PER_REMOTE_ONLY,
    )
    remotes.fetch_remotes()
    files = {env: " ".join(sorted(remotes.file_list({"saltenv": env}))) for env in saltenvs}
    return {
        "saltenvs": sorted(remotes.envs(ignore_cache=True)),
        "files": {env: names for env, names in files.items() if names},
    }


if __name__ == "__main__":
    main()
