"""Documents of YAML by Salt's rules (`salt_yaml`), entry by entry where that is quicker (`blocks`).

Called by the renderers, and by readers of YAML that people wrote for Salt. It knows no Jinja.
"""

from __future__ import annotations

from highstate.memo.sources import fresh
from highstate.render.yaml.blocks import Blocks, read_blocks
from highstate.salt_yaml import SaltLoader, load_whole
from highstate.types import Value
from options.yaml_bounds import refuse_depth


def load_yaml(text: str, kind: type[SaltLoader] = SaltLoader) -> Value:
    """The one document in `text` as data; yaml.YAMLError when it is wrong."""
    refuse_depth(text)
    blocks = read_blocks(text) if kind is SaltLoader else None
    return load_whole(text, kind) if blocks is None else fresh(blocks.data())


def load_shared(text: str) -> tuple[Value, Blocks | None]:
    """`load_yaml` for those who change nothing of what they get: equal entries of several texts may be one object.

    With the entries, where the text could be cut.
    """
    refuse_depth(text)
    blocks = read_blocks(text)
    return (load_whole(text, SaltLoader), None) if blocks is None else (blocks.data(), blocks)
