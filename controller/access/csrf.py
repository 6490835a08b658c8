"""The second secret of a browser's session, which a page of another site cannot know. Pure.

It is derived from the first one, so that nothing more is kept: a script of the dashboard's own pages asks for it and
sends it as a header with what changes something. Source: OWASP Cross-Site Request Forgery Prevention Cheat Sheet
(signed double submit, and custom request headers).
"""

from __future__ import annotations

import base64
import hashlib
import hmac

_MEANING = b"saltern: CSRF token of a session"


def csrf_token(session: str) -> str:
    """The token that belongs to the cookie of a session; nobody gets from it to the cookie."""
    digest = hmac.digest(session.encode(errors="surrogatepass"), _MEANING, hashlib.sha256)
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


def is_csrf_token(shown: str, session: str) -> bool:
    """Whether it belongs to the session; compared in constant time."""
    return hmac.compare_digest(shown.encode(errors="surrogatepass"), csrf_token(session).encode("ascii"))
