"""The file with a gateway's metrics."""

import asyncio
import stat

from prometheus_client.parser import text_string_to_metric_families

from gateway.controllers import ControllerPlaces
from gateway.metrics import GatewayMetrics, MinionSeen
from wire.address import Address

SEEN = [
    MinionSeen("accepted", online=True, listens=True),
    MinionSeen("accepted", online=False, listens=True),
    MinionSeen("rejected", online=False, listens=False),
    MinionSeen("", online=False, listens=False),
]


PLACES = ControllerPlaces({name: Address(host=name, controller_key="k") for name in ("controller1", "controller2")})


async def written(path, done):
    metrics = GatewayMetrics(path, lambda: SEEN, PLACES)
    metrics.answered("_pillar", 0.02)
    metrics.key_shown("denied")
    task = asyncio.create_task(metrics.write_now_and_then())
    async with asyncio.timeout(10):
        while not done():
            await asyncio.sleep(0.01)
    assert not task.done()
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_the_file_has_all_series_and_is_readable_by_all(tmp_path):
    path = tmp_path / "saltern-gateway.prom"
    PLACES.failed()
    PLACES.answered()
    asyncio.run(written(path, path.exists))
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    families = text_string_to_metric_families(path.read_text())
    samples = {(s.name, *s.labels.values()): s.value for family in families for s in family.samples}
    assert samples["saltern_gateway_minions", "accepted"] == 2
    assert samples["saltern_gateway_minions", "pending"] == 1
    assert samples["saltern_gateway_minions", "rejected"] == 1
    assert samples["saltern_gateway_connected_minions",] == 1
    assert samples["saltern_gateway_listening_minions",] == 2
    assert samples["saltern_gateway_controller_used", "controller1"] == 0
    assert samples["saltern_gateway_controller_used", "controller2"] == 1
    assert samples["saltern_gateway_request_seconds_count", "_pillar"] == 1
    assert samples["saltern_gateway_authentications_total", "denied"] == 1
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_a_folder_that_is_not_there_is_told_and_ends_nothing(tmp_path, caplog):
    path = tmp_path / "none/saltern-gateway.prom"
    asyncio.run(written(path, lambda: f"event=metrics_not_written path={path}" in caplog.text))
