"""The controller's configuration files, put together. `controller.config.settings` knows the options.

A later file wins; mappings of the same option are merged key by key, as Salt merges `master.d`.
"""

from __future__ import annotations

from pathlib import Path

from options.document import Fault, Option, UnreadableDocument, merge_options, read_document


def read_files(main: Path, folder: Path) -> tuple[dict[str, Option], list[Fault]]:
    """The options of `main` and then of `folder`/*.conf; what cannot be read is among the faults."""
    options: dict[str, Option] = {}
    faults: list[Fault] = []
    try:
        files = [main] if main.exists() else []
        files += sorted(folder.glob("*.conf"))
    except PermissionError as error:
        return {}, [Fault(str(main.parent), f"cannot be read: {error.strerror}")]
    for path in files:
        try:
            found = read_document(path)
        except UnreadableDocument as error:
            faults.append(error.fault)
            continue
        for name, option in found.items():
            options[name] = merge_options(options[name], option) if name in options else option
    return options, faults
