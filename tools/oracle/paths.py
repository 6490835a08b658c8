"""Random lookups by path (`a:b:0`), answered by real Salt: tests/golden/traverse.json, rewritten or compared.

    python -m tools.oracle.paths SALT_VENV                       record the golden
    python -m tools.oracle.paths SALT_VENV --compare 100000      compare that many, exit code 1 on a difference

A case is [data, path, default, delimiter, outcome], the first three and what was found as Python literals, since JSON
has no keys but text. The outcome is {"found": literal}, or {"raised": name of the exception}. Cases are a function of
the seed alone.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden" / "traverse.json"
RECORDED = 600

_SALT = """
import ast, json, sys
from salt.utils.data import traverse_dict_and_list
for line in sys.stdin:
    data, path, default, delimiter = json.loads(line)
    try:
        found = traverse_dict_and_list(*map(ast.literal_eval, (data, path, default)), delimiter)
        outcome = {"found": repr(found)}
    except Exception as error:
        outcome = {"raised": type(error).__name__}
    print(json.dumps(outcome))
"""

_WORDS = (
    *("a", "b", "c", "k", "a:b", "a b", "a,b", "a.b", "a/b", "é", "0", "1", "2", "-1", "-2", "+1", "80", "080", "0644"),
    *(
        "08",
        "0o17",
        "0x1F",
        "0b11",
        "0b2",
        "0x",
        "00",
        "-0",
        "1_0",
        "1_000",
        "1__",
        "0_",
        "_",
        "__",
        " 1",
        "1 ",
        "1:30",
    ),
    *("190:20:30", "1.5", "1e3", "12e03", "-2E+05", "0.", ".5", "5.", "1,000", "1.0", "٣", "1\u2028", "\ufeff1"),
    *(
        "true",
        "True",
        "True ",
        "yes",
        " yes",
        "no",
        "on",
        "off",
        "y",
        "N",
        "null",
        "None",
        "~",
        " null",
        "NaN",
        "",
        "  ",
    ),
    *(
        "#",
        "a#",
        "#a",
        "a #b",
        "1 #x",
        "yes #c",
        "null # c",
        " #",
        '"#"',
        '"a"',
        "'a'",
        "'0'",
        '"80"',
        '"yes"',
        '"',
        "'",
    ),
    *("!", " !", "!a", "!!int 3", '!!int ""', "!!str 80", "!!float 1", "!!bool yes", "!!bool x", "!!null", "!!set {a}"),
    *("!!binary YQ==", "!!python/name:os.system", "!!timestamp 2020-01-01", "|", "|-", ">", ">-", "[a]", "[a", "[]"),
    *("{a: 1}", "{a", "{}", "[1,2]", "- a", "- ", "-", "? a", "?", "a: b", "a:", ":a", "::", "=", "<<", "*a", "&x a"),
    *("---", "...", "\t", "a\tb", "a\n", "a\r", "%", "@", "`", "\x00", "]", "}", "2020-01-01", "2020-01-01 10:00:00"),
)
_KEYS = (None, True, False, 0, 1, 2, 3, -1, 8, 10, 15, 30, 31, 80, 90, 420, 644, 1.5, 3.0, 5.0, 1000.0, ("a",), b"a")
_LEAVES = (None, True, 0, 1, 1.5, "", "x", "abc", "80", b"ab", [], {})
_ODD_PATHS = (None, 1.5, [], [[1]], [{}], "", b"a:b", {"a": 1})
_DEFAULTS = (None, "", "_", 0, [], {"d": 1}, "default")
_DELIMITERS = (":", ":", ":", ".", "|", "::", "/", " ")

_KNOWN = (
    ({"a:b": 1}, "a:b"),
    ({"a:b": 1}, "a"),
    ({"a": [{0: "k"}, "y"]}, "a:0"),
    ({"a": [{"0": "k"}, "y"]}, "a:0"),
    ({"a": ["x", {1: "k"}]}, "a:1"),
    ({"a": ["x", "y"]}, "a:-1"),
    ({"a": ["x", "y"]}, "a:5"),
    ({"a": "text"}, "a:0"),
    ({"ports": {80: "http", "80": "text"}}, "ports:80"),
    ({"ports": {80: "http"}}, "ports:080"),
    ({True: "on"}, "yes"),
    ({None: "nothing"}, "null"),
    ({"": "empty"}, ""),
)

Case = list[Any]


def cases(count: int, seed: int) -> list[Case]:
    """`count` cases without outcomes."""
    chance = random.Random(seed)  # noqa: S311  (test data)
    known = [[repr(data), repr(path), "'default'", ":"] for data, path in _KNOWN]
    return known + [_case(chance) for _ in range(count - len(known))]


def _case(chance: random.Random) -> Case:
    data, delimiter = _value(chance, 0), chance.choice(_DELIMITERS)
    length = chance.randint(1, 4)
    steps = _walk(chance, data, length) if chance.random() < 0.8 else [_key(chance) for _ in range(length)]
    path: Any = chance.choice(
        [delimiter.join(map(_written, steps))] * 15
        + [steps, steps, tuple(steps), chance.choice((0, 1, -1, True, False, 80, 5)), chance.choice(_ODD_PATHS)]
    )
    return [repr(data), repr(path), repr(chance.choice(_DEFAULTS)), delimiter]


def _key(chance: random.Random) -> Any:
    return chance.choice(_WORDS) if chance.random() < 0.7 else chance.choice(_KEYS)


def _value(chance: random.Random, depth: int) -> Any:
    kind = chance.random() if depth else chance.uniform(0.2, 1) ** 1.5
    if depth > 3 or (depth and kind < 0.2):
        return chance.choice(_LEAVES)
    if kind < 0.6:
        return {_key(chance): _value(chance, depth + 1) for _ in range(chance.randint(depth == 0, 4))}
    inner = [_value(chance, depth + 1) for _ in range(chance.randint(0, 4))]
    return inner if kind < 0.96 else tuple(inner)


def _walk(chance: random.Random, data: Any, length: int) -> list[Any]:
    """Steps that mostly lead somewhere."""
    steps: list[Any] = []
    while len(steps) < length:
        if chance.random() < 0.1 or not isinstance(data, dict | list | tuple) or not data:
            return [*steps, _key(chance)]
        mappings = [item for item in data if isinstance(item, dict) and item] if not isinstance(data, dict) else [data]
        if mappings and (isinstance(data, dict) or chance.random() < 0.5):
            data = chance.choice(mappings)
            steps.append(chance.choice(list(data)))
        else:
            steps.append(chance.randrange(-len(data), len(data)))
        data = data[steps[-1]]
    return steps


def _written(step: Any) -> str:
    """A step as somebody writes it in a path."""
    if isinstance(step, bytes):
        return step.decode()
    return {"None": "null", "True": "yes", "False": "off"}.get(repr(step), str(step))


def answered(salt_venv: Path, given: list[Case]) -> list[Case]:
    """The cases with the outcomes of real Salt."""
    lines = "".join(json.dumps(case) + "\n" for case in given)
    command = [salt_venv / "bin" / "python", "-c", _SALT]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=True)
    return [[*case, json.loads(line)] for case, line in zip(given, done.stdout.splitlines(), strict=True)]


def outcome(case: Case) -> dict[str, str]:
    """What Saltern answers to a case."""
    from highstate.traverse import traverse

    data, path, default = (ast.literal_eval(text) for text in case[:3])
    try:
        return {"found": repr(traverse(data, path, default, delimiter=case[3]))}
    except Exception as error:
        return {"raised": type(error).__name__}


def main() -> int:
    """Record, or compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("salt_venv", type=Path)
    parser.add_argument("--compare", type=int, metavar="N", help="compare N cases instead of recording")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    recorded = answered(options.salt_venv, cases(options.compare or RECORDED, options.seed))
    if options.compare is None:
        GOLDEN.write_text("[\n" + ",\n".join(map(json.dumps, recorded)) + "\n]\n")
        return 0
    different = [case for case in recorded if outcome(case) != case[4]]
    for case in different:
        print("DIFFERS:", json.dumps(case), outcome(case))  # noqa: T201
    print(f"{len(recorded)} lookups, {len(different)} different")  # noqa: T201
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
