"""Arguments of Salt's states that are not ours: those that mean nothing here, and those that are refused, with why.

Called by the registry, which gives them to the engine and to `saltern lint`; `docs/states.md` lists them. An argument
that stands nowhere is unknown, and the engine warns of it.
"""

from __future__ import annotations

from collections.abc import Mapping

_WINDOWS = ("win_owner", "win_perms", "win_deny_perms", "win_inheritance", "win_perms_reset")
_SHOWN_LIVE = ("output_loglevel", "use_vt")
_SIGNATURES = ("signed_by_any", "signed_by_all", "keyring", "gnupghome", "sig_backend")
_SIGNED = {
    "signature": "give the source a source_hash",
    "source_hash_sig": "keep the digest in the tree, which is signed by its commits",
}
_AS_IS = "a managed file holds what its source holds"
_GIT = {"password": "keep the credentials in the URL's store, or use identity"}
_PIP_OLD = (
    "use_wheel", "no_use_wheel", "log", "mirrors", "build", "download_cache", "allow_all_external", "allow_external",
    "allow_unverified", "process_dependency_links", "use_vt", "no_install", "no_download",
)  # fmt: skip
_VENV_OLD = (
    "distribute", "use_wheel", "no_use_wheel", "never_download", "pip_download_cache", "process_dependency_links",
    "use_vt", "pip_cache_dir",
)  # fmt: skip
_PIP_OPTIONS = "write it into the requirements file or pip's own configuration"

_VENV_OPTIONS = (
    "extra_search_dir", "prompt", "pre_releases", "pip_download", "pip_exists_action", "pip_ignore_installed",
    "no_binary",
)  # fmt: skip
_LOCAL = {"local": "useradd and groupadd know the local files alone"}
_CALL = "a Python function cannot stand in an SLS that is compiled elsewhere: use module.run"

IGNORED: Mapping[str, tuple[str, ...]] = {
    "archive.extracted": (
        "skip_files_list_verify", "list_options", "use_cmd_unzip", "keep_source",
        *_SIGNATURES,
    ),
    "cron.file": ("backup",),
    "cmd.run": ("password", *_SHOWN_LIVE),
    "cmd.script": ("password", *_SHOWN_LIVE),
    "file.cached": _SIGNATURES,
    "file.directory": _WINDOWS,
    "file.keyvalue": ("search_only",),
    "file.line": ("quiet",),
    "file.managed": ("keep_source", *_SIGNATURES, *_WINDOWS),
    "file.recurse": ("keep_source", "include_empty", "force_symlinks", *_WINDOWS),
    "file.replace": ("bufsize",),
    "file.symlink": ("atomic", "disallow_copy_and_unlink", *_WINDOWS),
    "git.cloned": ("output_encoding",),
    "git.config_set": ("output_encoding",),
    "git.config_unset": ("output_encoding",),
    "git.detached": ("output_encoding",),
    "git.latest": ("output_encoding",),
    "git.present": ("output_encoding",),
    "mount.fstab_present": ("fs_mount",),
    "mount.mounted": ("bind_mount_copy_active_opts",),
    "network.system": ("retain_settings",),
    "pip.installed": (*_PIP_OLD, "cache_dir"),
    "pip.removed": ("log", "use_vt", "timeout", "proxy"),
    "pkg.held": ("version",),
    "pkg.installed": ("skip_suggestions",),
    "pkg.latest": ("watch_flags",),
    "pkg.unheld": ("version",),
    "pkgrepo.managed": ("aptkey",),
    "ssh_auth.absent": ("fingerprint_hash_type",),
    "ssh_auth.manage": ("fingerprint_hash_type",),
    "ssh_auth.present": ("fingerprint_hash_type",),
    "user.present": ("loginclass", "win_homedrive", "win_profile", "win_logonscript", "win_description"),
    "virtualenv.manage": _VENV_OLD,
    "virtualenv.managed": _VENV_OLD,
}  # fmt: skip
"""Taken without a word: they are of Windows, of a cache or a tool that is not used here, or of what is always done."""

REFUSED: Mapping[str, Mapping[str, str]] = {
    "archive.extracted": {
        **_SIGNED,
        "enforce_ownership_on": "set owners with file.directory and recurse",
    },
    "environ.setenv": {"update_minion": "the agent's environment is its unit's: put the variable there"},
    "file.cached": _SIGNED,
    "file.managed": {
        **_SIGNED,
        "ignore_ordering": _AS_IS,
        "ignore_whitespace": _AS_IS,
        "ignore_comment_characters": _AS_IS,
        "selinux": "let a cmd.run that watches the file call restorecon",
    },
    "file.recurse": {
        "sym_mode": "symlinks have no mode on Linux",
        "merge": "manage the files one by one",
        "keep_symlinks": "links of the tree come as the files that they lead to: make them with file.symlink",
    },
    "file.symlink": {
        "inherit_user_and_group": "name user and group",
        "follow_symlinks": "name the place where the link is to be",
    },
    "git.cloned": _GIT,
    "git.config_set": _GIT,
    "git.config_unset": _GIT,
    "git.detached": {**_GIT, "hard_reset": "use git.latest with force_reset"},
    "git.latest": _GIT,
    "git.present": _GIT,
    "group.absent": _LOCAL,
    "group.present": _LOCAL,
    "mount.mounted": {"match_on": "a line of fstab is found by its mount point", "user": "mount as root"},
    "mount.unmounted": {"user": "mount as root"},
    "pip.installed": dict.fromkeys(
        (
            "repo", "target", "download", "source", "install_options", "global_options",
        ),
        _PIP_OPTIONS,
    ),
    "pip.removed": {"requirements": "name the packages"},
    "pkg.installed": {
        "pkg_verify": "manage the files with file.managed",
    },
    "pkgrepo.absent": {
        "ppa": "write the archive's line",
        "keyid": "take the file of the key away with file.absent",
        "keyid_ppa": "take the file of the key away with file.absent",
    },
    "pkgrepo.managed": {
        "copr": "write the baseurl and the gpgkey of the repository",
        "ppa": "write the archive's line and its key_url",
    },
    "ssh_auth.manage": {"source": "list the keys in ssh_keys"},
    "user.absent": _LOCAL,
    "user.present": _LOCAL,
    "virtualenv.manage": dict.fromkeys(_VENV_OPTIONS, _PIP_OPTIONS),
    "virtualenv.managed": dict.fromkeys(_VENV_OPTIONS, _PIP_OPTIONS),
}  # fmt: skip
"""Argument → what to do instead. A value that is false is taken: it asks for what is done anyway."""

UNSUPPORTED: Mapping[str, str] = {
    "cmd.call": _CALL,
    "cmd.wait_call": _CALL,
    "file.mod_run_check_cmd": "it is check_cmd of file.managed",
    "file.retention_schedule": "use file.tidied with age",
    "file.shortcut": "shortcuts are for Windows",
    "network.managed": "manage the files of the system's network manager with file.managed, and watch them",
    "network.routes": "manage the files of the system's network manager with file.managed, and watch them",
    "pip.uptodate": "use pip.installed with upgrade",
    "pkg.patch_downloaded": "advisories are a matter of zypper and yum: use pkg.downloaded",
    "pkg.patch_installed": "advisories are a matter of zypper and yum: use pkg.installed with versions",
    "saltutil.sync_clouds": "there are no such modules here",
    "saltutil.sync_engines": "there are no such modules here",
    "saltutil.sync_executors": "there are no such modules here",
    "saltutil.sync_log_handlers": "there are no such modules here",
    "saltutil.sync_matchers": "there are no such modules here",
    "saltutil.sync_output": "there are no such modules here",
    "saltutil.sync_proxymodules": "there are no such modules here",
    "saltutil.sync_resources": "there are no such modules here",
    "saltutil.sync_sdb": "there are no such modules here",
    "saltutil.sync_serializers": "there are no such modules here",
    "saltutil.sync_thorium": "there are no such modules here",
    "saltutil.sync_wrapper": "there are no such modules here",
    "system.computer_desc": "the states of system are for Windows",
    "system.computer_name": "the states of system are for Windows: use network.system",
    "system.hostname": "the states of system are for Windows: use network.system",
    "system.join_domain": "the states of system are for Windows",
    "system.reboot": "the states of system are for Windows: use cmd.run",
    "system.shutdown": "the states of system are for Windows: use cmd.run",
    "system.workgroup": "the states of system are for Windows",
}
"""State functions of Salt's modules that are here, which are not: what to do instead."""
