"""A verdict for every option of Salt's master and minion: the table behind `saltern migrate check`.

Names that our settings read work, but for what `DIFFERENT` says of some; names that Salt has and we have not are those
of `minion.config.salt_options`, most of which cost nothing (`NEEDLESS`): what `ABSENT` names of them would be missed.
Source of the names: DEFAULT_MASTER_OPTS, DEFAULT_MINION_OPTS and VALID_OPTS of salt/config/__init__.py, of which
tests/golden/salt_options.json has all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.config.returners import is_returner_option
from controller.config.sections import GIT_PREFIXES, is_profile
from controller.config.settings import KNOWN as OF_CONTROLLER
from controller.migration.items import WORKS, Judgement
from controller.migration.salt_files import ConfigurationKind
from minion.config.rules import is_known as is_known_of_minion
from minion.config.salt_options import asks_for_nothing, said_of, salt_option

_CONFIGURATION = "docs/configuration.md"
_COMPATIBILITY = "docs/salt-compatibility.md"

PLACES: frozenset[str] = frozenset(("root_dir", "pki_dir", "cachedir", "sock_dir", "log_file"))
"""Options that say where Salt keeps its own files: Saltern keeps its own elsewhere, and they are left out."""
_OWN_FILES = Judgement(
    "different",
    "Saltern keeps keys, caches and sockets in places of its own, so that both can run on one machine: it is left out",
    "docs/configuration.md",
)

DIFFERENT: Mapping[ConfigurationKind, Mapping[str, tuple[str, str]]] = {
    "master": {
        "gitfs_remotes": (
            "every branch is a saltenv as in Salt; the top file of base alone counts (state_top_saltenv), and a branch "
            "that was force-pushed is not followed until allow_rewind says so",
            "docs/configuration.md",
        ),
        "reactor": ("reactor SLS are rendered in a sandbox; `caller` reactions are refused", "docs/reactors.md"),
        "engines": (
            "each is a process; Salt's own engines do not come with the controller: bring the module in "
            "extension_modules, module_dirs or engines_dirs",
            "docs/engines.md",
        ),
        "external_auth": ("methods are pam and oidc; a pattern has to match a whole name", "docs/access.md"),
        "publisher_acl": ("a pattern has to match a whole name: `test.ping` is not `test.ping_all`", "docs/access.md"),
        "client_acl": ("it is publisher_acl; a pattern has to match a whole name", "docs/access.md"),
        "peer": ("a pattern has to match a whole name", "docs/access.md"),
        "peer_run": ("a pattern has to match a whole name", "docs/access.md"),
        "auto_accept": ("it accepts new ids alone, and never another key for an id that is there", "docs/keys.md"),
        "token_expire": ("it is the life of tokens of `saltern login`", "docs/access.md"),
        "pillar_cache_ttl": (
            "it says when external pillars and secrets are looked at again; a pillar is compiled when what it read "
            "changes",
            "docs/configuration.md",
        ),
        "cluster_pool_port": ("it is where the controller that leads takes what comes to the others",
                              "docs/several-controllers.md"),
        "schedule": ("jobs of the controller run runners; their times are read more strictly", "docs/schedules.md"),
        "range_server": ("ranges are targets of commands; a top file with one is an error", "docs/commands.md"),
        "extension_modules": (
            "pillar, tops, runners, returners, engines and wheels of it are loaded; they run in sandboxed processes",
            "docs/configuration.md",
        ),
        "master_tops": ("ext_nodes, and modules in _tops; one that fails is an error of that minion", _CONFIGURATION),
        "decrypt_pillar": ("by GnuPG", "docs/configuration.md"),
    },
    "minion": {
        "master_type": ("`str` connects to all of a list at once; `func` is not built", "docs/configuration.md"),
        "schedule": ("times are read more strictly; a job that cannot be followed is refused", "docs/schedules.md"),
        "beacons": ("most of Salt's beacons are there, some are not", "docs/beacons.md"),
        "file_roots": ("it is read by `saltern call --local` alone", "docs/configuration.md"),
        "pillar_roots": ("it is read by `saltern call --local` alone", "docs/configuration.md"),
        "backup_mode": ("read and not used: copies of all files that states overwrite are kept (`saltern restore`)",
                        "docs/limitations.md"),
        "saltenv": ("it counts for `saltern call --local` alone", "docs/limitations.md"),
        "pillarenv": ("it counts for `saltern call --local` alone", "docs/limitations.md"),
        "environment": ("it counts for `saltern call --local` alone", "docs/limitations.md"),
        "state_events": ("false: the controller is not told how far runs are", "docs/configuration.md"),
    },
}  # fmt: skip
"""Options that are read, and do not do all that they do in Salt: name -> what differs, page."""

_ABSENT = """
    hgfs_base hgfs_branch_method hgfs_mountpoint hgfs_remotes hgfs_root hgfs_saltenv_blacklist hgfs_saltenv_whitelist
    svnfs_branches svnfs_mountpoint svnfs_remotes svnfs_root svnfs_saltenv_blacklist svnfs_saltenv_whitelist svnfs_tags
    svnfs_trunk minionfs_blacklist minionfs_env minionfs_mountpoint minionfs_whitelist
    cluster_peers ssh_list_nodegroups ssh_scan_ports ssh_merge_pillar
    enable_ssh_minions add_proxymodule_to_opts proxy_always_alive proxy_keep_alive proxy_keep_alive_interval
    proxy_merge_pillar_in_opts proxy_mines_pillar proxy_merge_grains_in_module proxy_deep_merge_pillar_in_opts
    proxy_merge_pillar_in_opts_strategy winrepo_remotes winrepo_remotes_ng winrepo_dir winrepo_dir_ng
    thorium_roots thorium_top thoriumenv discovery snapper_states_config order_masters django_auth_path
    django_auth_settings eauth_acl_module minion_restart_command
"""
ABSENT: frozenset[str] = frozenset(_ABSENT.split())
"""Options that are accepted and without which something is missing all the same."""

_WITHOUT_LOSS: Mapping[str, tuple[Any, ...]] = {
    "hgfs_base": ("default",),
    "hgfs_branch_method": ("branches",),
    "svnfs_trunk": ("trunk",),
    "svnfs_tags": ("tags",),
    "svnfs_branches": ("branches",),
    "minionfs_env": ("base",),
    "proxy_always_alive": (True,),
    "proxy_keep_alive": (True,),
    "proxy_keep_alive_interval": (1,),
    "proxy_merge_pillar_in_opts_strategy": ("smart",),
    "proxy_mines_pillar": (True,),
    "ssh_scan_ports": ("22", 22),
    "ssh_merge_pillar": (True,),
    "thorium_top": ("top.sls",),
    "winrepo_remotes": (["https://github.com/saltstack/salt-winrepo.git"],),
    "winrepo_remotes_ng": (["https://github.com/saltstack/salt-winrepo-ng.git"],),
    "winrepo_dir": ("/srv/salt/win/repo",),
    "winrepo_dir_ng": ("/srv/salt/win/repo-ng",),
    "thorium_roots": ({"base": ["/srv/thorium"]},),
    "snapper_states_config": ("root",),
}
"""Values of these that are Salt's defaults: nothing is missed then."""

INSTEAD: Mapping[str, tuple[str, str]] = {
    "rosters": ("name the file as `roster_file`", "docs/ssh.md"),
    "proxy": ("there is no salt-proxy", "docs/limitations.md"),
    "hgfs_remotes": ("trees come from git and folders: convert the repository to git", "docs/configuration.md"),
    "svnfs_remotes": ("trees come from git and folders: convert the repository to git", "docs/configuration.md"),
    "syndic_master": ("use `saltern relay`", "docs/relay.md"),
    "master_finger": ("write controller_key, which `saltern key controller` prints", "docs/keys.md"),
    "rest_cherrypy": ("its addresses are those at /salt of the option `api`", "docs/salt-api.md"),
    "rest_tornado": ("its addresses are those at /salt of the option `api`", "docs/salt-api.md"),
    "open_mode": ("use auto_accept, or enrolment tokens", "docs/keys.md"),
    "startup_states": ("a minion applies its desired state when it starts", "docs/policy.md"),
    "thorium_roots": ("write rules", "docs/reactors.md"),
    "thorium_top": ("write rules", "docs/reactors.md"),
    "pass_dir": ("use GnuPG, Vault or sdb", "docs/configuration.md"),
    "renderer": (
        "name the steps in the first line of the SLS that need others, as in `#!jinja|yaml|gpg`, or the encrypted keys "
        "of pillar in decrypt_pillar",
        "docs/configuration.md",
    ),
    "fips_mode": ("the wire is CurveZMQ", "docs/security.md"),
}
"""What to do instead, where more can be said than the reason."""


_OF_COMMANDS = frozenset(("output", "color", "strip_colors", "cli_summary", "show_jid", "verbose"))
"""Options of Salt's command line, which its example of a configuration has."""


def is_known(kind: ConfigurationKind, name: str) -> bool:
    """Whether the controller (of a master's option) or the minion reads an option of this name."""
    if kind == "minion":
        return is_known_of_minion(name)
    return name in OF_CONTROLLER or name.startswith(GIT_PREFIXES) or is_returner_option(name)


def judge_option(kind: ConfigurationKind, name: str, value: Any) -> Judgement:
    """What is said of an option by its name and value; whether the value is one that we take is not looked at.

    Args:
        kind: whose configuration it stands in.
        name: of the option.
        value: as written.
    """
    if name in PLACES:
        return _OWN_FILES
    if is_known(kind, name):
        how, docs = DIFFERENT[kind].get(name, ("", ""))
        return Judgement("different", how, docs) if how else WORKS
    if kind == "master" and is_profile(value):
        return WORKS
    option = salt_option(name)
    if option is None:
        return _unknown(kind, name)
    how, docs = INSTEAD.get(name, (option.reason, _CONFIGURATION))
    if option.lacking:
        return WORKS if asks_for_nothing(name, value) else Judgement("no counterpart", how, docs)
    if name in ABSENT and value and value not in _WITHOUT_LOSS.get(name, ()):
        return Judgement("no counterpart", how, docs)
    return Judgement("different", f"means nothing here: {option.reason}", _CONFIGURATION)


def _unknown(kind: ConfigurationKind, name: str) -> Judgement:
    if name in INSTEAD:
        return Judgement("no counterpart", *INSTEAD[name])
    if name in _OF_COMMANDS:
        return Judgement("different", "means nothing here: it is said where a command is given", "docs/commands.md")
    if kind == "minion":
        return Judgement("different", "no option of Salt's; `config.get` finds it here, too", _CONFIGURATION)
    near = said_of(name, OF_CONTROLLER)
    how = (
        near
        or "no option of Salt's core: the controller takes none that nobody knows; values for templates go into pillar"
    )
    return Judgement("no counterpart", how, _CONFIGURATION)
