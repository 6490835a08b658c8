"""Commands and their words: the types of `cmd`, `args` and `opts`."""

from __future__ import annotations

import shlex
from typing import Annotated, Any

from minion.arguments.types import Reads, Unfit, as_list, as_text_or_false, as_texts


def as_words(value: Any) -> list[str]:
    """Words of a list; null is an empty one."""
    return list(as_texts(as_list(value)))


def as_script_arguments(value: Any) -> str:
    """What stands behind the name of a script on its command line; the words of a list are quoted."""
    return shlex.join(as_texts(value)) if isinstance(value, list | tuple) else as_text_or_false(value)


def as_options(value: Any) -> tuple[str, ...]:
    """Options of a command: a line that a shell would split into words, or a list of words."""
    if isinstance(value, list | tuple):
        return as_texts(value)
    try:
        return tuple(shlex.split(as_text_or_false(value)))
    except ValueError as error:
        raise Unfit(f"words as a shell reads them ({error})") from None


Words = Annotated[list[str], Reads(as_words, null=True)]
Command = str | Words
"""A line, or a list of words."""
ScriptArguments = Annotated[str, Reads(as_script_arguments, null=True)]
Options = Annotated[tuple[str, ...], Reads(as_options, null=True)]
