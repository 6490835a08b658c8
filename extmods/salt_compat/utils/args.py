"""`salt.utils.args`: arguments of functions."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from extmods.salt_compat.exceptions import SaltInvocationError


def clean_kwargs(**kwargs: Any) -> dict[str, Any]:
    """Without those that begin with two underscores."""
    return {key: value for key, value in kwargs.items() if not key.startswith("__")}


def invalid_kwargs(invalid: Mapping[str, Any], raise_exc: bool = True) -> str | None:
    """Refuse arguments that nobody takes."""
    if not invalid:
        return None
    text = "The following keyword arguments are not valid: " + ", ".join(f"{k}={v}" for k, v in invalid.items())
    if raise_exc:
        raise SaltInvocationError(text)
    return text


def get_function_argspec(func: Callable[..., Any]) -> inspect.FullArgSpec:
    """What a function takes."""
    return inspect.getfullargspec(func)


def split_input(value: Any) -> list[str]:
    """A list as it is, text at its commas."""
    return value if isinstance(value, list) else [part.strip() for part in str(value).split(",")]


def shlex_split(text: str, **options: Any) -> list[str]:
    """Words as a shell takes them."""
    return shlex.split(text, **options)
