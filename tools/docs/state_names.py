"""Write the names of all state functions, by which the compile knows them.

.venv/bin/python -m tools.docs.state_names
"""

from __future__ import annotations

from pathlib import Path

from minion.engine import registry

NAMES = Path(__file__).resolve().parents[2] / "highstate" / "lint" / "saltern_states.txt"


def main() -> None:
    """Write them, a line each."""
    NAMES.write_text("".join(f"{name}\n" for name in registry.names()))


if __name__ == "__main__":
    main()
