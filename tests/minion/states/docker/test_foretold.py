"""Under test=True nothing is told to the engine, and states of one run that need each other say so."""

from typing import Any

from docker_engine import IMAGE, DockerServer


def test_nothing_is_made_or_taken_away(docker: Any, engine: DockerServer) -> None:
    engine.container("one")
    engine.client.create_volume("old")
    engine.client.create_network("oldnet")
    before = whole(engine)
    results = docker.together(
        [
            ("volume.present", "new", {}),
            ("volume.absent", "old", {}),
            ("network.present", "newnet", {"containers": ["one"]}),
            ("network.absent", "oldnet", {}),
            ("image.present", "none", {"tag": "1"}),
            ("container.stopped", "one", {}),
            ("container.absent", "one", {"force": True}),
        ],
        test=True,
    )
    assert [each.result for each in results] == [None] * len(results)
    assert whole(engine) == before


def test_a_second_state_of_the_same_thing_is_not_certain(docker: Any, engine: DockerServer) -> None:
    first, second = docker.together([("volume.present", "data", {}), ("volume.present", "data", {})], test=True)
    assert (first.result, second.result) == (None, None)
    first, second = docker.together([("volume.present", "data", {}), ("volume.present", "data", {})])
    assert (bool(first.changes), bool(second.changes)) == (True, False)


def whole(engine: DockerServer) -> Any:
    client = engine.client
    return (
        sorted((one["Id"], one["State"]) for one in client.containers(all=True)),
        sorted(one["Id"] for one in client.networks()),
        sorted(one["Name"] for one in client.volumes()["Volumes"] or ()),
        sorted(tag for one in client.images() for tag in one["RepoTags"] or ()),
        client.inspect_image(IMAGE)["Id"],
    )
