"""What is fuzzed: a target for each renderer, for top files, pillar and grains. Each takes bytes of anybody's.

Used by `tools/fuzz/__main__.py` and tests/highstate/test_fuzz.py. A target compiles a tree that the bytes are a part of
and raises `Broken` when the outcome is anything but low chunks or errors that say where and what.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml

from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.ports import CompilePorts, DecryptFailed
from highstate.types import Minion, Problem

_GOLDEN = Path(__file__).resolve().parents[2] / "tests" / "golden"
_SECTION = re.compile(r"^-- (states|pillar)(?:@\w+)?/(\S+) --\n(.*?)(?=^-- |\Z)", re.MULTILINE | re.DOTALL)
_TOP = b"base:\n  '*':\n    - one\n"
_SHOWN = b"a:\n  test.nop:\n    - all: {{ pillar | json }}\n"
_MESSAGE = "-----BEGIN PGP MESSAGE-----\nabc\n-----END PGP MESSAGE-----"

Target = Callable[[bytes], None]


class Broken(AssertionError):
    """A compile gave something that no user could use."""


class _Opened:
    """Decryption without keys: a message is its own text."""

    def decrypt(self, ciphertext: str) -> str:
        """See `highstate.ports.Decrypt`."""
        body = "\n".join(ciphertext.splitlines()[1:-1])
        if not body:
            raise DecryptFailed("the message is empty")
        return body


def _compile(
    states: Mapping[str, bytes],
    pillar: Mapping[str, bytes] | None = None,
    grains: object = None,
) -> None:
    """Compile, and look at every error."""
    given = grains if isinstance(grains, dict) else {}
    compiled = compile_minion(
        MemoryFiles({"base": {"top.sls": _TOP, **states}}),
        MemoryFiles({"base": dict(pillar or {})}),
        Minion(id="web1", grains={"os": "Debian", "os_family": "Debian", **given, "id": "web1"}),
        CompileOptions(),
        ports=CompilePorts(decrypt=_Opened()),
    )
    for problem in compiled.errors:
        _look_at(problem)
    json.dumps([chunk.as_salt() for chunk in compiled.lowstate], default=str, skipkeys=True)


def _look_at(problem: Problem) -> None:
    text = str(problem)
    if not problem.message.strip() or "Traceback" in problem.message:
        raise Broken(f"an error without words: {problem!r}")
    if not problem.pos.file or problem.pos.line < 0 or problem.pos.column < 0:
        raise Broken(f"an error without a place: {problem!r}")
    if len(text) > 100_000:
        raise Broken(f"an error of {len(text)} characters: {text[:200]}")


def _sls(shebang: str) -> Target:
    head = f"#!{shebang}\n".encode() if shebang else b""
    return lambda data: _compile({"one.sls": head + data})


def _grains(data: bytes) -> None:
    try:
        given = yaml.safe_load(data)
    except (yaml.YAMLError, ValueError, RecursionError):  # what a minion sends is data; its reader is msgspec's
        return
    _compile({"one.sls": b"{{ grains }}: {test.nop: [{g: {{ grains | json }}}, {o: {{ grains.os }}}]}\n"}, None, given)


TARGETS: Mapping[str, Target] = {
    "jinja": _sls("jinja|yaml"),
    "yaml": _sls("yaml"),
    "json": _sls("json"),
    "toml": _sls("toml"),
    "yamlex": _sls("yamlex"),
    "mako": _sls("mako|yaml"),
    "py": _sls("py"),
    "stateconf": _sls("stateconf yaml . jinja"),
    "gpg": _sls("yaml|gpg"),
    "pipeline": _sls(""),
    "top": lambda data: _compile({"top.sls": data, "one.sls": b"a: test.nop\n"}),
    "import": lambda data: _compile(
        {
            "one.sls": b"{% from 'lib.jinja' import x %}{% import_yaml 'lib.jinja' as y %}a: test.nop\n",
            "lib.jinja": data,
        }
    ),
    "pillar": lambda data: _compile({"one.sls": _SHOWN}, {"top.sls": _TOP, "one.sls": data}),
    "pillar_top": lambda data: _compile({"one.sls": _SHOWN}, {"top.sls": data, "one.sls": b"a: 1\n"}),
    "grains": _grains,
}

_OWN_SEEDS: Mapping[str, tuple[str, ...]] = {
    "json": ('{"a": {"test.nop": [{"v": 1}]}}', '{"include": ["one"], "a": {"cmd.run": []}}'),
    "toml": ('[a]\n"test.nop" = [{v = 1}]\n', 'a = {x = [1, 2.5, 1979-05-27, "t"]}\n'),
    "yamlex": ("a: !aggregate {test.nop: [{v: !aggregate [1]}]}\nb: !reset [1]\n", "a:\n  test.nop: []\na: {}\n"),
    "mako": ("% for x in [1, 2]:\nid${x}: {test.nop: []}\n% endfor\n", "<%def name='f(x)'>v${x}</%def>\n${f(1)}: {}\n"),
    "py": ("def run():\n    return {'a': {'test.nop': [{'v': (1, None)}]}}\n", "def run():\n    return [x] * 3\n"),
    "stateconf": (
        ".a:\n  stateconf.set: [{p: 1}]\n# --- end of state config ---\n.b:\n  test.nop: [{v: '{{ a.p }}'}]\n",
        "include: [.x]\nextend:\n  .a: {test: [{x: 1}]}\n.a: test.nop\n",
    ),
    "gpg": (json.dumps({"a": {"test.nop": [{"v": _MESSAGE}]}}), json.dumps({"a": _MESSAGE.replace("abc\n", "")})),
    "grains": ("os: Debian\nroles: [a, b]\n", '{"os": {"a": [1, null]}, "x": 1}'),
}
_TOKENS = (
    *("{{ ", " }}", "{% ", " %}", "{#", "{%- for i in range(9) %}", "{% endfor %}", "{% if x %}", "{% set x = 1 %}"),
    *("{{ grains }}", "{{ salt['pillar.get']('a:b') }}", "{{ x.y.z }}", "{% import_yaml 'one.sls' as y %}", "| json"),
    *(
        ": ",
        "- ",
        "\n",
        "\n  ",
        "\n    - ",
        "\t",
        "'",
        '"',
        "[",
        "]",
        "{",
        "}",
        "&a ",
        "*a",
        "<<: *a\n",
        "!!set ",
        "? ",
    ),
    *(
        "!!binary ",
        "!aggregate ",
        "!reset ",
        "~",
        "0644",
        "1e999",
        "-1",
        "0x",
        "yes",
        "null",
        "\x00",
        "\ufeff",
        "ü",
        "=\n",
    ),
    *("include:\n", "extend:\n", "exclude:\n", "require", "_in", "names", "order", "name", "use", "prereq", "listen"),
    *("base:\n", "'*':\n", "match: ", "compound", "pcre", "ignore_missing: True", "#!", "|", "..", "test.nop", "a: "),
    *(
        "defaults: ",
        "key: a:b",
        "${",
        "%>",
        "<%",
        "% if",
        "def run():\n",
        "return ",
        "lambda: ",
        "---\n",
        "...\n",
        "%YAML 9",
    ),
)


def seeds(target: str) -> list[bytes]:
    """Texts to start from: those of the goldens that fit, and a few of the target's own."""
    own = [text.encode() for text in _OWN_SEEDS.get(target, ())]
    if target in ("json", "toml", "mako", "py", "gpg", "grains"):
        return own
    kind, tops = ("pillar" if target.startswith("pillar") else "states"), target in ("top", "pillar_top")
    found = [
        text.encode()
        for path in sorted(_GOLDEN.glob("*.txtar"))
        for root, name, text in _SECTION.findall(path.read_text())
        if root == kind and (name == "top.sls") == tops and not text.startswith("#!py")
    ]
    return own + list(dict.fromkeys(found))


def mutated(target: str, seed: int, texts: list[bytes]) -> bytes:
    """A text of the target's, changed in a few places: the same for the same seed."""
    rng = random.Random(f"{target} {seed}")  # noqa: S311 - a test's choice
    data = bytearray(rng.choice(texts))
    for _ in range(rng.choice((1, 1, 2, 3, 5, 8))):
        _change(rng, data, texts)
    return bytes(data[:20_000])


def _change(rng: random.Random, data: bytearray, texts: list[bytes]) -> None:
    start = rng.randint(0, len(data))
    end = min(len(data), start + rng.choice((1, 2, 5, 20, 100)))
    match rng.randint(0, 6):
        case 0:
            del data[start:end]
        case 1:
            data[start:start] = data[start:end] * rng.choice((1, 2, 30))
        case 2:
            data[start:end] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))
        case 3:
            other = rng.choice(texts)
            cut = rng.randint(0, len(other))
            data[start:end] = other[cut : cut + rng.choice((5, 20, 100))]
        case 4:
            lines = bytes(data).split(b"\n")
            rng.shuffle(lines)
            data[:] = b"\n".join(lines)
        case _:
            data[start:start] = rng.choice(_TOKENS).encode()
