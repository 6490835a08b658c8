"""Fuzz the language: any bytes must give low chunks, or errors with a place; never a traceback, never a hang.

    .venv/bin/python -m tools.fuzz --seconds 60                     all targets, a share of the time each
    .venv/bin/python -m tools.fuzz --seconds 600 --target yaml      one of them; --seed N goes on from there
    .venv/bin/python -m tools.fuzz --guided --target yaml           by coverage (Atheris, installed on first use)
    .venv/bin/python -m tools.fuzz --target yaml --input FILE       what was found, once more

What breaks is written to .cache/fuzz. Exit code 1 when something did. tests/highstate/test_fuzz.py runs a little of it.
"""

from __future__ import annotations

import argparse
import faulthandler
import os
import signal
import subprocess
import sys
import time
import traceback
import venv
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

_ROOT = Path(__file__).resolve().parents[2]
_FOUND = _ROOT / ".cache" / "fuzz"
LONGEST = 20
"""Seconds of processor time for one input."""


class Hangs(Exception):
    """An input takes too long."""


def main() -> int:
    """Parse the command line and fuzz."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="how long, for all targets together")
    parser.add_argument("--target", action="append", help="only this one (again for more)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first input")
    parser.add_argument("--input", type=Path, help="run the target on this file alone")
    parser.add_argument("--guided", action="store_true", help="let Atheris choose inputs, by what they reach")
    options = parser.parse_args()
    _FOUND.mkdir(parents=True, exist_ok=True)
    sys.path.insert(0, str(_ROOT))
    if options.guided:
        return _guided(options)
    from tools.fuzz.targets import TARGETS

    targets = options.target or list(TARGETS)
    if unknown := [one for one in targets if one not in TARGETS]:
        parser.error(f"there is no target {unknown[0]}; targets: {', '.join(TARGETS)}")
    faulthandler.enable()
    signal.signal(signal.SIGPROF, _too_long)
    if options.input:
        return sum(not _holds(one, options.input.read_bytes()) for one in targets)
    return 1 if sum([_fuzz(one, options.seconds / len(targets), options.seed) for one in targets]) else 0


def _too_long(number: int, frame: FrameType | None) -> None:
    raise Hangs(f"more than {LONGEST} s of processor time")


def _fuzz(target: str, seconds: float, seed: int) -> int:
    """Inputs until the time is up; how many broke it."""
    from tools.fuzz.targets import mutated, seeds

    texts, began, broken, count = seeds(target), time.monotonic(), 0, 0
    while time.monotonic() - began < seconds and broken < 10:
        broken += not _holds(target, mutated(target, seed + count, texts))
        count += 1
    _say(f"{target}: {count} inputs, {broken} broke it")
    return broken


def _holds(target: str, data: bytes) -> bool:
    """Whether the target stands the input. It is on disk meanwhile: it may end the process."""
    from tools.fuzz.targets import TARGETS

    last = _FOUND / f"{target}.last"
    last.write_bytes(data)
    faulthandler.dump_traceback_later(3 * LONGEST, exit=True)
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    try:
        TARGETS[target](data)
        return True
    except Exception:  # whatever a compile raises is what is looked for
        kept = _FOUND / f"{target}-{os.urandom(4).hex()}"
        kept.write_bytes(data)
        _say(f"{target}: broken by {kept}\n{traceback.format_exc(limit=-4)}")
        return False
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        faulthandler.cancel_dump_traceback_later()


def _guided(options: argparse.Namespace) -> int:
    """Inputs of Atheris for the first target named, in a virtualenv that has it."""
    try:
        import atheris  # type: ignore[import-not-found, unused-ignore]  # it is in a virtualenv of its own
    except ImportError:
        return _guided_elsewhere()
    with atheris.instrument_imports(include=["highstate", "yaml", "jinja2"]):
        from tools.fuzz.targets import TARGETS, seeds
    [target] = options.target or ["yaml"]
    corpus = _FOUND / f"{target}.corpus"
    corpus.mkdir(exist_ok=True)
    for number, text in enumerate(seeds(target)):
        (corpus / f"seed-{number}").write_bytes(text)
    limits = [f"-max_total_time={options.seconds:.0f}", f"-timeout={LONGEST}", f"-artifact_prefix={_FOUND}/{target}-"]
    atheris.Setup([sys.argv[0], *limits, "-max_len=4096", str(corpus)], TARGETS[target])
    atheris.Fuzz()
    return 0


def _guided_elsewhere() -> int:
    """This command once more, where Atheris is."""
    folder = _ROOT / ".cache" / "atheris"
    if not (folder / "bin" / "python").exists():
        _say(f"installing Atheris into {folder} (once)")
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "pip", "install", "-q", "atheris"], check=True)
    paths = os.pathsep.join(_site_packages())
    command = [folder / "bin" / "python", *sys.argv]
    return subprocess.run(command, check=False, env={**os.environ, "PYTHONPATH": paths}).returncode


def _site_packages() -> Iterator[str]:
    yield str(_ROOT)
    yield from (path for path in sys.path if path.endswith("site-packages"))


def _say(text: Any) -> None:
    print(text, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
