"""A machine whose services are init scripts: systemctl is hidden, for as long as a test needs it."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def without_systemctl() -> Iterator[None]:
    """Something that cannot be run stands where systemctl is; as root, for all processes of this machine."""
    found = shutil.which("systemctl")
    if found is None:
        yield
        return
    with tempfile.NamedTemporaryFile() as empty:
        Path(empty.name).chmod(0o644)
        place = str(Path(found).resolve())
        subprocess.run(["mount", "--bind", empty.name, place], check=True)
        try:
            yield
        finally:
            subprocess.run(["umount", place], check=True)
