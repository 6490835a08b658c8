"""The range server, over real HTTP: what it answers, and all that makes a target an error."""

from __future__ import annotations

import asyncio
import socket

import pytest
from range_servers import range_service

from controller.config.limits import RangeLimits
from controller.jobs.range_server import RangeServer
from controller.schema.errors import ServiceError


@pytest.fixture
def service():
    with range_service() as one:
        one.ranges = {"%web": ["web1", "web2"], "%a:b,/x.y/ & c": ["db1"], "%none": []}
        yield one


@pytest.fixture
def refused():
    return []


@pytest.fixture
def server(service, refused):
    return RangeServer(address=service.address, on_refusal=refused.append)


async def test_the_hosts_of_each_range_are_those_of_the_answers(server, service):
    assert await server.hosts(["%web", "%a:b,/x.y/ & c"]) == {
        "%web": frozenset(("web1", "web2")),
        "%a:b,/x.y/ & c": frozenset(("db1",)),
    }
    assert service.asked == ["%web", "%a:b,/x.y/ & c"]
    assert await server.hosts(["%none"]) == {"%none": frozenset()}


async def told(server, *ranges):
    with pytest.raises(ServiceError) as caught:
        await server.hosts(ranges)
    assert "nobody was asked to do anything" in caught.value.message
    assert caught.value.hint
    return caught.value.message


async def test_what_the_server_says_is_wrong_is_told(server):
    assert "cannot expand '%nope': NOCLUSTER: %nope" in await told(server, "%web", "%nope")


@pytest.mark.parametrize("body", [b"<html>\n<p>Sign in</p>\n", b"web1 web2\n", b"\xff\xfe\n", b"x" * 256])
async def test_an_answer_of_another_kind_is_an_error(server, service, body):
    service.body = body
    assert "as a range server does" in await told(server, "%web")


@pytest.mark.parametrize("status", [302, 404, 500])
async def test_another_status_is_an_error(server, service, status):
    service.status = status
    assert f"answers {status}" in await told(server, "%web")


async def test_a_server_that_is_not_there_is_an_error(refused):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
        assert f"{address} cannot be asked" in await told(RangeServer(address=address), "%web")
    assert "cannot be asked" in await told(RangeServer(address="no-such-host.invalid:80"), "%web")


async def test_without_a_server_the_option_is_named(refused):
    assert "none is configured" in await told(RangeServer(address=""), "%web")


async def test_a_server_that_answers_a_byte_at_a_time_is_not_waited_for(service, refused):
    service.pause = 0.2
    slow = RangeServer(address=service.address, limits=RangeLimits(seconds=0.5), on_refusal=refused.append)
    assert "no whole answer in 0.5 s" in await told(slow, "%web")
    assert refused == ["seconds"]


@pytest.mark.parametrize(
    ("limit", "ranges"),
    [
        ("answer_bytes", ["%web"]),
        ("hosts", ["%web"]),
        ("expression_characters", ["%web"]),
        ("ranges", ["%web", "%none"]),
    ],
)
async def test_what_is_over_a_limit_is_refused_and_counted(service, refused, limit, ranges):
    server = RangeServer(address=service.address, limits=RangeLimits(**{limit: 1}), on_refusal=refused.append)
    await told(server, *ranges)
    assert refused == [limit.replace("_", "-")]


async def test_so_many_targets_are_asked_for_at_a_time(service, refused):
    service.pause = 0.05
    server = RangeServer(address=service.address, limits=RangeLimits(at_once=1), on_refusal=refused.append)
    going = asyncio.create_task(server.hosts(["%web"]))
    while not service.asked:
        await asyncio.sleep(0.01)
    assert "wait for the range server already" in await told(server, "%web")
    assert (await going)["%web"] == {"web1", "web2"}
    assert refused == ["at-once"]


async def test_what_a_server_says_has_no_control_codes(server, service):
    assert "\x1b" not in await told(server, "\x1b[2J")
