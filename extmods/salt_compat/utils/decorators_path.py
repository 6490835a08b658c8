"""`salt.utils.decorators.path`: functions that need a program."""

from __future__ import annotations

import functools
import shutil
from collections.abc import Callable
from typing import Any

from extmods.salt_compat.exceptions import CommandNotFoundError

Function = Callable[..., Any]


def which(program: str) -> Callable[[Function], Function]:
    """The function fails when the program is not there."""

    def wrap(function: Function) -> Function:
        @functools.wraps(function)
        def checked(*args: Any, **kwargs: Any) -> Any:
            if shutil.which(program) is None:
                raise CommandNotFoundError(f"The '{program}' binary was not found in $PATH.")
            return function(*args, **kwargs)

        return checked

    return wrap


def which_bin(programs: list[str]) -> Callable[[Function], Function]:
    """The function fails when none of some programs is there."""
    return which(next((one for one in programs if shutil.which(one)), programs[0]))
