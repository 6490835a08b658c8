"""`salt.utils.yaml`: YAML, read safely."""

from __future__ import annotations

from typing import Any

import yaml

YAMLError = yaml.YAMLError


def safe_load(stream: Any, Loader: Any = None) -> Any:  # noqa: N803  (the name that user modules know)
    """Data of a text or file."""
    return yaml.safe_load(stream)


def safe_dump(data: Any, stream: Any = None, **options: Any) -> Any:
    """Text of data, in blocks unless said otherwise."""
    return yaml.safe_dump(data, stream, **{"default_flow_style": False, **options})


load, dump = safe_load, safe_dump
