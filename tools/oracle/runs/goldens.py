"""What Salt makes of the cases of `run_cases`, as text in tests/oracle/recorded, and where we differ on purpose.

    .venv/bin/python -m tools.oracle.runs.goldens [--salt VENV] [--record] [--drawn N] [NAME...]

A file has a line a state, as Salt has it; a line `here` below it is what we have in its place. Each of those has a
reason among DEVIATIONS, which stands in docs/salt-compatibility.md too. Used by tests/oracle/test_runs.py, which
compares with the files where there is no Salt. Exit code 1 on a difference that has no reason.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from minion.call.outputters.highstate import highstate
from minion.config.group_rules import options_of
from tools.oracle.__main__ import salt_venv
from tools.oracle.runs.cases import all_cases, drawn
from tools.oracle.runs.runs import Answer, Case, SaltRuns, ours
from tools.oracle.runs.shown_cases import shown_cases

RECORDED = Path(__file__).resolve().parents[3] / "tests" / "oracle" / "recorded"
SHOWN = RECORDED.with_name("shown")
_HERE = "  here "
_PREREQ = "- prereq:"
"""Salt has a place in its order where a state is looked at for its prereq; here that is done when somebody asks."""
Lines = dict[str, str]
"""Chunk key -> all that is compared of its result, in a line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deviation:
    """A difference that is meant."""

    case: str
    """A pattern of names of cases."""
    key: str = ".*"
    """A pattern of chunk keys, `log` among them."""
    mine: str = ".*"
    """A pattern of our line."""
    why: str


DEVIATIONS = (
    Deviation(
        case=r".*\.test",
        mine=".*State was not run because onfail req did not change",
        why="what would change has not failed: nothing that waits for a failure is shown to run",
    ),
    Deviation(
        case=r".*\.test",
        mine=r".*Watch statement fired",
        why="mod_watch of the state `test` shows as a change to come, as that of any other state does",
    ),
    Deviation(
        case=r".*prereq.*|in-forms|mixed-.*|drawn-.*",
        mine='.*"Failure!"',
        why="a state has one comment for its failure, whoever asks for it",
    ),
    Deviation(
        case=r".*prereq.*|mixed-.*|parallel.*|drawn-.*",
        mine=r'False .*"One or more requisite failed',
        why="what is not done, because what had to go before has failed, has failed too",
    ),
    Deviation(
        case=r"prereq-chain.*",
        key=r"cmd_\|-g_.*|log",
        why="that a state would act on what it watches is a change that a prereq sees",
    ),
    Deviation(
        case="conditions.*",
        key=r"cmd_\|-c(4|9|11|12|28|29)_.*|log",
        why="a condition is a command, a function, true or false; an empty list keeps nothing, all else is an error",
    ),
    Deviation(
        case="check-cmd.*",
        key=r".*-4_\|-.*",
        why="an empty check_cmd checks nothing",
    ),
    Deviation(
        case=r"check-cmd.*\.test",
        why="check_cmd looks at what was done, so that it says nothing about what would be done",
    ),
    Deviation(
        case=r"(as-others|times|retry-more)\.test",
        key=r"cmd_\|-(k2|t4|r8)_.*",
        why="check_cmd looks at what was done, so that it says nothing about what would be done",
    ),
    Deviation(
        case=r"drawn-.*|retry-more\.test",
        mine=r'True ".*(unless|onlyif) condition is .*retried|True "Attempt 1: .*condition is',
        why="a comment is text, not a list of Python's",
    ),
    Deviation(
        case="drawn-.*|parallel.*",
        mine=r'\w+ "Attempt 1: .*"__parallel__": true',
        why="the attempts of a parallel state are reported as those of any other",
    ),
    Deviation(
        case="sls-listen.*",
        why="who listens to an SLS listens to each of its states; Salt says that there is none",
    ),
    Deviation(
        case="as-others.*",
        mine=".*Invalid umask: no",
        why="no empty line ends a comment",
    ),
    Deviation(
        case=r"as-others\.test",
        key=r"file_\|-.*",
        why="file.managed says the same under test=True and when it acts",
    ),
    Deviation(
        case=r"times\.test",
        mine=".*timeout 2 must be a number",
        why="what cannot be done fails under test=True too",
    ),
    Deviation(
        case="reload-pillar",
        key="log",
        why="a slot gives the value of a pillar; in Salt asterisks stand in its place",
    ),
    Deviation(
        case=r"(slots|reload-modules)\.test",
        mine=r".*What it would do is not known: ",
        why="a slot is not called under test=True, unless its function only looks",
    ),
    Deviation(
        case=r"as-others\.test",
        mine=r".*What it would do is not known: ",
        why="what a command of the same run may bring is not known under test=True",
    ),
    Deviation(
        case="commands",
        key=r".*changed=yes.*",
        why="the whole last line of a stateful command is read",
    ),
    Deviation(
        case=r"commands\.test",
        key=r".*changed=.*",
        why="a stateful command is shown as any other",
    ),
)


def lines(answer: Answer) -> Lines:
    """An answer as text."""
    if "errors" in answer:
        return {"errors": "errors"}
    found = {"log": " ".join(answer["log"]["lines"])}
    for key, entry in answer.items():
        if key != "log":
            more = {name: value for name, value in entry.items() if name not in _TOLD}
            changes = json.dumps(entry["changes"], sort_keys=True)
            said = (str(entry["result"]), json.dumps(entry["comment"]), changes, json.dumps(more, sort_keys=True))
            found[key] = " ".join([f"{entry['__run_num__']:>3}", *said]).removesuffix(" {}")
    return found


_TOLD = ("result", "comment", "changes", "__run_num__", "__id__", "__sls__", "name")


def unexplained(case: Case, mine: Lines, salts: Lines) -> list[str]:
    """The differences that no deviation names."""
    found = []
    follow = _following(case, {_id(key) for key in mine if _unmet(mine[key]) and not _unmet(salts.get(key, ""))})
    order = any(mine.get(key, "")[3:] != salts.get(key, "")[3:] for key in salts)
    for key in dict.fromkeys((*salts, *mine)):
        one, other = mine.get(key, "nothing"), salts.get(key, "nothing")
        if one == other or ((order or _PREREQ in case.text) and one[3:] == other[3:]):
            continue
        if not any(_covers(deviation, case, key, one) for deviation in DEVIATIONS) and _id(key) not in follow:
            found.append(f"{case.name} {key}\n    ours {one}\n    Salt {other}")
    return found


def _unmet(line: str) -> bool:
    return re.match(r'False .*"One or more requisite failed', line[3:].strip()) is not None


def _id(key: str) -> str:
    return key if key == "log" else key.split("_|-")[1].removeprefix("listener_")


def _following(case: Case, changed: set[str]) -> set[str]:
    """In a drawn graph, who depends in any way on a state that fails here because its prereq has, and not in Salt."""
    if not case.name.startswith("drawn-"):
        return set()
    named = {own_id: _names(body) for own_id, body in yaml.safe_load(case.text).items()}
    found = set(changed)
    while True:
        more = {own_id for own_id, others in named.items() if others & found}
        more |= {one for own_id in found & named.keys() for one in named[own_id]}
        if more <= found:
            return found | {"log"} if found else found
        found |= more


def _names(body: Any) -> set[str]:
    """All texts in a state: the IDs in its requisites are among them."""
    if isinstance(body, dict):
        return set().union(*map(_names, body.values()))
    return set().union(*map(_names, body)) if isinstance(body, list) else {str(body)}


def _covers(deviation: Deviation, case: Case, key: str, line: str) -> bool:
    return all(
        re.fullmatch(pattern, text) is not None for pattern, text in ((deviation.case, case.name), (deviation.key, key))
    ) and (re.match(deviation.mine, line[3:].strip()) is not None or (key == "log"))


def written(mine: Lines, salts: Lines) -> str:
    """The file of a case."""
    text = []
    for key in dict.fromkeys((*salts, *mine)):
        text.append(f"{key}: {salts.get(key, 'nothing')}")
        if mine.get(key) != salts.get(key):
            text.append(f"{_HERE}{mine.get(key, 'nothing')}")
    return "\n".join(text) + "\n"


def read(name: str) -> tuple[Lines, Lines]:
    """What is recorded of a case: ours, and Salt's."""
    mine, salts, key = Lines(), Lines(), ""
    for line in (RECORDED / f"{name}.txt").read_text().splitlines():
        if line.startswith(_HERE):
            mine[key] = line.removeprefix(_HERE)
        else:
            key, _, text = line.partition(": ")
            mine[key] = salts[key] = text
    return _there(mine), _there(salts)


def _there(found: Mapping[str, str]) -> Lines:
    return {key: text for key, text in found.items() if text != "nothing"}


def our_text(name: str) -> str:
    """Ours, for one of `shown_cases`."""
    [(running, opts, color)] = [(running, opts, color) for case, running, opts, color in shown_cases() if case == name]
    shown = options_of(opts).output._replace(state_output=str(opts.get("state_output") or "full").lower())
    return "\n".join(highstate(running, "local", shown, color)) + "\n"


def _shown(salt: SaltRuns, *, record: bool) -> list[str]:
    """The names of those that Salt shows in another way."""
    different = []
    for name, running, opts, color in shown_cases():
        text = salt.show(running, opts, color) + "\n"
        if record:
            SHOWN.mkdir(exist_ok=True)
            (SHOWN / f"{name}.txt").write_text(text)
        if text != our_text(name):
            different.append(f"the text of {name}")
    return different


def main() -> int:
    """Compare, and record when asked to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--salt", type=Path, help="virtualenv that has Salt (default: SALT_VENV, or .cache/oracle)")
    parser.add_argument("--record", action="store_true", help="write what Salt says")
    parser.add_argument("--drawn", type=int, metavar="N", help="compare N graphs drawn at random instead")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first graph")
    parser.add_argument("names", nargs="*", help="names of cases (default: all)")
    options = parser.parse_args()
    cases = all_cases() if options.drawn is None else [drawn(options.seed + n) for n in range(options.drawn)]
    chosen = [case for case in cases if not options.names or case.name in options.names]
    different = 0

    def tell(found: list[str]) -> int:
        for one in found:
            print(f"DIFFERS: {one}", flush=True)  # noqa: T201
        return len(found)

    with SaltRuns(salt_venv(options.salt)) as salt:
        for number, case in enumerate(chosen):
            mine, salts = lines(ours(case)), lines(salt.run(case))
            different += tell(unexplained(case, mine, salts))
            if number % 50 == 49:
                print(f"{number + 1} of {len(chosen)}", flush=True)  # noqa: T201
            if options.record:
                RECORDED.mkdir(exist_ok=True)
                (RECORDED / f"{case.name}.txt").write_text(written(mine, salts))
        if not options.names and options.drawn is None:
            different += tell(_shown(salt, record=options.record))
    print(f"{len(chosen)} cases, {different} differences without a reason")  # noqa: T201
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
