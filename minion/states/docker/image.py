"""The state module `docker_image`.

Behaviour: doc/ref/states/all/salt.states.docker_image. Archives of images are of the tree or of the minion.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple

from minion.arguments.types import AnyValue, Ignored, Map, Seconds, Texts, ToCome, Unsupported, WatchedFun
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.docker import images as image_store
from minion.providers.docker.engine import CLIENT_TIMEOUT, DockerEngine

_BUILDS = "build it from a Dockerfile with `build`, or in a pipeline"


class ImageSource(NamedTuple):
    """Which image, and where it comes from."""

    tag: str | None = None
    build: str | None = None
    """A folder of the minion, with a Dockerfile."""
    load: str | None = None
    """An archive of `docker save`, of the minion or `salt://`."""
    dockerfile: str | None = None
    buildargs: Map | None = None
    client_timeout: Seconds = CLIENT_TIMEOUT
    saltenv: str = "base"
    insecure_registry: Annotated[AnyValue, Unsupported("insecure-registries of the engine's daemon.json")] = False
    sls: Annotated[AnyValue, Unsupported(_BUILDS)] = None
    base: Annotated[AnyValue, Ignored("it is for sls")] = None
    pillarenv: Annotated[AnyValue, Ignored("it is for sls")] = None
    pillar: Annotated[AnyValue, Ignored("it is for sls")] = None


def present(
    machine: Reader, name: str, *, force: bool = False, source: ImageSource, to_come: ToCome = frozenset()
) -> Plan:
    """The image is here; otherwise it is pulled, built from a folder, or loaded from an archive.

    `force` has it pulled, built or loaded each time.
    """
    tag, build, load = source.tag, source.build, source.load
    if build and load:
        raise StateFailed("Only one of 'build', 'load', or 'sls' is permitted.")
    if (build or load) and not tag:
        raise StateFailed("The 'tag' argument is required if any one of 'build', 'load', or 'sls' is used.")
    engine = DockerEngine(machine, to_come=to_come, timeout=source.client_timeout)
    image = f"{name}:{tag}" if tag else name
    found = engine.image_id(image)
    if found is not None and not force:
        return Plan(comment=f"Image {image} already present")
    action = "built" if build else "loaded" if load else "pulled"
    if load and not load.startswith("salt://") and machine.stat(load) is None:
        raise StateFailed(f"Encountered error loading {load} as {image}: Source file {load} does not exist")

    def make(machine: Machine) -> Mapping[str, Any]:
        if build:
            return image_store.build(
                engine, build, image, dockerfile=source.dockerfile, buildargs=source.buildargs, rm=True
            )
        if load:
            return _loaded(engine, machine, load, source.saltenv, name, str(tag))
        return image_store.pull(engine, image)

    failed = {"built": f"building {build} as", "loaded": f"loading {load} as", "pulled": "pulling"}[action]
    return Plan(
        changes=(Change(key=image, old=found, new=action, act=_making(make, f"{failed} {image}")),),
        pending=f"Image {image} will be {action}",
        done=f"Image '{image}' was {action}",
        converges=not force,
        each_time=force,
    )


def absent(
    machine: Reader,
    name: str,
    *,
    images: Texts | None = None,
    force: bool = False,
    to_come: ToCome = frozenset(),
) -> Plan:
    """The images are not here. One that a container has is not removed without `force`: it fails."""
    engine = DockerEngine(machine, to_come=to_come)
    targets = images if images is not None else (name,)
    there = [found[0] for each in targets if (found := image_store.tags_of(engine, each))]
    if not there:
        one = f"Image {name} is not present"
        return Plan(comment=one if len(targets) == 1 else "All specified images are not present")
    named = f"Image {there[0]}" if len(there) == 1 else "The following images"
    listed = "" if len(there) == 1 else f": {', '.join(there)}"

    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        done = image_store.remove(engine, there, force=force)
        if done.get("Errors"):
            raise StateFailed(
                f"None of the specified images were removed. The following errors were encountered: "
                f"{'; '.join(done['Errors'])}"
                if not done["Tags"]
                else f"The following image(s) failed to be removed: {'; '.join(done['Errors'])}"
            )

    verb = "was" if len(there) == 1 else "were"
    return Plan(
        changes=(Change(key="Tags", reported=there, act=act),),
        pending=f"{named} will be removed{listed}",
        done=f"{named} {verb} removed{listed}",
    )


def mod_watch(
    machine: Reader, name: str, *, sfun: WatchedFun, source: ImageSource, to_come: ToCome = frozenset()
) -> Plan:
    """What it does when something that it watches has changed: it is pulled, built or loaded again."""
    if sfun != "present":
        raise StateFailed(f"watch requisite is not implemented for {sfun}")
    return present(machine, name, force=True, source=source, to_come=to_come)


def _making(make: Callable[[Machine], Mapping[str, Any]], failed: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        try:
            make(machine)
        except StateFailed as error:
            raise StateFailed(f"Encountered error {failed}: {error}") from None

    return act


def _loaded(
    engine: DockerEngine, machine: Machine, path: str, saltenv: str, repository: str, tag: str
) -> dict[str, Any]:
    data = machine.source(path.removeprefix("salt://"), saltenv) if path.startswith("salt://") else machine.read(path)
    found = image_store.load(engine, data)
    if len(found) != 1:
        raise StateFailed(f"it has {len(found)} images with a name, and one is wanted")
    engine.call("tag", found[0], repository=repository, tag=tag)
    return {"Path": path, "Image": f"{repository}:{tag}"}


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
