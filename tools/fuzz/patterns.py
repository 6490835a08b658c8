"""Compare the linear engine with Python's `re`: random small patterns and texts, and the patterns of our goldens.

.venv/bin/python -m tools.fuzz.patterns --seconds 60 --seed 0

Ends with the first pair whose answers differ. tests/matching/test_linear_regex.py runs a little of it.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import time
import warnings
from collections.abc import Iterable
from pathlib import Path

from matching.limits import TREE_PATTERNS
from matching.linear_regex import PatternRefused, compile_linear

_GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
_WRITTEN = re.compile(r"E@(\S+?)['\"\s]|(?:regex_\w+|is match)\(\s*'([^'\n]*)'")
_ATOMS = (
    *("a", "b", "ab", ".", r"\w", r"\W", r"\d", r"\D", r"\s", r"\S", r"\b", r"\B", "^", "$", r"\A", r"\Z", "", "\n"),
    *("[ab]", "[^a]", "[a-c]", r"[^\w]", r"[\W\d]", "k", "s", "i", "I", "S", "K", "1", "_", " ", "[^\n]", "[A-z]"),
    *("ä", "[à-ÿ]", r"\x1c", "[[]", "[]a]", "{", "a{,2}", "}", ":", "-", r"[a\-]", r"\n", r"\.", "(", "[", "*", "|"),
)
_REPEATS = ("*", "+", "?", "*?", "+?", "??", "{2}", "{1,2}", "{0,3}", "{2,}?", "{0}", "*+", "++")
_ASCII = "abcABCkKsSiI1_ \n-.{}["
_ANY = _ASCII + "äÄſ\u212a\u0131\u0130ßéÉ٣\u2003\x1c\x85"


class AnswersDiffer(AssertionError):
    """The two engines say different things."""


def drawn(seed: int) -> tuple[str, list[str]]:
    """A pattern and texts to compare it with, by a seed."""
    chance = random.Random(seed)  # noqa: S311  # a seed gives the same pattern
    flags = chance.choice(["", "", "", "", "(?i)", "(?m)", "(?s)", "(?a)", "(?x)"])
    ends = ("", "", "\n")
    texts = [
        "".join(chance.choice(chance.choice([_ASCII, _ASCII, _ANY])) for _ in range(chance.choice([0, 1, 2, 3, 5, 8])))
        + chance.choice(ends)
        for _ in range(12)
    ]
    return flags + _pattern(chance, chance.randint(1, 4)), texts


def compare(pattern: str, texts: Iterable[str]) -> int:
    """How many pairs had the same answer; AnswersDiffer when one had not."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # of sets within sets, which Python may read otherwise one day
        own, error = _compiled(pattern)
        try:
            linear = compile_linear(pattern, TREE_PATTERNS)
        except PatternRefused:
            return 0
        except re.error as other:
            if str(error) != str(other):
                raise AnswersDiffer(f"{pattern!r}: re says {error}, the linear engine {other}") from None
            return 0
    if own is None:
        raise AnswersDiffer(f"{pattern!r} is an error of re: {error}")
    counted = 0
    for text in texts:
        try:
            answers = linear.match(text), linear.search(text)
        except PatternRefused:
            continue
        expected = own.match(text) is not None, own.search(text) is not None
        if answers != expected:
            raise AnswersDiffer(f"{pattern!r} on {text!r}: re says {expected}, the linear engine {answers}")
        counted += 2
    return counted


def compare_goldens() -> int:
    """`compare` for each pattern that the goldens have, with each other one as a text."""
    found = {
        each
        for path in _GOLDEN.rglob("*.txtar")
        for pair in _WRITTEN.findall(path.read_text())
        for each in pair
        if each
    }
    return sum(compare(pattern, [*found, "web1", "db1.example.com", ""]) for pattern in sorted(found))


def _compiled(pattern: str) -> tuple[re.Pattern[str] | None, Exception | None]:
    try:
        return re.compile(pattern), None
    except (re.error, OverflowError) as error:
        return None, error


def _pattern(chance: random.Random, depth: int) -> str:
    kind = chance.random()
    if depth <= 0 or kind < 0.35:
        return chance.choice(_ATOMS)
    if kind < 0.6:
        return _pattern(chance, depth - 1) + _pattern(chance, depth - 1)
    if kind < 0.7:
        return f"({_pattern(chance, depth - 1)}|{_pattern(chance, depth - 1)})"
    if kind < 0.75:
        return f"(?{chance.choice(['', 'i', 'm', 's', '-i', 'i-m'])}:{_pattern(chance, depth - 1)})"
    if kind < 0.8:
        return f"(?P<n{chance.randrange(10**6)}>{_pattern(chance, depth - 1)})"
    return f"(?:{_pattern(chance, depth - 1)}){chance.choice(_REPEATS)}"


def main() -> None:
    """Parse the command line and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    options = parser.parse_args()
    counted, seed, until = compare_goldens(), options.seed, time.monotonic() + options.seconds
    while time.monotonic() < until:
        counted, seed = counted + compare(*drawn(seed)), seed + 1
    sys.stdout.write(f"{counted} answers are the same; the next seed is {seed}\n")


if __name__ == "__main__":
    main()
