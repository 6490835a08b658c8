"""What is said of functions, renderers and modules of a tree, by name. Called by `trees`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from controller.migration.items import WORKS, Judgement
from controller.offline.linting import our_states
from controller.runners.not_built import NOT_BUILT as NOT_BUILT_CONTROLLER
from extmods.fact_answers import may_ask, why_never
from extmods.salt_compat.finder import NAMES as HELPERS
from highstate.functions.catalog import BUILT_IN
from highstate.functions.live import LIVE_MODULES, OF_THE_FLEET
from highstate.lint.names import KnownStates
from highstate.render.steps import RENDERERS
from minion.engine import registry
from minion.engine.unsupported import UNSUPPORTED
from minion.execution.unsupported import NOT_BUILT

_STATES = "docs/states.md"
_MODULES = "docs/modules.md"
_LIVE = "docs/salt-compatibility.md#functions-of-the-live-machine"
_FILES = "docs/salt-compatibility.md#states-of-files-git-archives-and-the-system"

_DIFFERENT_STATES: Mapping[str, tuple[str, str]] = {
    "archive.extracted": ("tar and zip, unpacked here; names with .. and below symlinks are refused", _FILES),
    "cron.present": ("`random` is a time made of the identifier, the same each time", _FILES),
    "file.line": ("one that changes the file on each run fails: it does not converge", _FILES),
    "file.replace": ("one that changes the file on each run fails: it does not converge", _FILES),
    "git.latest": ("uncommitted work and own commits are refused unless force_reset is given", _FILES),
    "iptables.append": ("a rule that lacks in the saved file alone is a change, foretold by test=True", _FILES),
    "iptables.insert": ("a rule that lacks in the saved file alone is a change, foretold by test=True", _FILES),
    "mount.mounted": ("what is mounted with other options is mounted again only where that can be seen", _FILES),
    "mount.swap": ("changes are the path alone; a value that the system refuses is not written", _FILES),
    "network.system": ("a new name of the host alone restarts nothing; other lines of the files stay", _FILES),
    "ssh_known_hosts.present": ("a key or a fingerprint has to be given", _FILES),
}  # fmt: skip
"""States that are here and do not all that Salt's do."""
_DIFFERENT_ARGUMENTS: Mapping[str, tuple[str, str]] = {
    "file.append ignore_whitespace": ("with False the text is looked for as it stands", _FILES),
    "file.copy force": ("an identical file is not copied again", _FILES),
    "pkgrepo.managed key_url": ("the key goes into /etc/apt/keyrings, and signed-by into the line",
                                "docs/salt-compatibility.md#runs"),
    "pip.installed force_reinstall": ("it acts on each run, and is refused", _FILES),
    "virtualenv.managed clear": ("it acts on each run, and is refused", _FILES),
}  # fmt: skip
"""Arguments of these that do not all that they do in Salt: function and argument."""

_INSTEAD_OF_MODULES: tuple[tuple[str, str], ...] = (
    ("win_ chocolatey reg ntp_win lgpo dsc wua wusa msi powercfg win", "minions run on Linux"),
    ("macpackage macdefaults mac_ keychain assistive xattr", "minions run on Linux"),
    ("boto azurearm aws_ openstack heat neutron keystone glance libcloud", "use the tools of the cloud"),
    ("napalm netntp netacl netconfig junos nxos iosconfig panos bigip", "there are no proxy minions"),
    ("docker dockercompose", "docker_container, docker_image, docker_network and docker_volume"),
    ("certutil", "cmd.run with certutil and `unless`"),
    ("firewall ufw", "file.managed for the rules, with a service that watches them"),
    ("cryptdev btrfs zfs zpool", "cmd.run with `unless`"),
)  # fmt: skip
"""Beginnings of names of modules -> what to do instead."""
_BRING = (
    "copy the module of Salt or its extension into the tree (_states, and the _modules it calls), or use cmd.run with "
    "`unless`"
)


@dataclass(frozen=True, kw_only=True)
class OwnModules:
    """Modules that a tree brings, by kind: `states`, `modules`, …"""

    of: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def has(self, kind: str, name: str) -> bool:
        """Whether the tree brings the module of a function."""
        return name.partition(".")[0] in self.of.get(kind, ())


@dataclass(frozen=True, kw_only=True)
class FunctionJudge:
    """Says what becomes of functions, with the modules that a tree brings."""

    own: OwnModules = field(default_factory=OwnModules)

    @cached_property
    def _states(self) -> KnownStates:
        return our_states()

    @cached_property
    def _callable(self) -> Mapping[str, frozenset[str]]:
        return {kind: frozenset(names) for kind, names in self._states.functions.names.items()}

    def state(self, name: str) -> Judgement:
        """Of a state function."""
        known = self._states
        if self.own.has("states", name):
            return Judgement("works", "the tree brings the module")
        if name in known.ours or name in known.steps:
            how, docs = _DIFFERENT_STATES.get(name, ("", ""))
            return Judgement("different", how, docs) if how else WORKS
        if name in UNSUPPORTED:
            return Judgement("no counterpart", UNSUPPORTED[name], _STATES)
        if name in known.salts or name.partition(".")[0] in known.salt_modules - known.modules:
            return Judgement("no counterpart", _instead(name.partition(".")[0]), _STATES)
        how = known.near(*name.split(".", 1)) or "there is no such state in Salt, either"
        return Judgement("no counterpart", how, _STATES)

    def argument(self, function: str, argument: str) -> Judgement:
        """Of an argument of a state function that is here."""
        known = self._states
        if self.own.has("states", function) or function not in known.ours:
            return WORKS
        if how := _DIFFERENT_ARGUMENTS.get(f"{function} {argument}"):
            return Judgement("different", *how)
        module, _, name = function.partition(".")
        spec = registry.find(module, name, "").spec
        if argument in spec.refused:
            return Judgement("no counterpart", spec.refused[argument], _STATES)
        if argument in spec.ignored:
            return Judgement("different", f"does nothing here: {spec.ignored[argument]}", _STATES)
        salts = known.salts.get(function)
        if salts is not None and argument in salts.arguments and not known.ours[function].takes(argument):
            return Judgement("no counterpart", "this argument of Salt's is not built", _STATES)
        return WORKS

    def function(self, name: str, *, compiled: bool) -> Judgement:
        """Of an execution function.

        Args:
            name: with its module.
            compiled: whether it is called while an SLS or a pillar is compiled, and not on the minion.
        """
        own, here = self.own.has("modules", name), name in self._callable["execution"]
        if compiled and (name in BUILT_IN or name in OF_THE_FLEET):
            return WORKS
        if not own and not here:
            how = NOT_BUILT.get(name) or "copy the module into the tree's _modules, or use cmd.run"
            return Judgement("no counterpart", how, _MODULES)
        if compiled and (why := why_never(name)):
            return Judgement("no counterpart", why, _LIVE)
        if not compiled:
            return Judgement("works", "the tree brings the module" if own else "")
        if may_ask(name):
            return Judgement("different", "the controller asks the minion, and keeps the answer", _LIVE)
        return Judgement("different", "the controller asks the minion once `facts` of saltern.yaml allows it", _LIVE)

    def of_controller(self, kind: str, name: str) -> Judgement:
        """Of a runner or a function of wheel."""
        if (kind == "runner" and self.own.has("runners", name)) or name in self._callable[kind]:
            return WORKS
        not_built = NOT_BUILT_CONTROLLER["runner" if kind == "runner" else "wheel"]
        return Judgement("no counterpart", not_built.get(name, "there is none of this name"), "docs/runners.md")

    def renderer(self, name: str) -> Judgement:
        """Of one step of a pipeline, as the first line of an SLS has it."""
        if name in RENDERERS or self.own.has("renderers", name):
            return WORKS
        return Judgement("no counterpart", "write it for jinja|yaml, or for py", "docs/limitations.md#the-language")


def is_of_salt(name: str) -> bool:
    """Whether a name that a template writes like a function's may be one."""
    module = name.partition(".")[0]
    return module in LIVE_MODULES or name in BUILT_IN or any(each.startswith(f"{module}.") for each in BUILT_IN)


_ON_MINIONS = frozenset(("states", "modules", "grains", "utils", "beacons", "returners"))
_ON_CONTROLLER = frozenset(("renderers", "pillar", "tops", "runners", "engines"))
"""Kinds of modules of a tree that are loaded there."""
_OTHER_KINDS: Mapping[str, str] = {
    "proxy": "there are no proxy minions",
    "output": "outputters are built in",
    "outputters": "outputters are built in",
    "sdb": "profiles of sdb have the drivers yaml and env; use a runner or an external pillar",
    "wheel": "write a runner",
    "thorium": "write rules (docs/reactors.md)",
    "clouds": "drivers of clouds are those of Libcloud (docs/cloud.md)",
    "auth": "passwords are those of PAM",
    "fileserver": "trees come from git and folders",
    "roster": "rosters are flat, ansible, cache and sshconfig",
}
MODULE_KINDS = frozenset(
    (
        *_ON_MINIONS,
        *_ON_CONTROLLER,
        *_OTHER_KINDS,
        "log_handlers",
        "serializers",
        "executors",
        "matchers",
        "tokens",
        "queues",
        "cache",
    )
)
"""Folders of modules are called so, with an underscore before it."""


def judge_module(kind: str, imported: frozenset[str]) -> Judgement:
    """Of a module that a tree brings.

    Args:
        kind: the name of its folder without the underscore.
        imported: names of Salt's Python modules that it imports.
    """
    page = "docs/configuration.md"
    if kind not in _ON_MINIONS | _ON_CONTROLLER:
        return Judgement("no counterpart", _OTHER_KINDS.get(kind, "modules of this kind are not loaded"), page)
    missing = sorted(name for name in imported if not _has_helper(name))
    if missing:
        shown = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
        return Judgement("different", f"imports {shown}: what it uses of it may not be there", page)
    if kind in _ON_CONTROLLER:
        return Judgement("works", "runs in a sandboxed process of the controller")
    return WORKS


def _has_helper(name: str) -> bool:
    return name in HELPERS or name.startswith("salt.ext")


def _instead(module: str) -> str:
    for beginnings, instead in _INSTEAD_OF_MODULES:
        if module.startswith(tuple(beginnings.split())):
            return instead if instead.startswith(("minions", "there", "use")) else f"{instead}; or {_BRING}"
    return _BRING
