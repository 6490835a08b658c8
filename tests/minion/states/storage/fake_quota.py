"""The programs of disk quotas, with their state in a file. Texts are those of the package quota 4.06.

python fake_quota.py STATE PROGRAM ARGUMENT ...
"""

import json
import sys
from pathlib import Path
from typing import Any, NoReturn

KINDS = {"-u": "user", "-g": "group"}


def refuse(text: str) -> NoReturn:
    sys.stderr.write(f"{text}\n")
    sys.exit(1)


def checked(state: dict[str, Any], name: str) -> None:
    if name != state["mount"]:
        refuse(f"quotaon: Mountpoint (or device) {name} not found or has no quota enabled.")


def quotaon(state: dict[str, Any], words: list[str], turned: str = "on") -> None:
    *signs, name = words
    checked(state, name)
    if signs == ["-p"]:
        for kind, mode in state["modes"].items():
            sys.stdout.write(f"{kind} quota on {name} (/dev/loop9) is {mode}\n")
        sys.exit(int("on" in state["modes"].values()))
    for kind in [KINDS[one] for one in signs] or list(state["modes"]):
        if state["modes"][kind] == turned:
            refuse(f"quotaon: using /dev/loop9 on {name}: Device or resource busy")
        state["modes"][kind] = turned


def quotaoff(state: dict[str, Any], words: list[str]) -> None:
    quotaon(state, words, "off")


def repquota(state: dict[str, Any], words: list[str]) -> None:
    first, sign, name = words
    assert first == "-vp"
    checked(state, name)
    sys.stdout.write(
        f"*** Report for {KINDS[sign]} quotas on device /dev/loop9\n"
        "Block grace time: 7days; Inode grace time: 3days\n"
        "                        Block limits                File limits\n"
        "User            used    soft    hard  grace    used  soft  hard  grace\n"
        "----------------------------------------------------------------------\n"
    )
    for whom, (soft, hard, files, most) in state["limits"][KINDS[sign]].items():
        sys.stdout.write(f"{whom:10} --      20 {soft:>7} {hard:>7}      0       2 {files:>5} {most:>5}      0\n")
    sys.stdout.write("\nStatistics:\nTotal blocks: 7\n")


def setquota(state: dict[str, Any], words: list[str]) -> None:
    sign, whom, *limits, name = words
    checked(state, name)
    if whom == "nobody-here":
        refuse("setquota: user nobody-here does not exist.")
    assert len(limits) == 4
    assert all(one.isdigit() for one in limits)
    state["limits"][KINDS[sign]][whom] = limits


def main(kept: str, program: str, words: list[str]) -> None:
    state = json.loads(Path(kept).read_text())
    globals()[program](state, words)
    Path(kept).write_text(json.dumps(state))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3:])
