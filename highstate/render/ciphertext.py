"""`gpg`: every PGP message in text or data is replaced by what it says. Called by `renderers` and pillar.

The port reads one message; this module finds them. As in Salt's gpg renderer, the newline at the end of a decrypted
value goes, and messages may stand in the middle of a text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from highstate.types import Value

MESSAGE = re.compile(r"-----BEGIN PGP MESSAGE-----.*?-----END PGP MESSAGE-----", re.DOTALL)


def decrypted(value: Value, decrypt: Callable[[str], str], *, escaped: bool = False) -> Value:
    r"""`value` with all messages in it read, keys of mappings excepted; `escaped`: newlines are written as `\n`."""
    if isinstance(value, bytes):
        return decrypted(value.decode(), decrypt, escaped=escaped) if b"BEGIN PGP MESSAGE" in value else value
    if isinstance(value, str):
        if "-----BEGIN PGP MESSAGE-----" not in value:
            return value
        text = value.replace("\\n", "\n") if escaped else value
        read, count = MESSAGE.subn(lambda found: decrypt(found.group().replace("\\n", "\n")), text)
        return read.rstrip("\n") if count else value
    if isinstance(value, dict):
        return {key: decrypted(inner, decrypt, escaped=escaped) for key, inner in value.items()}
    if isinstance(value, list):
        return [decrypted(inner, decrypt, escaped=escaped) for inner in value]
    return value
