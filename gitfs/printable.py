"""Text from a repository or a server as it can be stored, logged and shown.

Called wherever this room puts a name or a reason into what others see.
"""

from __future__ import annotations

LONGEST = 200
"""Characters of a name that are shown."""


def printable(text: str, longest: int = LONGEST) -> str:
    """`text` with what is no printable character escaped, and its end cut off."""
    text = text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    shown = "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)
    return shown if len(shown) <= longest else f"{shown[:longest]}..."
