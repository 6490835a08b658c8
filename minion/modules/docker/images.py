"""Functions of `docker` that are about images."""

from __future__ import annotations

import posixpath
import time
from typing import Annotated, Any

from minion.arguments.types import AnyValue, Ignored, Map, Seconds, Unsupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.docker.engines import engine_of
from minion.providers.docker import images as store
from minion.providers.docker.engine import CLIENT_TIMEOUT

_InsecureRegistry = Annotated[AnyValue, Ignored("the engine's own configuration says which registries are")]
_ApiResponse = Annotated[AnyValue, Unsupported("the result has what the engine said, in Salt's words")]


def images(context: Context, verbose: bool = False, all: bool = False) -> dict[str, Any]:  # noqa: A002  (Salt's name)
    """ID → what the engine says of each image that has a tag; `all`: of the others, too."""
    engine = engine_of(context)
    found: dict[str, Any] = {}
    for one in engine.call("images", all=all):
        if one.get("RepoTags") in store.UNTAGGED and not all:
            continue
        image = str(one.pop("Id"))
        found[image] = shown(one)
        if verbose:
            found[image]["Info"] = engine.call("inspect_image", image)
    return found


def list_tags(context: Context) -> list[str]:
    """All tags, sorted."""
    return store.all_tags(engine_of(context))


def inspect_image(context: Context, name: str) -> dict[str, Any]:
    """What the engine says of an image."""
    return dict(engine_of(context).call("inspect_image", name))


def resolve_image_id(context: Context, name: str) -> str | bool:
    """The ID of an image; false when it is not here."""
    return engine_of(context).image_id(name) or False


def resolve_tag(context: Context, name: str, all: bool = False) -> Any:  # noqa: A002  (Salt's name)
    """The first tag of an image, or with `all` each; its ID where it has none. False when it is not here."""
    found = store.tags_of(engine_of(context), name)
    if found is None:
        return False
    return found if all else found[0]


def history(context: Context, name: str, quiet: bool = False) -> list[Any]:
    """The steps of which an image was made, oldest first; `quiet`: their commands alone."""
    steps = []
    for one in reversed(engine_of(context).call("history", name)):
        text = str(one.pop("CreatedBy", "") or "").removeprefix("/bin/sh -c ").removeprefix("#(nop) ")
        steps.append({**shown(one), "Command": text.strip() or "FROM scratch"})
    return [step["Command"] for step in steps] if quiet else steps


def layers(context: Context, name: str) -> list[str]:
    """The IDs of an image's layers that are here, oldest first."""
    return [str(one["Id"]) for one in reversed(engine_of(context).call("history", name))]


def depends(context: Context, name: str) -> dict[str, list[str]]:
    """The containers and images that are made of an image."""
    engine = engine_of(context)
    found = engine.call("inspect_image", name)["Id"]
    containers = engine.call("containers", all=True)
    return {
        "Containers": [each.lstrip("/") for one in containers if one["ImageID"] == found for each in one["Names"]],
        "Images": [one["Id"][:12] for one in engine.call("images", all=True) if one.get("ParentId") == found],
    }


def dangling(context: Context, prune: bool = False, force: bool = False) -> Any:
    """Images without a tag of which no other is made; `prune`: they are removed."""
    engine = engine_of(context)
    found = [str(one["Id"]) for one in engine.call("images", filters={"dangling": True})]
    if not prune:
        return [each.removeprefix("sha256:")[:12] for each in found]
    return {each[:12]: {"Removed": store.remove(engine, [each], force=force)} for each in found}


def pull(
    context: Context, image: str, insecure_registry: _InsecureRegistry = None, api_response: _ApiResponse = None,
    client_timeout: Seconds = CLIENT_TIMEOUT,
) -> dict[str, Any]:  # fmt: skip
    """Pull an image; the layers that came."""
    return store.pull(engine_of(context, client_timeout), image)


def push(
    context: Context, image: str, insecure_registry: _InsecureRegistry = None, api_response: _ApiResponse = None,
    client_timeout: Seconds = CLIENT_TIMEOUT,
) -> dict[str, Any]:  # fmt: skip
    """Push an image to its registry."""
    started = time.monotonic()
    done: dict[str, Any] = {"retcode": 0}
    for event in engine_of(context, client_timeout).call("push", image, stream=True, decode=True):
        if said := store.stacked_error(event):
            raise CallFailed(f"Push of {image} failed: {said}")
        if event.get("status") in ("Pushed", "Layer already exists"):
            kind = "Pushed" if event["status"] == "Pushed" else "Already_Pushed"
            done.setdefault("Layers", {}).setdefault(kind, []).append(event.get("id"))
    return {**done, "Time_Elapsed": time.monotonic() - started}


def build(
    context: Context, path: str, repository: str | None = None, tag: str | None = None, cache: bool = True,
    rm: bool = True, api_response: _ApiResponse = None,
    fileobj: Annotated[AnyValue, Unsupported("give the folder as path")] = None, dockerfile: str | None = None,
    buildargs: Map | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Build an image of the Dockerfile in a folder; its ID and tags."""
    if bool(repository) != bool(tag):
        raise CallFailed("If tagging, both a repository and tag are required")
    image = f"{repository}:{tag}" if repository else None
    engine = engine_of(context)
    return store.build(engine, path, image, rm=rm, nocache=not cache, dockerfile=dockerfile, buildargs=buildargs)


def commit(
    context: Context, name: str, repository: str, tag: str = "latest", message: str | None = None,
    author: str | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Make an image of a container; its ID."""
    said = engine_of(context).call("commit", name, repository=repository, tag=tag, message=message, author=author)
    return {"Id": said["Id"]}


def load(context: Context, path: str, repository: str | None = None, tag: str | None = None) -> dict[str, Any]:
    """Load what `docker save` wrote, a file of the minion or of `salt://`, and tag it."""
    if bool(repository) != bool(tag):
        raise CallFailed("If tagging, both a repository and tag are required")
    engine = engine_of(context)
    before = set(store.all_images(engine))
    found = store.load(engine, _content(context, path))
    done: dict[str, Any] = {"Path": path, "Layers": [x for x in store.all_images(engine) if x not in before]}
    if not repository:
        return {**done, "Image": found}
    if len(found) != 1:
        return {**done, "Warning": f"{len(found)} images were loaded ({', '.join(found)}), no image was tagged"}
    engine.call("tag", found[0], repository=repository, tag=tag)
    return {**done, "Image": f"{repository}:{tag}"}


def import_(context: Context, source: str, repository: str, tag: str = "latest") -> dict[str, Any]:
    """Make an image of the archive of a file system, a file of the minion or of `salt://`."""
    found = store.import_image(engine_of(context), _content(context, source), repository, tag)
    return {"Id": found, "Image": f"{repository}:{tag}"}


def save(context: Context, name: str, path: str, overwrite: bool = False, makedirs: bool = False) -> dict[str, Any]:
    """Write an image to an archive of the minion."""
    data = b"".join(engine_of(context).call("get_image", name))
    return _written(context, path, data, overwrite=overwrite, makedirs=makedirs)


def export(context: Context, name: str, path: str, overwrite: bool = False, makedirs: bool = False) -> dict[str, Any]:
    """Write the file system of a container to an archive of the minion."""
    data = b"".join(engine_of(context).call("export", name))
    return _written(context, path, data, overwrite=overwrite, makedirs=makedirs)


def rmi(context: Context, *names: str, force: bool = False, prune: bool = True) -> dict[str, Any]:
    """Remove images, each with all its tags."""
    done = store.remove(engine_of(context), names, force=force, prune=prune)
    context.retcode = done["retcode"]
    return done


def tag(context: Context, name: str, repository: str, tag: str = "latest", force: bool = False) -> bool:
    """Give an image another name."""
    return bool(engine_of(context).call("tag", name, repository=repository, tag=tag, force=force))


def search(context: Context, name: str, official: bool = False, trusted: bool = False) -> dict[str, Any]:
    """Images of the Docker Hub that have this in their name."""
    keys = {"description": "Description", "is_official": "Official", "is_trusted": "Trusted", "star_count": "Stars"}
    found = {}
    for one in engine_of(context).call("search", name):
        said = {keys.get(key, key): value for key, value in one.items() if key != "name"}
        if (not official or said.get("Official")) and (not trusted or said.get("Trusted")):
            found[one["name"]] = said
    if not found:
        raise CallFailed(f"No images matched the search string '{name}'")
    return found


def shown(one: dict[str, Any]) -> dict[str, Any]:
    """What the engine says, with its times and sizes for people, too."""
    said = {("Time_Created_Epoch" if key == "Created" else key): value for key, value in one.items()}
    if isinstance(said.get("Time_Created_Epoch"), int):
        said["Time_Created_Local"] = time.strftime("%Y-%m-%d %H:%M:%S %Z", time.localtime(said["Time_Created_Epoch"]))
    for key in ("Size", "VirtualSize"):
        if isinstance(said.get(key), int):
            said[f"{key}_Human"] = human(said[key])
    return said


def human(size: float) -> str:
    """`1.9 MiB`."""
    if size < 1024:
        return f"{int(size)} bytes"
    units = ["KiB", "MiB", "GiB", "TiB", "PiB"]
    while (size := size / 1024.0) >= 1024 and len(units) > 1:
        units.pop(0)
    return f"{size:.1f} {units[0]}"


def _content(context: Context, path: str) -> bytes:
    machine = context.machine
    return machine.source(path.removeprefix("salt://")) if path.startswith("salt://") else machine.read(path)


def _written(context: Context, path: str, data: bytes, *, overwrite: bool, makedirs: bool) -> dict[str, Any]:
    machine = context.machine
    if not posixpath.isabs(path):
        raise CallFailed(f"Path '{path}' is not absolute")
    if machine.stat(path) is not None and not overwrite:
        raise CallFailed(f"{path} already exists")
    folder = posixpath.dirname(path)
    if machine.stat(folder) is None:
        if not makedirs:
            raise CallFailed(f"Parent dir {folder} of destination path does not exist. Use makedirs=True to create it.")
        machine.mkdir(folder, parents=True)
    machine.write(path, data, mode="0600")
    return {"Path": path, "Size": len(data), "Size_Human": human(len(data))}
