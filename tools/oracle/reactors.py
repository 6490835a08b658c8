"""Record what Salt's reactor would do about events: tests/golden/reactors/*.yaml, rewritten in place.

    python -m tools.oracle.reactors SALT_VENV [NAME ...]

A golden has the files of a folder, which is `{tmp}` in them, the option `reactor`, and cases: tag and data of an event.
`salt` of a case is recorded: what Salt hands to its clients, in order, as `{sls, id, type, fun, tgt, tgt_type, arg,
kwarg}`; a reaction that Salt drops is not in it. `ours` stands beside it where the result here is another one on
purpose, and `why` says why. tests/controller/reactions/test_reactor_golden.py compares.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from tools.oracle.call import place

GOLDENS = Path(__file__).resolve().parents[2] / "tests" / "golden" / "reactors"

_SALT = """
import json, logging, sys
import salt.config, salt.utils.reactor as reactor, salt.utils.process
logging.disable(logging.CRITICAL)
folder, cases = sys.argv[1], json.load(sys.stdin)
opts = salt.config.master_config(folder + "/master")
made = reactor.Reactor(opts)
answers = []
for case in cases:
    made.opts["reactor"] = case["reactor"]
    called = []
    chunks = made.reactions(case["tag"], case["data"], made.list_reactors(case["tag"]))

    class Pool:
        def __init__(self, *a, **k):
            pass
        def fire_async(self, function, args):
            fun, low = args
            called.append(dict(current, tgt=None, tgt_type=None, fun=fun, arg=list(low["arg"]), kwarg=low["kwarg"]))

    class Local:
        def cmd_async(self, tgt, fun, arg=(), tgt_type="glob", kwarg=None, **rest):
            about = {key: rest[key] for key in ("ret", "batch", "subset", "timeout") if key in rest}
            called.append(dict(current, tgt=tgt, tgt_type=tgt_type, fun=fun, arg=list(arg), kwarg=kwarg or {}, **about))

    class Caller:
        def cmd(self, fun, *arg, **kwarg):
            called.append(dict(current, tgt=None, tgt_type=None, fun=fun, arg=list(arg), kwarg=kwarg))

    salt.utils.process.ThreadPool = Pool
    wrap = reactor.ReactWrap(opts)
    real = wrap.populate_client_cache
    def populate(low):
        if low["state"] == "local":
            wrap.client_cache["local"] = Local()
        elif low["state"] == "caller":
            wrap.client_cache["caller"] = Caller()
        else:
            real(low)
    wrap.populate_client_cache = populate
    for chunk in chunks:
        current = {"sls": chunk["__sls__"], "id": chunk["__id__"], "type": chunk["state"]}
        try:
            wrap.run(chunk)
        except Exception:
            break  # Salt's process ends
    answers.append(called)
json.dump(answers, sys.stdout, default=str)
"""


def record(salt_venv: Path, golden: Mapping[str, Any]) -> list[Any]:
    """What Salt does in each case of a golden, in terms of `{tmp}`."""
    with tempfile.TemporaryDirectory(prefix="saltern-reactors-") as name:
        folder = Path(name)
        place(folder, golden["files"])
        options = {
            "root_dir": str(folder / "root"),
            "file_roots": {"base": [str(folder / "tree")]},
            "log_level": "quiet",
            "log_level_logfile": "quiet",
            "id": "controller",
        }
        (folder / "master").write_text(yaml.safe_dump(options))
        cases = [
            {"tag": case["tag"], "data": case["data"], "reactor": case.get("reactor", golden.get("reactor"))}
            for case in golden["cases"]
        ]
        done = subprocess.run(
            [salt_venv / "bin" / "python", "-c", _SALT, str(folder)],
            input=json.dumps(cases).replace("{tmp}", str(folder)),
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            raise SystemExit(done.stderr)
        answers = json.loads(done.stdout)
        for called in answers:
            for each in called:
                each["sls"] = _named(each["sls"], folder)
        return list(json.loads(json.dumps(answers).replace(str(folder), "{tmp}")))


def _named(path: str, folder: Path) -> str:
    """A file of Salt's cache, or straight of its tree, as the reactor names it."""
    for mark in ("/files/base/", f"{folder}/tree/"):
        if mark in path:
            return "salt://" + path.partition(mark)[2]
    return path


def main() -> None:
    """Record the goldens that are named, or all."""
    venv, *names = sys.argv[1:]
    for path in sorted(GOLDENS.glob("*.yaml")):
        if not names or path.stem in names:
            golden = yaml.safe_load(path.read_text())
            for case, answer in zip(golden["cases"], record(Path(venv), golden), strict=True):
                case["salt"] = answer
            path.write_text(yaml.safe_dump(golden, sort_keys=False, width=120))


if __name__ == "__main__":
    main()
