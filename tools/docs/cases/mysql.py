"""States of MySQL and MariaDB: none has a case."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

CASES: tuple[Case, ...] = ()
WITHOUT: Mapping[str, str] = {
    f"mysql_{fun}": "tried on a MariaDB server of the tests"
    for fun in (
        "database.absent", "database.present", "grants.absent", "grants.present", "query.run", "query.run_file",
        "user.absent", "user.present",
    )
}  # fmt: skip
