"""docker_image on a real engine, which has no registry: images are built and loaded."""

from pathlib import Path
from typing import Any

from docker_engine import IMAGE, DockerServer


def test_an_image_is_built_from_a_folder(docker: Any, engine: DockerServer, tmp_path: Path) -> None:
    (tmp_path / "Other").write_text(f'FROM {IMAGE}\nARG word=none\nENV WORD=$word\nCMD ["sleep", "9"]\n')
    built = docker(
        "image.present", "site", tag="7", build=str(tmp_path), dockerfile="Other", buildargs={"word": "hello"}
    )
    assert built.changes == {"site:7": {"old": None, "new": "built"}}
    assert built.comment == "Image 'site:7' was built"
    assert "WORD=hello" in engine.client.inspect_image("site:7")["Config"]["Env"]
    assert docker.once("image.present", "site", tag="7", build=str(tmp_path)).comment == "Image site:7 already present"


def test_a_build_that_fails_says_why(docker: Any, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(f'FROM {IMAGE}\nRUN ["/bin/false"]\n')
    failed = docker.once("image.present", "site", tag="7", build=str(tmp_path))
    assert failed.result is False
    assert "returned a non-zero code" in failed.comment
    assert "'tag' argument is required" in docker.once("image.present", "site", build=str(tmp_path)).comment


def test_an_image_is_loaded_and_removed(docker: Any, engine: DockerServer, tmp_path: Path) -> None:
    (tmp_path / "image.tar").write_bytes(b"".join(engine.client.get_image(IMAGE)))
    loaded = docker("image.present", "copy", tag="2", load=str(tmp_path / "image.tar"))
    assert loaded.changes == {"copy:2": {"old": None, "new": "loaded"}}
    engine.client.tag(IMAGE, "third", "3")
    assert docker("image.absent", "x", images=["third:3", "none:1"]).result is False  # the image has other names, too
    engine.client.remove_image("third:3")
    engine.client.remove_image("copy:2")
    assert docker("image.absent", "copy:2").comment == "Image copy:2 is not present"


def test_an_image_that_a_container_has_is_kept(docker: Any, engine: DockerServer, tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nENV A=1\n")
    docker("image.present", "site", tag="7", build=str(tmp_path))
    engine.container("one", image="site:7", start=False)
    refused = docker.once("image.absent", "site:7")
    assert refused.result is False
    assert "is being used by stopped container" in refused.comment or "must be forced" in refused.comment
    engine.client.remove_container("one")
    assert docker("image.absent", "site:7").changes == {"Tags": ["site:7"]}


def test_what_is_pulled_and_not_to_be_had_fails(docker: Any) -> None:
    foretold = docker.once("image.present", "localhost:1/none", tag="1", test=True)
    assert (foretold.result, foretold.comment) == (None, "Image localhost:1/none:1 will be pulled")
    failed = docker.once("image.present", "localhost:1/none", tag="1")
    assert failed.result is False
    assert failed.comment.startswith("Encountered error pulling localhost:1/none:1: ")
    assert docker.once("image.present", "x", sls="web").result is False
