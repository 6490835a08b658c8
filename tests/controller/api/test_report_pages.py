"""Whole reports on the HTTP port: for who has the signed address, and in the form that is asked for."""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import msgspec
import pytest
from preview_reports import SAMPLES, config, group, report

from controller.config.limits import ReportLimits
from controller.preview.report_archive import ReportArchive
from controller.report.html import html
from controller.report.links import ReportLinks, link_key
from controller.schema.errors import ServiceError
from controller.schema.reports import PreviewReport
from controller.store import Store


class Clock:
    """Time that tests set."""

    def __init__(self) -> None:
        self.now = time.time()

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def refused():
    return []


@pytest.fixture
def make_archive(tmp_path, refused):
    store = Store(f"sqlite:///{tmp_path}/reports.sqlite")
    threads = ThreadPoolExecutor(2)

    def make(address: str = "http://x", **limits) -> ReportArchive:
        return ReportArchive(
            store=store,
            links=ReportLinks(address=address, key=link_key(b"key"), lifetime=1000.0),
            limits=ReportLimits(**limits),
            threads=threads,
            clock=Clock(),
            on_refusal=refused.append,
        )

    yield make
    threads.shutdown()
    store.close()


def now(found: PreviewReport, at: float) -> PreviewReport:
    return msgspec.structs.replace(found, made_at=at)


def test_who_has_the_address_reads_the_report(served, desk, make_archive):
    archive = make_archive()
    desk.report_page = archive.page
    found = now(SAMPLES["one-class"], archive.clock())
    path = asyncio.run(archive.keep(found)).removeprefix("http://x")
    assert archive.url(found).endswith(path)
    host, port = served.listening.http
    with httpx.Client(base_url=f"http://{host}:{port}", trust_env=False, timeout=30, verify=False) as client:
        page = client.get(path)
        assert (page.status_code, page.text) == (200, html(found))
        assert page.headers["content-type"] == "text/html; charset=utf-8"
        assert page.headers["content-security-policy"].startswith("default-src 'none'; style-src 'sha256-")
        assert (page.headers["x-content-type-options"], page.headers["referrer-policy"]) == ("nosniff", "no-referrer")
        as_json = client.get(f"{path}&format=json")
        assert msgspec.json.decode(as_json.content, type=PreviewReport) == found
        as_markdown = client.get(f"{path}&format=md")
        assert as_markdown.text.startswith("## Saltern preview")
        assert as_markdown.headers["content-type"] == "text/plain; charset=utf-8"
        assert client.get(f"{path}&format=exe").status_code == 400
        assert client.post(path).status_code == 405


def test_an_address_that_was_changed_or_has_expired_finds_nothing(served, desk, make_archive):
    archive = make_archive()
    desk.report_page = archive.page
    path = asyncio.run(archive.keep(now(SAMPLES["one-class"], archive.clock()))).removeprefix("http://x")
    other = asyncio.run(archive.keep(now(SAMPLES["holes"], archive.clock() + 1))).removeprefix("http://x")
    report_id, query = path.split("?")
    expires, signature = query.split("&")
    later = f"expires={int(expires.removeprefix('expires=')) + 1}"
    host, port = served.listening.http
    with httpx.Client(base_url=f"http://{host}:{port}", trust_env=False, timeout=30, verify=False) as client:
        assert client.get(path).status_code == 200
        wrong = [
            report_id,
            f"{report_id}?{expires}",
            f"{report_id}?{later}&{signature}",
            f"{report_id}?{expires}&{signature[:-1]}x",
            f"{report_id}?{expires}&signature=",
            f"{other.split('?')[0]}?{query}",
            f"{report_id}?{expires}&{signature}%00",
            f"/previews/{'a' * 5000}?{query}",
            f"/previews/..%2f..%2fhook?{query}",
            f"{report_id}?expires=%C2%B2&{signature}",
        ]
        answers = {client.get(each).status_code for each in wrong}
        assert answers == {404}
        said = {client.get(each).text for each in wrong[:6]}
        assert len(said) == 1, "the answer does not say what is wrong"
        archive.clock.now += 1000.0
        assert client.get(path).status_code == 404


async def test_a_report_that_is_too_large_has_no_link(make_archive, refused):
    archive = make_archive(report_bytes=1000)
    assert await archive.keep(now(SAMPLES["one-class"], archive.clock())) == ""
    assert refused == ["report-bytes"]


async def test_without_an_address_nothing_is_kept(make_archive):
    archive = make_archive("")
    found = now(SAMPLES["one-class"], archive.clock())
    assert await archive.keep(found) == ""
    assert archive.store.reports.get(archive.links.id_of(found)) is None


async def test_the_oldest_reports_go(make_archive):
    archive = make_archive(kept=2)
    found = [now(SAMPLES["one-class"], archive.clock() - each) for each in (3, 2, 1)]
    for each in found:
        await archive.keep(each)
    assert [archive.store.reports.get(archive.links.id_of(each)) is not None for each in found] == [False, True, True]


async def test_few_pages_are_made_at_once(make_archive, refused):
    archive = make_archive(at_once=1)
    found = [now(report(classes=(group(3, config(lines=lines)),)), archive.clock()) for lines in (1, 2)]
    found[1] = msgspec.structs.replace(found[1], head="b" * 40)
    asked = []
    for each in found:
        url = await archive.keep(each)
        report_id, query = url.rpartition("/")[2].split("?")
        expires, signature = (part.partition("=")[2] for part in query.split("&"))
        asked.append((report_id, expires, signature, "html"))
    go = threading.Event()
    held = [archive.threads.submit(go.wait, 60) for _ in range(2)]
    first = asyncio.create_task(archive.page(*asked[0]))
    await asyncio.sleep(0)
    with pytest.raises(ServiceError, match="other reports are being shown"):
        await archive.page(*asked[1])
    go.set()
    assert b"Saltern preview" in (await first).content
    assert all(each.result() for each in held)
    assert refused == ["at-once"]
    assert (await archive.page(*asked[0])).content == (await first).content
