"""Whole reports, kept for who has a link, and shown as a page. Called by pull requests and by the HTTP port.

Packing and rendering are done in threads, few at a time: how large a report is, is up to a branch.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, field

import msgspec

from controller.config.limits import ReportLimits
from controller.report.html import CONTENT_SECURITY_POLICY, html
from controller.report.links import ReportLinks
from controller.report.markdown import markdown
from controller.schema.errors import ServiceError
from controller.schema.reports import PreviewReport, ReportPage
from controller.store import Store
from options.limits import CountRefusal

_MEDIA: dict[str, str] = {
    "html": "text/html",
    "json": "application/json",
    "md": "text/plain",
}
_REMEMBERED = 4
_REMEMBERED_BYTES = 4 * 1024 * 1024
"""Of a page that is remembered."""


@dataclass(slots=True, kw_only=True)
class ReportArchive:
    """Keeps reports and shows them."""

    store: Store
    links: ReportLinks
    limits: ReportLimits
    threads: Executor
    clock: Callable[[], float]
    on_refusal: CountRefusal
    _pages: OrderedDict[tuple[str, str], bytes] = field(default_factory=OrderedDict)
    _rendering: int = 0

    async def keep(self, report: PreviewReport) -> str:
        """Keep a report; its address, empty where there are no links or the report is too large to be kept."""
        if not self.links.address:
            return ""
        packed = await asyncio.get_running_loop().run_in_executor(self.threads, self._packed, report)
        if packed is None:
            self.on_refusal("report-bytes")
            return ""
        report_id = self.links.id_of(report)
        self.store.reports.put(report_id, report.made_at, packed)
        self.store.reports.prune(
            count=self.limits.kept, size=self.limits.kept_bytes, before=self.clock() - self.limits.kept_seconds
        )
        return self.links.url(report_id, report.made_at)

    def url(self, report: PreviewReport) -> str:
        """The address of a report that is kept; empty where there are no links."""
        return self.links.url(self.links.id_of(report), report.made_at)

    def _packed(self, report: PreviewReport) -> bytes | None:
        whole = msgspec.json.encode(report)
        return zlib.compress(whole) if len(whole) <= self.limits.report_bytes else None

    async def page(self, report_id: str, expires: str, signature: str, form: str) -> ReportPage:
        """A report for who has its address; ServiceError for everybody else, without saying why."""
        if form not in _MEDIA:
            raise ServiceError("bad-request", "the format is html, json or md")
        packed = None
        if self.links.admits(report_id, expires, signature, self.clock()):
            packed = self.store.reports.get(report_id)
        if packed is None:
            raise ServiceError(
                "not-found", "there is no report at this address", hint="links expire; preview the pull request again"
            )
        policy = CONTENT_SECURITY_POLICY if form == "html" else "default-src 'none'"
        return ReportPage(content=await self._content(report_id, packed, form), media_type=_MEDIA[form], policy=policy)

    async def _content(self, report_id: str, packed: bytes, form: str) -> bytes:
        key = (report_id, form)
        if (known := self._pages.get(key)) is not None:
            self._pages.move_to_end(key)
            return known
        if self._rendering >= self.limits.at_once:
            self.on_refusal("at-once")
            raise ServiceError("conflict", "other reports are being shown", hint="try again in some seconds")
        self._rendering += 1
        try:
            content = await asyncio.get_running_loop().run_in_executor(self.threads, _rendered, packed, form)
        finally:
            self._rendering -= 1
        if len(content) <= _REMEMBERED_BYTES:
            self._pages[key] = content
            while len(self._pages) > _REMEMBERED:
                self._pages.popitem(last=False)
        return content


def _rendered(packed: bytes, form: str) -> bytes:
    whole = zlib.decompress(packed)  # as large as `report_bytes` let it be when it was kept
    if form == "json":
        return whole
    report = msgspec.json.decode(whole, type=PreviewReport)
    return (html(report) if form == "html" else markdown(report)).encode()
