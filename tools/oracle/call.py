"""Record what real `salt-call` prints and how it ends: tests/golden/call/*.yaml, rewritten in place.

    python -m tools.oracle.call SALT_VENV [NAME ...]

A golden has the files of a folder, which is `{tmp}` in them and in words, and cases: words of the command line, files
besides, the exit code and what stands on stdout. What differs from run to run (times, the name of the folder) is made
the same by `settled`. `any_order` says that keys of a document may stand in another order, `code_here` is
another exit code of ours, `deviates` says why the text here is another one: Salt's is recorded all the same.
tests/minion/call/test_call_golden.py compares.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

GOLDENS = Path(__file__).resolve().parents[2] / "tests" / "golden" / "call"

_TIMES = (
    (re.compile(r"(Started: )\d\d:\d\d:\d\d\.\d+"), r"\1TIME"),
    (re.compile(r"(Duration: )[\d.]+ ms"), r"\1MS"),
    (re.compile(r"(Total run time:) +[\d.]+ (ms|s)"), r"\1 MS"),
    (re.compile(r"(\"?start_time\"?: )[\"']?[\d:.]+[\"']?"), r'\1"TIME"'),
    (re.compile(r"(\"?duration\"?: )[\d.]+"), r'\1"MS"'),
    (re.compile(r"('start_time': )'[\d:.]+'"), r"\1TIME"),
    (re.compile(r"('duration': )[\d.]+"), r"\1MS"),
    (re.compile(r"(jid\"?: *\n? *\"?)\d{20}"), r"\1JID"),
    (re.compile(r"\b(start_time:\n +)[\d:.]+"), r"\1TIME"),
    (re.compile(r"\b(duration:\n +)[\d.]+"), r"\1MS"),
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d+ \[ *[\d.]+ ms\]"), "TIME [MS]"),
)


def settled(text: str, folder: Path) -> str:
    """The text without what is of this run alone."""
    text = text.replace(str(folder), "{tmp}")
    for pattern, kept in _TIMES:
        text = pattern.sub(kept, text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def place(folder: Path, *listed: Mapping[str, str]) -> None:
    """Write the files below a folder; a file of the first mapping gives way to one of the second."""
    for name, text in {name: text for files in listed for name, text in files.items()}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("{tmp}", str(folder)))


def words_of(case: Mapping[str, Any], folder: Path) -> list[str]:
    """The command line, without the program."""
    return [str(word).replace("{tmp}", str(folder)) for word in case["words"]]


def _record(salt: str, golden: Mapping[str, Any]) -> None:
    for case in golden["cases"]:
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            place(folder, golden["files"], case.get("files", {}))
            command = [f"{salt}/bin/salt-call", "-c", str(folder / "conf"), *words_of(case, folder)]
            done = subprocess.run(command, input=case.get("stdin", ""), capture_output=True, text=True, check=False)
            written = folder / "written"
            case["code"] = done.returncode
            case["out"] = settled(done.stdout, folder)
            if written.is_file():
                case["written"] = settled(written.read_text(), folder)
            print(f"{case['name']}: {done.returncode} {done.stderr.strip()[:300]}", file=sys.stderr)  # noqa: T201  (how far it is)


def main() -> None:
    """Rewrite the goldens named, or all."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """Text of several lines as a block."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    salt, *names = sys.argv[1:]
    for path in sorted(GOLDENS.glob("*.yaml")):
        if names and path.stem not in names:
            continue
        golden = yaml.safe_load(path.read_text())
        _record(salt, golden)
        path.write_text(yaml.dump(golden, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=120))


if __name__ == "__main__":
    main()
