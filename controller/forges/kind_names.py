"""Which kinds of forges there are, by their files; none of them is imported for it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, TypeAlias

from options.kinds import Prepare, Wanted


def _kinds() -> tuple[str, ...]:
    files = (Path(__file__).parent / "kinds").glob("*.py")
    return tuple(sorted(file.stem.replace("_", "-") for file in files if file.stem != "__init__"))


KINDS = _kinds()
"""Each is `controller.forges.kinds.NAME`, with `_` for `-`."""


def _kind(value: Any) -> Any:
    if value not in KINDS:
        raise ValueError
    return value


ForgeKind: TypeAlias = Annotated[str, Wanted("one of " + ", ".join(KINDS)), Prepare(_kind)]
"""As the configuration names it; `gitea` is Forgejo, too."""
