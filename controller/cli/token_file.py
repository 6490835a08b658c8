"""The token that `saltern login` got, in the home of the user."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from controller.cli.failure import Failure

_LONGEST = 1000


def shown_token() -> str:
    """What is shown to the controller: SALTERN_TOKEN, else the token that is kept; empty: none."""
    return os.environ.get("SALTERN_TOKEN", "").strip() or kept_token()


def kept_token() -> str:
    """The token that is kept. Failure for a file that others may read or that is another's.

    None is kept for who has no home, or has in HOME that of another, as what cron or `setpriv` starts may.
    """
    try:
        path = token_path()
        if not os.access(path.parent, os.X_OK):
            return ""
        with path.open() as file:
            found = os.fstat(file.fileno())
            if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                raise Failure(f"{path} is not for you alone", hint=f"remove it, or: chmod 600 {path}")
            return file.read(_LONGEST).strip()
    except (FileNotFoundError, NotADirectoryError, RuntimeError):
        return ""
    except OSError as error:
        raise Failure(f"{path}: {error.strerror}") from None


def keep_token(token: str) -> Path:
    """Write it into a new file that the user alone may read; where that is."""
    path = token_path()
    new = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w") as file:
            file.write(token + "\n")
        new.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink()
        raise Failure(f"{path}: {error.strerror}", hint="saltern login --print shows the token") from None
    return path


def forget_token() -> None:
    """Remove the file."""
    token_path().unlink(missing_ok=True)


def token_path() -> Path:
    """Where it is: beside Salt's ~/.salt_token."""
    return Path.home() / ".saltern_token"
