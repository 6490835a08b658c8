"""Record what real Salt answers for calls of execution functions: tests/golden/modules/*.yaml, rewritten in place.

    python -m tools.oracle.modules SALT_VENV [NAME ...]

A golden is a list of cases; each has the files of a folder of its own, which is `{tmp}` in arguments and answers, the
files of `salt://` (`tree`), and calls that are made one after the other. An answer is `value`, or `error` where Salt
raises. A call with `like: true` is compared by the shape of its answer, since the answer is of this machine. `deviates`
says why the answer here is another one: it is recorded all the same, and not compared. Only functions that keep to
`{tmp}` belong into a golden.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

GOLDENS = Path(__file__).resolve().parents[2] / "tests" / "golden" / "modules"

_SALT = """
import json, logging, os, pathlib, sys, tempfile, yaml
import salt.config, salt.loader
logging.disable(logging.CRITICAL)
answers = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
home = tempfile.mkdtemp()
os.makedirs(home + "/cache")
opts = dict(salt.config.minion_config(None))
opts.update(file_client="local", local=True, root_dir=home, cachedir=home + "/cache", pki_dir=home + "/pki",
            extension_modules=home + "/ext", conf_file=home + "/minion", id="web1", sock_dir=home + "/sock",
            file_roots={"base": [home + "/tree"]})
opts["grains"] = {**salt.loader.grains(opts), "id": "web1"}
opts["pillar"] = {"a": {"b": 1}}
functions = salt.loader.minion_mods(opts, utils=salt.loader.utils(opts))

def swap(value, old, new):
    if isinstance(value, str):
        return value.replace(old, new)
    if isinstance(value, dict):
        return {swap(k, old, new): swap(v, old, new) for k, v in value.items()}
    return [swap(v, old, new) for v in value] if isinstance(value, (list, tuple)) else value

def sample(value):
    # What tells the shape of an answer, and nothing of the machine that it was recorded on.
    if isinstance(value, dict):
        items = list(value.items())
        if items and all(isinstance(inner, dict) for _, inner in items):
            return {"a": sample(items[0][1])}
        return {key: sample(inner) for key, inner in items}
    if isinstance(value, list):
        return [sample(value[0])] if value else []
    return "text" if isinstance(value, str) else value

cases = yaml.safe_load(sys.stdin)
for case in cases:
    folder = tempfile.mkdtemp()
    for name, text in case.get("files", {}).items():
        path = pathlib.Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for name, text in case.get("tree", {}).items():
        path = pathlib.Path(home, "tree", name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for call in case["calls"]:
        call.pop("value", None), call.pop("error", None)
        args, kwargs = swap(call.get("args", []), "{tmp}", folder), swap(call.get("kwargs", {}), "{tmp}", folder)
        try:
            value = functions[call["fun"]](*args, **kwargs)
            value = json.loads(json.dumps(swap(value, folder, "{tmp}"), default=repr))
            call["value"] = sample(value) if call.get("like") else value
        except Exception as error:
            call["error"] = swap(str(error), folder, "{tmp}")
yaml.safe_dump(cases, answers, sort_keys=False, allow_unicode=True, width=120)
"""


def main() -> None:
    """Rewrite the goldens named, or all."""
    salt, *names = sys.argv[1:]
    for path in sorted(GOLDENS.glob("*.yaml")):
        if names and path.stem not in names:
            continue
        done = subprocess.run(
            [f"{salt}/bin/python", "-c", _SALT], input=path.read_text(), capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            sys.exit(f"{path}: {done.stderr}")
        path.write_text(done.stdout)


if __name__ == "__main__":
    main()
