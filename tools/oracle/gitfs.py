"""Real Salt's gitfs over a small repository, for every option that says which ref is which saltenv.

    SALT-PYTHON tools/oracle/gitfs.py FOLDER > tests/golden/gitfs/saltenvs.json
    SALT-PYTHON tools/oracle/gitfs.py FOLDER pillar > tests/golden/gitfs/pillars.json

Run by hand with an interpreter that has salt and GitPython, to record again what
`tests/gitfs/tree/test_salt_saltenvs.py` compares with; FOLDER is where the test made its repository (`remote.git`).
Imports nothing of ours.
"""

from __future__ import annotations

import copy
import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "gitfs"


def main() -> None:
    """Print what Salt shows in each case."""
    import salt.config

    logging.disable(logging.CRITICAL)
    pillar = sys.argv[2:] == ["pillar"]
    file = "pillar_cases.json" if pillar else "cases.json"
    cases = json.loads((GOLDEN / file).read_text().replace("URL", f"file://{Path(sys.argv[1]).resolve()}/remote.git"))
    defaults, saltenvs = salt.config.DEFAULT_MASTER_OPTS, cases["saltenvs"]
    found = {}
    for name, config in cases["cases"].items():
        if pillar:
            each = {saltenv: _apart(_pillar, defaults, config, [saltenv]) for saltenv in saltenvs}
            found[name] = {saltenv: files for saltenv, files in each.items() if files}
        else:
            found[name] = _apart(_shown, defaults, config, saltenvs)
    json.dump(found, sys.stdout, indent=1)
    sys.stdout.write("\n")


def _apart(show: Callable[..., Any], defaults: dict[str, Any], config: dict[str, Any], saltenvs: list[str]) -> Any:
    """In a process of its own: Salt keeps its remotes for as long as a process lives."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        with tempfile.TemporaryDirectory() as folder, os.fdopen(writer, "w") as out:
            json.dump(show(defaults, config, saltenvs, folder), out)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as answer:
        found = json.load(answer)
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
        "intervals": [remote.update_interval for remote in remotes.remotes],
    }


def _pillar(defaults: dict[str, Any], config: dict[str, Any], saltenvs: list[str], folder: str) -> list[str]:
    """What a pillarenv sees of the git pillars, by the rules of `salt.pillar.git_pillar.ext_pillar`."""
    import salt.pillar.git_pillar as module
    import salt.utils.gitfs

    (saltenv,) = saltenvs
    opts = {**copy.deepcopy(defaults), "cachedir": folder, "root_dir": folder, "sock_dir": folder}
    opts |= {"__role": "master", "git_pillar_provider": "gitpython", **config, "pillarenv": saltenv}
    pillars = salt.utils.gitfs.GitPillar(
        opts,
        [remote for entry in opts["ext_pillar"] for remote in entry["git"]],
        per_remote_overrides=module.PER_REMOTE_OVERRIDES,
        per_remote_only=module.PER_REMOTE_ONLY,
        global_only=module.GLOBAL_ONLY,
    )
    pillars.fetch_remotes()
    pillars.checkout()
    shown = [top for top, env in pillars.pillar_dirs.items() if (saltenv if env == "__env__" else env) == saltenv]
    return [_files_below(top) for top in shown if top not in pillars.pillar_linked_dirs]


def _files_below(top: str) -> str:
    found = (Path(at, name).relative_to(top) for at, _, names in os.walk(top, followlinks=True) for name in names)
    return " ".join(sorted(str(path) for path in found if path.parts[0] != ".git"))


if __name__ == "__main__":
    main()
