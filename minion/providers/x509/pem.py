"""Entries in PEM, put right: lines of 64 characters, one entry.

Needs no library. Behaviour: doc/ref/modules/all/salt.modules.x509_v2, get_pem_entry. Source: RFC 7468.
"""

from __future__ import annotations

import re
import textwrap

from minion.machine.failure import StateFailed

_ENTRY = (
    r"-----BEGIN (?P<label>{label})-----\s*"
    r"(?P<type>Proc-Type: 4,ENCRYPTED)?\s*(?P<info>DEK-Info: [A-Z0-9-]+,[0-9A-Fa-f]+)?\s*"
    r"(?P<body>[A-Za-z0-9+/=\s]+?)\s*-----END (?P=label)-----"
)


def pem_entry(text: str, pem_type: str | None = None) -> str:
    """The first entry of a text, well formed.

    Args:
        text: with one entry or more; `\\n` may stand for the end of a line.
        pem_type: what it has to be, as in `CERTIFICATE`; a regular expression. None: anything.

    Raises StateFailed, which shows nothing of the text: it may be a key.
    """
    found = re.search(_ENTRY.format(label=pem_type or "[0-9A-Z ]+"), text.replace("\\n", "\n"))
    if found is None:
        raise StateFailed(
            f"PEM does not contain a single entry of type {pem_type}" if pem_type else "PEM text not valid"
        )
    head = [found["type"], *([found["info"], ""] if found["info"] else [])] if found["type"] else []
    body = textwrap.wrap("".join(found["body"].split()), 64)
    label = found["label"]
    return "\n".join([f"-----BEGIN {label}-----", *head, *body, f"-----END {label}-----", ""])
