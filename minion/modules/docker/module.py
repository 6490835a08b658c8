"""The execution module `docker`: what a Docker engine holds, and changes of it by the code of the states.

Where the engine refuses something, the function fails with its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.docker import engines, images

FUNCTIONS: Mapping[str, Any] = {
    "build": images.build,
    "commit": images.commit,
    "connect_container_to_network": engines.connect_container_to_network,
    "connected": engines.connected,
    "create_network": engines.create_network,
    "create_volume": engines.create_volume,
    "dangling": images.dangling,
    "depends": images.depends,
    "disconnect_all_containers_from_network": engines.disconnect_all_containers_from_network,
    "disconnect_container_from_network": engines.disconnect_container_from_network,
    "export": images.export,
    "history": images.history,
    "images": images.images,
    "import": images.import_,
    "info": engines.info,
    "inspect": engines.inspect,
    "inspect_image": images.inspect_image,
    "inspect_network": engines.inspect_network,
    "inspect_volume": engines.inspect_volume,
    "layers": images.layers,
    "list_tags": images.list_tags,
    "load": images.load,
    "networks": engines.networks,
    "prune": engines.prune,
    "pull": images.pull,
    "push": images.push,
    "remove_network": engines.remove_network,
    "remove_volume": engines.remove_volume,
    "resolve_image_id": images.resolve_image_id,
    "resolve_tag": images.resolve_tag,
    "rmi": images.rmi,
    "save": images.save,
    "search": images.search,
    "tag": images.tag,
    "version": engines.version,
    "volumes": engines.volumes,
}
