"""The execution module `random`. What has a seed is the language's, which draws the same each time."""

from __future__ import annotations

import random
import secrets
import string
from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import Reads, Scalar, Unfit
from minion.execution.context import Context
from minion.execution.errors import CallFailed

LONGEST = 100_000


def get_str(
    context: Context,
    length: int = 20,
    chars: str | None = None,
    lowercase: bool = True,
    uppercase: bool = True,
    digits: bool = True,
    punctuation: bool = True,
    whitespace: bool = False,
    printable: bool = False,
) -> str:
    """Random text of so many characters, fit for a password."""
    groups = {
        string.ascii_lowercase: lowercase,
        string.ascii_uppercase: uppercase,
        string.digits: digits,
        string.punctuation: punctuation,
        string.whitespace: whitespace,
        string.printable: printable,
    }
    known = chars or "".join(text for text, wanted in groups.items() if wanted)
    if not known or not 0 < length <= LONGEST:
        raise CallFailed(f"length must be from 1 to {LONGEST}, and some kind of characters be allowed")
    return "".join(secrets.choice(known) for _ in range(length))


def rand_int(context: Context, start: int = 1, end: int = 10, seed: Scalar | None = None) -> int:
    """A number from `start` to `end`, both included."""
    return _dice(seed).randint(start, end)


def sample(context: Context, value: str | list[Any], size: int, seed: Scalar | None = None) -> list[Any]:
    """Some members of a list, each at most once."""
    return _dice(seed).sample(list(value), size)


def shuffle(context: Context, value: str | list[Any], seed: Scalar | None = None) -> list[Any]:
    """A list in another order."""
    return _dice(seed).sample(list(value), len(list(value)))


def shadow_hash(
    context: Context, crypt_salt: str | None = None, password: str | None = None, algorithm: str = "sha512"
) -> str:
    """A password as /etc/shadow holds it; of a random one when none is given."""
    from minion.modules.accounts.shadow import gen_password

    return gen_password(context, password or get_str(context), crypt_salt, algorithm)


def as_encodable(value: Any) -> str:
    """Text alone. Worded as Salt does."""
    if isinstance(value, str):
        return value
    raise Unfit("", "Value must be an encode-able string")


Encodable = Annotated[str, Reads(as_encodable, null=True)]


def str_encode(context: Context, value: Encodable, encoder: str = "base64") -> str:
    """A text in another coding: base64, hex, …"""
    import base64

    codings = {"base64": base64.b64encode, "base32": base64.b32encode, "hex": base64.b16encode}
    if encoder not in codings:
        raise CallFailed(f"encoder can be {', '.join(codings)}, not {encoder!r}")
    made = codings[encoder](value.encode()).decode()
    return made.lower() if encoder == "hex" else made


def _dice(seed: Any) -> random.Random:
    return random.SystemRandom() if seed is None else random.Random(seed)  # noqa: S311  (a seed asks for no secret)


FUNCTIONS: Mapping[str, Any] = {
    "get_str": get_str,
    "rand_int": rand_int,
    "sample": sample,
    "shadow_hash": shadow_hash,
    "shuffle": shuffle,
    "str_encode": str_encode,
}
