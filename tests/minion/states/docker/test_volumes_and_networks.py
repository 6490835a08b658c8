"""docker_volume and docker_network on a real engine."""

from typing import Any

import pytest
from docker_engine import DockerServer


def test_a_volume_is_made_and_taken_away(docker: Any, engine: DockerServer) -> None:
    made = docker("volume.present", "data", driver="local", driver_opts=[{"type": "tmpfs"}, {"device": "tmpfs"}])
    assert made.changes == {"created": {"Name": "data", "Driver": "local"}}
    assert engine.client.inspect_volume("data")["Options"] == {"type": "tmpfs", "device": "tmpfs"}
    assert docker.once("volume.present", "data").comment == "Volume 'data' already exists."
    assert docker("volume.absent", "data").changes == {"removed": True}
    assert engine.client.volumes()["Volumes"] == []
    assert docker("volume.absent", "data").comment == "Volume 'data' already absent"


def test_a_volume_of_another_driver_is_left(docker: Any, engine: DockerServer) -> None:
    engine.client.create_volume("data")
    refused = docker.once("volume.present", "data", driver="other")
    assert refused.result is False
    assert refused.comment == (
        "Driver for existing volume 'data' ('local') does not match specified driver ('other') and force is False"
    )
    foretold = docker.once("volume.present", "data", driver="other", force=True, test=True)
    assert (foretold.result, foretold.changes["removed"]) == (None, True)
    assert engine.client.inspect_volume("data")["Driver"] == "local"


def test_a_volume_that_a_container_has_is_left(docker: Any, engine: DockerServer) -> None:
    engine.client.create_volume("data")
    config = engine.client.create_host_config(binds=["data:/data"])
    engine.container("one", start=False, host_config=config)
    refused = docker.once("volume.absent", "data")
    assert refused.result is False
    assert "Failed to remove volume 'data': Error 409" in refused.comment


def test_a_network_is_made_compared_and_taken_away(docker: Any, engine: DockerServer) -> None:
    options = {
        "driver_opts": ["com.docker.network.bridge.enable_icc=false"], "labels": ["plain", {"owner": "ops"}],
        "subnet": "10.99.1.0/24", "gateway": "10.99.1.1", "iprange": "10.99.1.128/25", "internal": True,
    }  # fmt: skip
    assert docker("network.present", "net", **options).changes == {"created": True}
    seen = engine.client.inspect_network("net")
    assert seen["Labels"] == {"plain": "", "owner": "ops"}
    assert seen["IPAM"]["Config"] == [{"Subnet": "10.99.1.0/24", "IPRange": "10.99.1.128/25", "Gateway": "10.99.1.1"}]
    changed = docker("network.present", "net", **{**options, "labels": {"owner": "web"}, "internal": False})
    assert changed.changes["net"] == {
        "Internal": {"old": True, "new": False},
        "Labels": {"old": {"plain": "", "owner": "ops"}, "new": {"owner": "web"}},
    }
    assert changed.comment == "Network 'net' was replaced with updated config"
    assert docker("network.absent", "net").changes == {"removed": True}
    assert docker("network.absent", "net").comment == "Network 'net' already absent"


def test_a_network_without_a_pool_keeps_the_one_that_the_engine_chose(docker: Any, engine: DockerServer) -> None:
    assert docker("network.present", "net").changes == {"created": True}
    assert docker("network.present", "net", driver_opts={"com.docker.network.bridge.name": "brx"}).changes == {}


def test_containers_stay_connected_to_a_network_that_is_replaced(docker: Any, engine: DockerServer) -> None:
    docker("network.present", "net", subnet="10.99.2.0/24")
    one, other = engine.container("one"), engine.container("other")
    assert docker("network.present", "net", subnet="10.99.2.0/24", containers=["one", "none"]).changes == {
        "connected": ["one"]
    }
    engine.client.connect_container_to_network(other, "net", ipv4_address="10.99.2.77", aliases=["web"])
    changed = docker("network.present", "net", subnet="10.99.2.0/24", labels=["new"])
    assert (changed.changes["recreated"], sorted(changed.changes["reconnected"])) == (True, ["one", "other"])
    connected = engine.client.inspect_network("net")["Containers"]
    assert set(connected) == {one, other}
    assert connected[other]["IPv4Address"] == "10.99.2.77/24"
    assert "web" in engine.client.inspect_container(other)["NetworkSettings"]["Networks"]["net"]["Aliases"]
    gone = docker("network.absent", "net").changes
    assert (sorted(gone["disconnected"]), gone["removed"]) == (["one", "other"], True)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"subnet": "10.0.0.0/40"}, "'10.0.0.0/40' is not a valid subnet"),
        ({"gateway": "10.0.0.1"}, "A subnet is required in each IPAM pool"),
        ({"ipam_pools": [{"subnet": "fe3f::/64"}]}, "An IPv4 pool is required"),
        ({"ipam": {}, "subnet": "10.0.0.0/8"}, "Cannot mix the 'ipam' argument"),
        ({"options": {"a": "b"}, "driver_opts": {"a": "b"}}, "'driver_opts' is an alias for 'options'"),
    ],
)
def test_what_no_network_can_have_is_refused(docker: Any, given: dict[str, Any], said: str) -> None:
    refused = docker("network.present", "net", **given)
    assert refused.result is False
    assert said in refused.comment
