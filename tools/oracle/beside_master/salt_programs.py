"""Salt's programs, loaded once and forked for each call. Runs in a virtualenv that has Salt; knows nothing of Saltern.

Started by `ForkedPrograms` of `sides`, never by hand. Each line that it reads is the words of a program, `salt` or
`salt-call`, and the seconds that it has; a child runs it as the program does, and one line answers with what it wrote.
"""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_LOADED = (
    *("salt.scripts", "salt.cli.call", "salt.cli.caller", "salt.cli.salt", "salt.client", "salt.minion", "salt.state"),
    *("salt.loader", "salt.fileclient", "salt.pillar", "salt.crypt", "salt.output", "salt.transport.zeromq"),
)


def main() -> None:
    """Answer until there are no more calls."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    for name in _LOADED:
        importlib.import_module(name)
    for line in sys.stdin:
        asked = json.loads(line)
        answers.write(json.dumps(_answer(asked["words"], asked["seconds"])) + "\n")


def _answer(words: Sequence[str], seconds: int) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        pid = os.fork()
        if pid == 0:
            signal.alarm(seconds)
            for number, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, out.fileno()), (2, errors.fileno())):
                os.dup2(file, number)
            _become(words)
        os.waitpid(pid, 0)
        found = {}
        for name, file in (("stdout", out), ("stderr", errors)):
            file.seek(0)
            found[name] = file.read().decode(errors="replace")
        return found


def _become(words: Sequence[str]) -> None:
    """Be the program from here on."""
    scripts = importlib.import_module("salt.scripts")
    sys.argv = list(words)
    sys.exit((scripts.salt_call if Path(words[0]).name == "salt-call" else scripts.salt_main)())


if __name__ == "__main__":
    main()
