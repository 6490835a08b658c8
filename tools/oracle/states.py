"""Record what real Salt says of the cases in tests/golden/states: `salt` of each is written anew.

    python -m tools.oracle.states VENV [FILE ...]

VENV is a virtualenv with Salt 3008; without files all are recorded. A case is read by
tests/minion/states/test_states_golden.py too; `{top}` in it is a folder of its own. Every case must write below that
folder only: Salt runs it for real.
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

from tools.docs.cases.case import with_top

CASES = Path(__file__).resolve().parents[2] / "tests/golden/states"
_INSIDE = Path(__file__).with_name("states_salt.py")


def main(venv: str, files: list[str]) -> None:
    """Record these files, or all."""
    with tempfile.TemporaryDirectory(prefix="saltern-oracle-") as folder:
        command = [f"{venv}/bin/python", str(_INSIDE)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as salt:
            assert salt.stdin  # noqa: S101
            assert salt.stdout  # noqa: S101
            salt.stdin.write(json.dumps(folder) + "\n")
            for path in [Path(one) for one in files] or sorted(CASES.glob("*.yaml")):
                cases = yaml.safe_load(path.read_text())
                for number, case in enumerate(cases):
                    top = Path(folder, f"case-{path.stem}-{number}")
                    salt.stdin.write(json.dumps(laid_out(case, top)) + "\n")
                    salt.stdin.flush()
                    case["salt"] = with_top(json.loads(salt.stdout.readline()), str(top), "{top}")
                path.write_text(_text(path.read_text(), cases))
                print(path.name, len(cases))  # noqa: T201


def laid_out(case: Mapping[str, Any], top: Path) -> dict[str, Any]:
    """The case with its folder in place of `{top}`; its files and links are made."""
    top.mkdir()
    whole: dict[str, Any] = with_top({key: value for key, value in case.items() if key != "salt"}, "{top}", str(top))
    for name, text in whole.get("files", {}).items():
        place = top / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            place.mkdir(exist_ok=True)
        elif isinstance(text, Mapping):
            place.symlink_to(text["link"])
        else:
            place.write_text(text)
            place.chmod(0o644)
    return whole


class _Plain(yaml.SafeDumper):
    """Texts of several lines as blocks, and no aliases."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _string(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    style = "|" if "\n" in text and not any(line != line.rstrip() for line in text.split("\n")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Plain.add_representer(str, _string)


def _text(old: str, cases: list[Any]) -> str:
    comment = "".join(f"{line}\n" for line in old.splitlines() if line.startswith("#"))
    whole = (yaml.dump([case], Dumper=_Plain, sort_keys=False, width=118, allow_unicode=True) for case in cases)
    return comment + "\n".join(whole)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
