"""Addresses of whole reports: signed, so that who has one reads that report and no other, until it expires. Pure.

A link is the same however often it is made, so that a comment with it stays the same: it expires a fixed time after
the report was made.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from controller.schema.reports import PreviewReport

_MOST = 64
"""Characters of each part of an address that is looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportLinks:
    """Makes and checks addresses."""

    address: str
    """Where people reach the controller's HTTP port, like `https://saltern.example.org`; empty: there are no links."""
    key: bytes = field(repr=False)
    lifetime: float
    """Seconds from the making of a report."""

    def id_of(self, report: PreviewReport) -> str:
        """The report's id: of what it is about and when it was made; who has no key cannot guess it."""
        parts = (report.controller, report.environment, report.base, report.head, f"{report.made_at:.6f}")
        return self._digest("id", *parts)[:32]

    def url(self, report_id: str, made_at: float) -> str:
        """The address of a report; empty where the controller has none. `made_at`: seconds since the epoch."""
        if not self.address:
            return ""
        expires = str(int(made_at + self.lifetime))
        signature = self._digest("link", report_id, expires)
        return f"{self.address.rstrip('/')}/previews/{report_id}?expires={expires}&signature={signature}"

    def admits(self, report_id: str, expires: str, signature: str, now: float) -> bool:
        """Whether the parts of an address are as `url` made them, and it has not expired."""
        if max(len(report_id), len(expires), len(signature)) > _MOST or not (expires.isascii() and expires.isdigit()):
            return False
        right = self._digest("link", report_id, expires)
        same = hmac.compare_digest(right.encode(), signature.encode("utf-8", "replace"))
        return same and int(expires) > now

    def _digest(self, *parts: str) -> str:
        text = "\0".join(parts).encode("utf-8", "surrogatepass")
        return hmac.new(self.key, text, hashlib.sha256).hexdigest()


def link_key(secret: bytes) -> bytes:
    """The key of links, made of the controller's secret key so that it is used for nothing else."""
    return hmac.new(secret, b"saltern links to reports", hashlib.sha256).digest()
