"""`make bench [ONLY=name]`: run the benchmarks. JSON lines on stdout, a table on stderr; never fails by a time.

Each benchmark is a module of this folder with `measure() -> Iterator[Figure]`. A figure stands beside a bare limit
of this machine that was measured in the same run, because machines are noisy.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys

from rich.console import Console
from rich.table import Table

from tools.bench.figures import Figure


def main() -> int:
    """Run what was asked for; the exit code."""
    known = [
        "dask",
        "events",
        "fleet",
        "gateway",
        "gateway_crowd",
        "gitfs",
        "history",
        "language",
        "noops",
        "orchestration",
        "path",
        "preview",
        "relay",
        "ssh",
        "states",
        "web",
        "wire",
    ]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=known, help="run this one alone")
    chosen = parser.parse_args().only
    console = Console(stderr=True, width=None if sys.stderr.isatty() else 150)
    for name in [chosen] if chosen else known:
        figures = []
        with console.status(f"bench {name} …"):
            for figure in importlib.import_module(f"tools.bench.{name}").measure():
                figures.append(figure)
                sys.stdout.write(json.dumps({"bench": name, **figure.as_json()}) + "\n")
                sys.stdout.flush()
        console.print(_table(name, figures))
    return 0


def _table(name: str, figures: list[Figure]) -> Table:
    table = Table(title=f"bench {name}")
    for column in ("metric", "median", "spread", "reference", "ratio", "target", "met"):
        table.add_column(column, justify="left" if column == "metric" else "right")
    for each in figures:
        table.add_row(
            each.metric,
            f"{each.value:.4g} {each.unit}",
            f"{min(each.samples):.4g} - {max(each.samples):.4g} (n={len(each.samples)})",
            f"{each.reference:.4g} {each.unit} ({each.reference_of})" if each.reference else "",
            f"{each.ratio:.3g}" if each.ratio else "",
            f"<= {each.target:g}" if each.target else "",
            {True: "yes", False: "NO", None: ""}[each.met],
        )
    return table


if __name__ == "__main__":
    sys.exit(main())
