"""Images of a Docker engine: pulled, built, loaded, tagged and removed.

Called by the states and the execution functions. Loading is done by the API, without the program `docker`.
Behaviour: doc/ref/modules/all/salt.modules.dockermod.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from minion.machine.failure import StateFailed
from minion.providers.docker.engine import DockerEngine, EngineRefused

UNTAGGED: tuple[Any, ...] = (None, [], ["<none>:<none>"])
_SHORT = 12
"""Digits of an ID that are shown."""


def all_images(engine: DockerEngine) -> list[str]:
    """IDs of all images, layers between them too."""
    return [str(one["Id"]) for one in engine.call("images", all=True)]


def all_tags(engine: DockerEngine) -> list[str]:
    """All tags, sorted."""
    found = {tag for one in engine.call("images", all=False) for tag in one.get("RepoTags") or ()}
    return sorted(found - {"<none>:<none>"})


def tags_of(engine: DockerEngine, name: str) -> list[str] | None:
    """The tags of an image, its ID where it has none; None when it is not here."""
    seen = engine.found("inspect_image", name)
    if seen is None:
        return None
    return list(seen.get("RepoTags") or ()) or [str(seen["Id"])]


def pull(engine: DockerEngine, image: str) -> dict[str, Any]:
    """Pull an image. Raises StateFailed with what the registry or the engine says."""
    started = time.monotonic()
    before = {each.removeprefix("sha256:")[:_SHORT] for each in all_images(engine)}
    done: dict[str, Any] = {}
    for event in engine.call("pull", image, stream=True, decode=True):
        _require_no_error(event, f"Pull of {image} failed")
        _note_layer(done, event, before)
    return {"Time_Elapsed": time.monotonic() - started, "retcode": 0, **done}


def build(engine: DockerEngine, path: str, image: str | None, **options: Any) -> dict[str, Any]:
    """Build an image from the folder of a Dockerfile. Raises StateFailed with the builder's words."""
    started = time.monotonic()
    lines: list[str] = []
    found = ""
    for event in engine.call("build", path=path, tag=image, decode=True, **options):
        _require_no_error(event, f"Build failed for {path}")
        if text := event.get("stream"):
            lines.append(str(text))
        if "aux" in event:
            found = str(event["aux"].get("ID", ""))
    if not found and not image:
        raise StateFailed(f"Build failed for {path}: {''.join(lines[-3:])}")
    seen = engine.call("inspect_image", image or found)
    short = str(seen["Id"]).removeprefix("sha256:")[:_SHORT]
    return {"Time_Elapsed": time.monotonic() - started, "Id": short, "Image": seen.get("RepoTags") or []}


def load(engine: DockerEngine, data: bytes) -> list[str]:
    """Load what `docker save` wrote; the IDs and tags that the engine names."""
    said: list[str] = []
    for event in engine.call("load_image", data):
        _require_no_error(event, "Failed to load image(s)")
        text = str(event.get("stream") or "").strip()
        if text.startswith("Loaded image"):
            said.append(text.partition(": ")[2])
    return said


def import_image(engine: DockerEngine, data: bytes, repository: str, tag: str) -> str:
    """Make an image of the archive of a file system; its ID."""
    said = engine.call("import_image_from_data", data, repository=repository, tag=tag)
    for line in str(said).splitlines():
        event = json.loads(line)
        _require_no_error(event, f"Import of {repository}:{tag} failed")
        if str(event.get("status", "")).startswith("sha256:"):
            return str(event["status"])
    raise StateFailed(f"Import of {repository}:{tag} failed: the engine names no image")


def remove(engine: DockerEngine, names: Iterable[str], *, force: bool, prune: bool = True) -> dict[str, Any]:
    """Remove images, each with all its tags; what went, and what the engine refused."""
    images, tags = all_images(engine), all_tags(engine)
    errors: list[str] = []
    for name in names:
        found = engine.image_id(name)
        if found is None:
            errors.append(f"Error 404: No such image: {name}")
            continue
        try:
            engine.call("remove_image", found, force=force, noprune=not prune)
        except EngineRefused as error:
            errors.append(error.explanation if error.status == 409 else str(error))
    left, left_tags = set(all_images(engine)), set(all_tags(engine))
    done: dict[str, Any] = {
        "Layers": [each for each in images if each not in left],
        "Tags": [each for each in tags if each not in left_tags],
        "retcode": 1 if errors else 0,
    }
    return {**done, "Errors": errors} if errors else done


def stacked_error(event: Mapping[str, Any]) -> str:
    """The error of an event; empty where it is none."""
    detail = event.get("errorDetail") or {}
    said = str(detail.get("message") or event.get("error") or "")
    return f"{detail['code']}: {said}" if said and detail.get("code") else said


def _require_no_error(event: Mapping[str, Any], failed: str) -> None:
    if said := stacked_error(event):
        raise StateFailed(f"{failed}: {said}")


def _note_layer(done: dict[str, Any], event: Mapping[str, Any], before: Sequence[str] | set[str]) -> None:
    status = str(event.get("status") or "")
    if status.startswith("Status: "):
        done["Status"] = status.removeprefix("Status: ")
    elif status in ("Already exists", "Pull complete", "Download complete"):
        new = status != "Already exists" and str(event.get("id")) not in before
        layers = done.setdefault("Layers", {}).setdefault("Pulled" if new else "Already_Pulled", [])
        if event.get("id") not in layers:
            layers.append(event.get("id"))
