"""What user modules find when they import the common helpers of Salt, where Salt is not installed.

`install_face` is called by the loader before the first user module. It puts a finder at the end of `sys.meta_path`:
a Salt that is really there wins. What has no counterpart is an ImportError that says so.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType

_HERE = "minion.usermodules.salt_names"
_PACKAGES = ("salt", "salt.utils", "salt.ext", "salt.utils.decorators")
_MODULES = {
    "salt.exceptions": "exceptions",
    "salt.ext.six": "six",
    "salt.utils.args": "args",
    "salt.utils.data": "data",
    "salt.utils.decorators.path": "decorators_path",
    "salt.utils.dictdiffer": "dictdiffer",
    "salt.utils.dictupdate": "dictupdate",
    "salt.utils.files": "files",
    "salt.utils.hashutils": "hashutils",
    "salt.utils.json": "json_text",
    "salt.utils.odict": "odict",
    "salt.utils.path": "path",
    "salt.utils.platform": "platform",
    "salt.utils.stringutils": "stringutils",
    "salt.utils.versions": "versions",
    "salt.utils.yaml": "yaml_text",
}
NAMES = tuple(sorted((*_PACKAGES, *_MODULES)))
"""What can be imported."""


class _Face(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "salt":
            return None
        if fullname in _PACKAGES:
            return ModuleSpec(fullname, self, is_package=True)
        return ModuleSpec(fullname, self) if fullname in _MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        source = _MODULES.get(module.__name__)
        if source is not None:
            found = importlib.import_module(f"{_HERE}.{source}")
            module.__dict__.update({key: value for key, value in vars(found).items() if not key.startswith("__")})


def install_face() -> None:
    """Have imports of `salt.*` answered here; once."""
    if not any(isinstance(finder, _Face) for finder in sys.meta_path):
        sys.meta_path.append(_Face())
