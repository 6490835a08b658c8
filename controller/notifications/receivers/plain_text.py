"""Texts that minions, commits and pull requests bring, as one service shows them as text and nothing else. Pure.

Characters that no line of text has are taken out first: controls, and those that turn the direction of what follows,
by which a text could look like another one (https://www.unicode.org/reports/tr36/).
"""

from __future__ import annotations

import re
import unicodedata

_CONTROLS = ("Cc", "Cs", "Co", "Cn")
_TURNING = frozenset("\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_DISCORD = re.compile(r"([\\*_~|`>#\[\]()<@:-])")
CUT = " …"


def clean(text: str) -> str:
    """A text with newlines and without other controls."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\t", "    ")
    return "".join(
        each for each in text if each == "\n" or (unicodedata.category(each) not in _CONTROLS and each not in _TURNING)
    )


def one_line(text: str, most: int) -> str:
    """A text on one line, of so many characters at most."""
    return cut(" ".join(clean(text).split()), most)


def cut(text: str, most: int) -> str:
    """A text of so many characters at most."""
    return text if len(text) <= most else text[: most - len(CUT)] + CUT


def cut_bytes(text: str, most: int) -> str:
    """A text of so many bytes of UTF-8 at most."""
    packed = text.encode()
    if len(packed) <= most:
        return text
    return packed[: most - len(CUT.encode())].decode(errors="ignore") + CUT


def slack(text: str) -> str:
    """As `text` of a message of Slack shows it: no mention and no link is made of it.

    https://docs.slack.dev/messaging/formatting-message-text#escaping
    """
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def discord(text: str) -> str:
    """As Discord shows it: every character that begins markup is escaped.

    https://support.discord.com/hc/en-us/articles/210298617
    """
    return _DISCORD.sub(r"\\\1", text)
