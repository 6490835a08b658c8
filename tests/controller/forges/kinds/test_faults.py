"""Forges that fail, refuse, redirect, answer too much or too late; tokens that end in the middle."""

from __future__ import annotations

import asyncio
import contextlib
import http.server
import threading
import time
from typing import ClassVar

import pytest
from forges.github import FakeGitHub
from forges.server import Reply
from structlog.testing import capture_logs

from controller.forges.api.rate_limits import wait_of
from controller.forges.client import (
    AccessResult,
    Annotation,
    CheckState,
    ForgeCheck,
    ForgeError,
    ForgeRefused,
    ForgeUnavailable,
)
from controller.forges.limits import ForgeLimits
from gitfs.config.credentials import SecretFrom

PROJECT = "Org/states"


@pytest.fixture
def hub():
    with FakeGitHub() as forge:
        forge.model.project(PROJECT, alice="write")
        forge.model.open(PROJECT)
        yield forge


@pytest.fixture
def app():
    with FakeGitHub(app=True) as forge:
        forge.model.project(PROJECT, alice="write")
        forge.model.open(PROJECT)
        yield forge


async def test_reading_is_repeated_when_a_gateway_fails(fake, client):
    fake.model.open(PROJECT)
    fake.bad_gateway(times=2)
    assert (await client.pull_request(PROJECT, 1)).number == 1


async def test_a_forge_that_is_down_is_told(fake, client):
    fake.model.open(PROJECT)
    fake.bad_gateway(times=1000)
    with pytest.raises(ForgeUnavailable, match="502"):
        await client.pull_request(PROJECT, 1)


async def test_writing_is_not_repeated(fake, client):
    fake.model.open(PROJECT)
    await client.pull_request(PROJECT, 1)
    fake.requests.clear()
    fake.fault("status", matching="POST .*comments|POST .*notes|POST .*threads", reply=Reply(status=502, raw=b""))
    with pytest.raises(ForgeUnavailable):
        await client.create_comment(PROJECT, 1, "text")
    assert len(fake.asked("^POST")) == 1
    assert await client.comments(PROJECT, 1) == []


async def test_a_rate_limit_says_for_how_long(fake, client):
    fake.model.open(PROJECT)
    fake.rate_limited(retry_after=7)
    with pytest.raises(ForgeUnavailable) as raised:
        await client.pull_request(PROJECT, 1)
    assert raised.value.retry_after == 7
    asked = len(fake.requests)
    with pytest.raises(ForgeUnavailable) as raised:
        await client.pull_request(PROJECT, 1)
    assert 0 < raised.value.retry_after <= 7
    assert len(fake.requests) == asked, "nothing is asked while the forge wants no requests"


async def test_limits_of_github(hub, connect):
    hub.secondary_limit()
    with pytest.raises(ForgeUnavailable) as raised:
        await connect(hub).pull_request(PROJECT, 1)
    assert raised.value.retry_after == 60
    hub.exhausted(seconds=30)
    with pytest.raises(ForgeUnavailable) as raised:
        await connect(hub).pull_request(PROJECT, 1)
    assert 0 < raised.value.retry_after <= 30


async def test_a_plain_refusal_is_no_rate_limit(hub, connect):
    hub.rights.discard("comments")
    with pytest.raises(ForgeRefused, match="403 Resource not accessible"):
        await connect(hub).create_comment(PROJECT, 1, "x")


NOW = 1_000_000.0


@pytest.mark.parametrize(
    ("status", "headers", "body", "wait"),
    [
        (200, {}, b"", None),
        (200, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(NOW + 20)}, b"", 20),
        (200, {"x-ratelimit-remaining": "1", "x-ratelimit-reset": str(NOW + 20)}, b"", None),
        (200, {"retry-after": "3"}, b"", 3),
        (429, {}, b"", 60),
        (429, {"retry-after": "0"}, b"", 1),
        (429, {"retry-after": "99999"}, b"", 3600),
        (429, {"retry-after": "soon"}, b"", 60),
        (429, {"retry-after": "nan"}, b"", 60),
        (429, {"retry-after": "-3"}, b"", 60),
        (429, {"retry-after": "Mon, 12 Jan 1970 13:46:50 GMT"}, b"", 10),
        (429, {"ratelimit-reset": str(NOW + 9)}, b"", 9),
        (403, {}, b"You have exceeded a secondary rate limit", 60),
        (403, {}, b"no", None),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": str(NOW - 5)}, b"", 1),
        (403, {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "never"}, b"", 60),
        (404, {}, b"rate limit", None),
    ],
)
def test_how_long_a_forge_wants_no_requests(status, headers, body, wait):
    assert wait_of(status, headers, body, NOW) == wait


async def test_our_own_pace(hub, connect):
    heard = []
    client = connect(hub, limits=ForgeLimits(requests_per_minute=3), refused=heard.append)
    for _ in range(3):
        await client.pull_request(PROJECT, 1)
    with pytest.raises(ForgeUnavailable) as raised:
        await client.pull_request(PROJECT, 1)
    assert 0 < raised.value.retry_after <= 60
    assert heard == ["requests-per-minute"]


async def test_a_forge_that_hangs(fake, connect):
    heard = []
    client = connect(fake, limits=ForgeLimits(call_seconds=0.2), refused=heard.append)
    fake.fault("hang", times=1000)
    with pytest.raises(ForgeUnavailable, match="within"):
        await client.pull_request(PROJECT, 1)
    assert set(heard) == {"call-seconds"}


async def test_a_huge_answer_is_not_read(fake, connect):
    heard = []
    client = connect(fake, limits=ForgeLimits(answer_bytes=100_000), refused=heard.append)
    fake.fault("huge", times=1000)
    with pytest.raises(ForgeError, match="more than 100000 bytes"):
        await client.open_pull_requests(PROJECT)
    assert "answer-bytes" in heard


async def test_lists_are_bounded(fake, connect):
    pull = fake.model.open(PROJECT)
    for number in range(250):
        fake.model.comment(pull, "alice", f"{number}")
    for number in range(120):
        fake.model.open(PROJECT, branch=f"b{number}")
    client = connect(fake, limits=ForgeLimits(comments=100, pull_requests=100))
    found = await client.comments(PROJECT, 1)
    assert 100 <= len(found) <= 200
    assert found[-1].body == "249", "the newest are looked at"
    assert [each.created for each in found] == sorted(each.created for each in found)
    assert len(await client.open_pull_requests(PROJECT)) == 100


async def test_an_answer_that_is_of_no_api(fake, client):
    fake.fault("status", times=1000, reply=Reply(status=200, raw=b"<html>login</html>"))
    with pytest.raises(ForgeError, match="is `api` right"):
        await client.open_pull_requests(PROJECT)


async def test_packed_answers_are_not_unpacked(hub, connect):
    hub.fault("status", reply=Reply(status=200, raw=b"bomb", headers={"content-encoding": "gzip"}))
    with pytest.raises(ForgeUnavailable, match="packs its answers"):
        await connect(hub).pull_request(PROJECT, 1)


async def test_a_token_that_ends_in_the_middle(app, connect):
    client = connect(app)
    assert (await client.pull_request(PROJECT, 1)).number == 1
    assert len(app.asked("access_tokens")) == 1
    app.expire_tokens()
    await client.create_comment(PROJECT, 1, "text")
    assert len(app.asked("access_tokens")) == 2
    assert len(app.model.projects[PROJECT].pulls[1].comments) == 1


async def test_a_token_is_renewed_before_its_end(app, connect):
    app.token_seconds = 60.0
    client = connect(app)
    await client.pull_request(PROJECT, 1)
    await client.pull_request(PROJECT, 1)
    assert len(app.asked("access_tokens")) == 2
    assert 401 not in app.statuses


async def test_a_token_is_read_again_from_its_file(fake, connect, tmp_path):
    if fake.kind == "github" and fake.is_app:
        pytest.skip("an App has no token in a file")
    (tmp_path / "token").write_text(f"{fake.token}\n")
    client = connect(fake, token=SecretFrom("file", str(tmp_path / "token")))
    fake.model.open(PROJECT)
    await client.pull_request(PROJECT, 1)
    fake.fault("expired")
    with pytest.raises(ForgeRefused, match="expired or taken back"):
        await client.pull_request(PROJECT, 1)
    (tmp_path / "token").write_text(f"{fake.token}\n")
    assert (await client.pull_request(PROJECT, 1)).number == 1


async def test_secrets_that_cannot_be_had(hub, connect, tmp_path):
    with pytest.raises(ForgeRefused, match="the token cannot be had: the file /none cannot be read"):
        await connect(hub, token=SecretFrom("file", "/none")).pull_request(PROJECT, 1)
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(ForgeRefused, match="is empty"):
        await connect(hub, token=SecretFrom("file", str(tmp_path / "empty"))).pull_request(PROJECT, 1)
    with pytest.raises(ForgeRefused, match="not ASCII"):
        await connect(hub, token="tokén").pull_request(PROJECT, 1)


async def test_a_key_that_is_none(app, connect):
    with pytest.raises(ForgeRefused, match="private_key is no RSA key"):
        await connect(app, private_key="nonsense").pull_request(PROJECT, 1)


async def test_an_app_that_is_not_installed(app, connect):
    app.installed = False
    with pytest.raises(ForgeRefused, match="not installed for Org/states"):
        await connect(app).pull_request(PROJECT, 1)
    found = await connect(app).check_access(PROJECT)
    assert not any(each.ok for each in found)


async def test_rights_that_an_app_lacks(app, connect):
    app.app_permissions |= {"checks": "read"}
    del app.app_permissions["contents"]
    found = {each.what: each for each in await connect(app).check_access(PROJECT)}
    lacking = [what for what, each in found.items() if not each.ok]
    assert lacking == [f"read commits of {PROJECT}", f"write checks of {PROJECT}"]
    assert "checks: read. Set it to write" in found[f"write checks of {PROJECT}"].detail


@pytest.mark.parametrize(
    ("right", "line"), [("comments", f"write comments in {PROJECT}"), ("statuses", f"set commit statuses in {PROJECT}")]
)
async def test_rights_that_a_token_lacks(hub, connect, right, line):
    hub.rights.discard(right)
    found: dict[str, AccessResult] = {each.what: each for each in await connect(hub).check_access(PROJECT)}
    assert [what for what, each in found.items() if not each.ok] == [line]
    assert "Give the token" in found[line].detail


async def test_annotations_go_in_parts_and_are_bounded(app, connect):
    head = app.model.projects[PROJECT].pulls[1].head
    annotations = tuple(Annotation(path="a.sls", line=n + 1, level="warning", message=f"m{n}") for n in range(170))
    check = ForgeCheck(name="x", state=CheckState.FAILURE, title="t", summary="s" * 70_000, annotations=annotations)
    await connect(app, limits=ForgeLimits(annotations=120)).set_check(PROJECT, head, check)
    (found,) = app.model.checks(PROJECT, head).values()
    assert [each["message"] for each in found.annotations] == [f"m{n}" for n in range(120)]
    assert len(app.asked("check-runs")) == 4


class _Elsewhere(http.server.BaseHTTPRequestHandler):
    asked: ClassVar[list[dict[str, str]]] = []

    def do_GET(self):
        self.asked.append(dict(self.headers))
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, *_):
        """Nothing is logged."""


@pytest.fixture
def elsewhere():
    _Elsewhere.asked = []
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Elsewhere) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}", _Elsewhere.asked
        server.shutdown()
        thread.join()


async def test_no_redirect_leads_to_another_server(fake, client, elsewhere):
    address, asked = elsewhere
    fake.fault("status", times=1000, reply=Reply(status=302, headers={"location": f"{address}/x"}))
    with pytest.raises(ForgeRefused, match="redirects to"):
        await client.pull_request(PROJECT, 1)
    assert not asked


async def test_no_page_leads_to_another_server(hub, connect, elsewhere):
    address, asked = elsewhere
    hub.fault("status", reply=Reply(value=[], headers={"link": f'<{address}/x?page=2>; rel="next"'}))
    with pytest.raises(ForgeRefused, match="another server"):
        await connect(hub).open_pull_requests(PROJECT)
    assert not asked


async def test_a_project_that_was_renamed_is_followed(hub, connect):
    moved = Reply(status=301, headers={"location": f"{hub.api}/repos/Org/states/pulls/1"})
    hub.fault("status", matching="/repos/org/old", reply=moved)
    assert (await connect(hub).pull_request("org/old", 1)).number == 1


async def test_redirects_in_a_circle(hub, connect):
    reply = Reply(status=302, headers={"location": f"{hub.api}/repos/Org/states/pulls/1"})
    hub.fault("status", times=1000, reply=reply)
    with pytest.raises(ForgeRefused, match="redirects"):
        await connect(hub).pull_request(PROJECT, 1)
    assert len(hub.requests) < 10


async def test_a_port_where_nobody_listens(hub, connect):
    with pytest.raises(ForgeUnavailable, match="cannot be reached"):
        await connect(hub, api="http://127.0.0.1:1/api/v3").create_comment(PROJECT, 1, "x")


async def test_no_credential_is_in_an_error_or_a_log(fake, client, caplog):
    caplog.set_level(1)
    with capture_logs() as logs:
        for kind in ("status", "huge", "expired"):
            fake.fault(kind, times=3, reply=Reply(status=403, value={"message": "no"}))
            token = fake.token
            with contextlib.suppress(ForgeError):
                await client.open_pull_requests(PROJECT)
            errors = [str(each) for each in await client.check_access(PROJECT)]
            assert token not in str(errors)
    assert fake.token not in caplog.text + str(logs)
    assert fake.token not in repr(client)


async def test_cancelling_a_call_ends_it(fake, client):
    fake.fault("hang", times=1000)
    call = asyncio.create_task(client.open_pull_requests(PROJECT))
    deadline = time.monotonic() + 60
    while not fake.requests and time.monotonic() < deadline:
        await asyncio.sleep(0.01)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_what_is_kept_is_bounded(hub, connect):
    client = connect(hub, limits=ForgeLimits(cached_bytes=3000))
    for number in range(20):
        hub.model.open(PROJECT, branch=f"b{number}")
        await client.pull_request(PROJECT, number + 1)
    hub.statuses.clear()
    await client.pull_request(PROJECT, 1)
    await client.pull_request(PROJECT, 20)
    assert hub.statuses == [200, 304] or hub.statuses == [200, 200]
