"""Arguments that every state takes: conditions and the like, which blocks of any kind may have."""

from __future__ import annotations

from collections.abc import Callable

from tools.predictions.blocks import ROOT, Block

Lines = Callable[[Block, str], list[str]]
"""Lines of the state; the text is the path of which a condition asks."""

OPTIONS: dict[str, Lines] = {
    "onlyif-path": lambda b, path: [f"onlyif: test -f {path}"],
    "onlyif-list": lambda b, path: ["onlyif:", f"  - test -e {path}", f"  - test ! -d {path}"],
    "unless-path": lambda b, path: [f"unless: test -e {path}-{b.number % 3}"],
    "unless-grep": lambda b, path: [f"unless: grep -q 'line {b.number % 10}' {path}"],
    "onlyif-function": lambda b, path: ["onlyif:", "  - fun: file.file_exists", f"    path: {path}"],
    "unless-function": lambda b, path: ["unless:", "  - fun: file.directory_exists", f"    path: {path}"],
    "onlyif-grains": lambda b, path: ["onlyif:", "  - fun: match.grain", "    tgt: 'role:web'"],
    "onlyif-true": lambda b, path: ["onlyif: 'true'"],
    "unless-false": lambda b, path: ["unless: 'false'"],
    "unless-shell": lambda b, path: [f"unless: cd {ROOT} && cat {b.asked} | grep -q 'line {b.number % 10}'"],
    "creates": lambda b, path: [f"creates: {path}-{b.number % 2}"],
    "check-cmd": lambda b, path: ["check_cmd:", f"  - test -d {ROOT}"],
    "retry": lambda b, path: ["retry:", "    attempts: 2", "    interval: 0"],
    "order-last": lambda b, path: ["order: last"],
    "order-first": lambda b, path: ["order: 1"],
    "parallel": lambda b, path: ["parallel: True"],
    "onlyif-pillar": lambda b, path: ["onlyif:", "  - fun: match.pillar", f"    tgt: 'n1:{b.number % 3}'"],
    "onlyif-two": lambda b, path: ["onlyif:", f"  - test -f {path}", "  - fun: test.true"],
    "unless-list": lambda b, path: ["unless:", "  - 'false'", f"  - test -f {path}-never"],
    "creates-list": lambda b, path: [f"creates: [{path}, {path}-{b.number % 2}]"],
    "failhard": lambda b, path: ["failhard: True"],
    "umask": lambda b, path: ["umask: '077'"],
    "reload": lambda b, path: ["reload_grains: True"],
    "fire-event": lambda b, path: ["fire_event: True"],
}
"""Name -> what it adds to a state."""
