"""What user modules find when they import the common helpers of Salt, where Salt is not installed.

`install_finder` is called by the loader before the first user module. It puts a finder at the end of `sys.meta_path`:
a Salt that is really there wins. What has no counterpart is an ImportError that says so.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from extmods.ports import NO_FUNCTIONS, ImportableFunctions
from extmods.salt_compat import built_in

_HERE = "extmods.salt_compat"
_PACKAGES = {
    "salt": "",
    "salt.defaults": "utils.small",
    "salt.ext": "",
    "salt.ext.six": "six",
    "salt.returners": "returners",
    "salt.utils": "",
    "salt.utils.decorators": "utils.decorators",
    "salt.utils.validate": "",
}
_MODULES = {
    "salt._compat": "utils.small",
    "salt.defaults.exitcodes": "utils.small",
    "salt.exceptions": "exceptions",
    "salt.payload": "utils.small",
    "salt.syspaths": "utils.small",
    "salt.utils.args": "utils.args",
    "salt.utils.atomicfile": "utils.small",
    "salt.utils.beacons": "utils.small",
    "salt.utils.compat": "utils.small",
    "salt.utils.data": "utils.data",
    "salt.utils.dateutils": "utils.small",
    "salt.utils.decorators.jinja": "utils.decorators",
    "salt.utils.decorators.path": "utils.decorators_path",
    "salt.utils.dictdiffer": "utils.dictdiffer",
    "salt.utils.dictupdate": "utils.dictupdate",
    "salt.utils.environment": "utils.small",
    "salt.utils.event": "utils.event",
    "salt.utils.files": "utils.files",
    "salt.utils.functools": "utils.functools",
    "salt.utils.hashutils": "utils.hashutils",
    "salt.utils.http": "utils.http",
    "salt.utils.immutabletypes": "utils.small",
    "salt.utils.itertools": "utils.small",
    "salt.utils.json": "utils.json",
    "salt.utils.locales": "utils.small",
    "salt.utils.network": "utils.network",
    "salt.utils.msgpack": "utils.small",
    "salt.utils.odict": "utils.odict",
    "salt.utils.path": "utils.path",
    "salt.utils.platform": "utils.platform",
    "salt.utils.stringio": "utils.small",
    "salt.utils.stringutils": "utils.stringutils",
    "salt.utils.systemd": "utils.small",
    "salt.utils.timeutil": "utils.small",
    "salt.utils.url": "utils.urls",
    "salt.utils.user": "utils.users",
    "salt.utils.validate.net": "utils.network",
    "salt.utils.versions": "utils.versions",
    "salt.utils.yaml": "utils.yaml",
    "salt.version": "utils.small",
}
_MOVES = {
    f"salt.ext.six.moves{ours and '.'}{ours}": theirs
    for ours, theirs in {
        "": f"{_HERE}.six_moves",
        "builtins": "builtins",
        "configparser": "configparser",
        "http_client": "http.client",
        "queue": "queue",
        "urllib": "urllib",
        "urllib.error": "urllib.error",
        "urllib.parse": "urllib.parse",
        "urllib.request": "urllib.request",
        "urllib_parse": "urllib.parse",
    }.items()
}
"""What stands for the module of that name of the standard library."""

_KEPT = ("__version__", "__saltstack_version__")
_INNER = """
    auth cache channel channel.client client client.ssh config crypt fileclient fileserver grains grains.extra key
    loader
    loader.context log master minion modules output pillar runner runners serializers state states template transport
    wheel utils.asynchronous utils.boto3mod utils.cache utils.cloud utils.configcomparer utils.configparser
    utils.context
    utils.crypt utils.dns utils.doc utils.dockermod utils.error utils.extmods utils.filebuffer utils.find utils.gitfs
    utils.jid utils.jinja utils.job utils.kickstart utils.mac_utils utils.master utils.minion utils.minions utils.mount
    utils.nacl utils.napalm utils.openstack utils.package utils.pkg utils.pkg.deb utils.pkg.rpm utils.powershell
    utils.preseed utils.process utils.profile utils.psutil_compat utils.reactor utils.roster_matcher utils.schema
    utils.sdb utils.secret utils.smb utils.ssdp utils.ssh utils.state utils.templates utils.thin utils.timed_subprocess
    utils.vault utils.verify utils.virt utils.vmware utils.vt utils.win_dacl utils.win_functions utils.win_pwsh
    utils.win_reg utils.win_runas utils.win_service utils.win_system utils.win_update utils.winapi utils.x509
    utils.xmlutil utils.yamldumper utils.yamlencoder utils.yamlloader utils.zeromq states.file
"""
_HOLLOW = frozenset(f"salt.{name}" for name in _INNER.split())
"""Salt's own workings: they can be imported, as they always can there; what is used of them says what is missing."""
NAMES = tuple(sorted((*_PACKAGES, *_MODULES)))
"""What has something in it."""


class _SaltFinder(MetaPathFinder, Loader):
    def __init__(self) -> None:
        self.functions: ImportableFunctions = NO_FUNCTIONS

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] != "salt":
            return None
        if fullname in _PACKAGES or fullname in _HOLLOW or fullname in _MOVES:
            return ModuleSpec(fullname, self, is_package=True)
        if self._built_in(fullname):
            return ModuleSpec(fullname, self)
        return ModuleSpec(fullname, self) if fullname in _MODULES else None

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        if name in _MOVES:
            theirs = vars(importlib.import_module(_MOVES[name]))
            module.__dict__.update({key: value for key, value in theirs.items() if not key.startswith("__")})
            return
        if execution_module := self._built_in(name):
            module.__dict__["__getattr__"] = built_in.functions_of(execution_module, self.functions)
            return
        source = _MODULES.get(name) or _PACKAGES.get(name)
        if source:
            found = importlib.import_module(f"{_HERE}.{source}")
            module.__dict__.update(
                {key: value for key, value in vars(found).items() if not key.startswith("__") or key in _KEPT}
            )
        elif name in _HOLLOW:
            module.__dict__["__getattr__"] = _missing_of(name)

    def _built_in(self, fullname: str) -> str:
        """The execution module that a name of `salt.modules.*` stands for; empty when there is none."""
        parent, _, file = fullname.rpartition(".")
        if parent != "salt.modules":
            return ""
        name = built_in.FILES.get(file, file)
        return name if self.functions.has_module(name) else ""


class _Missing(Exception):
    """Stands for a part of Salt: it can be imported, caught and inherited from. To use it fails, and says so."""

    what = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise AttributeError(f"{self.what} is a part of Salt's own workings that is not here")


def _missing_of(name: str) -> Callable[[str], Any]:
    def missing(attribute: str) -> Any:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return type(attribute, (_Missing,), {"what": f"{name}.{attribute}"})

    return missing


def install_finder(functions: ImportableFunctions = NO_FUNCTIONS) -> None:
    """Answer imports of `salt.*` in this process; `salt.modules.*` stands for `functions`, those given last."""
    finder = next((one for one in sys.meta_path if isinstance(one, _SaltFinder)), None)
    if finder is None:
        finder = _SaltFinder()
        sys.meta_path.append(finder)
    finder.functions = functions


def is_installed() -> bool:
    """Whether imports of `salt.*` are answered in this process."""
    return any(isinstance(one, _SaltFinder) for one in sys.meta_path)
