"""Arguments of Salt's states that are not ours: those that mean nothing here, and those that are refused, with why.

Called by the registry, which gives them to the engine and to `saltern lint`; `docs/states.md` lists them. An argument
that stands nowhere is unknown, and the engine warns of it.
"""

from __future__ import annotations

from collections.abc import Mapping

_WINDOWS = ("win_owner", "win_perms", "win_deny_perms", "win_inheritance", "win_perms_reset")
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
_PIP_OPTIONS = "write it into the requirements file or pip's own configuration"

IGNORED: Mapping[str, tuple[str, ...]] = {
    "archive.extracted": (
        "skip_files_list_verify", "list_options", "clean_parent", "use_cmd_unzip", "enforce_ownership_on", "use_etag",
        *_SIGNATURES,
    ),
    "file.cached": ("use_etag", *_SIGNATURES),
    "file.directory": _WINDOWS,
    "file.managed": ("keep_source", "use_etag", "verify_ssl", *_SIGNATURES, *_WINDOWS),
    "file.recurse": ("keep_source", "keep_symlinks", "force_symlinks", *_WINDOWS),
    "file.symlink": ("atomic", "disallow_copy_and_unlink", *_WINDOWS),
    "git.cloned": ("output_encoding",),
    "git.config_set": ("output_encoding",),
    "git.config_unset": ("output_encoding",),
    "git.detached": ("output_encoding",),
    "git.latest": ("output_encoding", "refspec_branch", "refspec_tag"),
    "git.present": ("output_encoding",),
    "mount.mounted": (
        "extra_mount_invisible_options", "extra_mount_invisible_keys", "extra_mount_ignore_fs_keys",
        "extra_mount_translate_options", "hidden_opts", "bind_mount_copy_active_opts", "device_name_regex",
    ),
    "pip.installed": (*_PIP_OLD, "cache_dir"),
    "pip.removed": ("log", "use_vt", "timeout", "proxy"),
    "ssh_auth.absent": ("fingerprint_hash_type",),
    "ssh_auth.manage": ("fingerprint_hash_type",),
    "ssh_auth.present": ("fingerprint_hash_type",),
    "virtualenv.managed": (
        "distribute", "use_wheel", "no_use_wheel", "never_download", "pip_download_cache", "process_dependency_links",
        "use_vt", "pip_cache_dir",
    ),
}  # fmt: skip
"""Taken without a word: they are of Windows, of a cache or a tool that is not used here, or of what is always done."""

REFUSED: Mapping[str, Mapping[str, str]] = {
    "archive.extracted": {**_SIGNED, "extract_perms": "set modes with file.directory and recurse"},
    "file.cached": _SIGNED,
    "file.managed": {
        **_SIGNED,
        "ignore_ordering": _AS_IS,
        "ignore_whitespace": _AS_IS,
        "ignore_comment_characters": _AS_IS,
        "selinux": "let a cmd.run that watches the file call restorecon",
    },
    "file.recurse": {"sym_mode": "symlinks have no mode on Linux", "merge": "manage the files one by one"},
    "file.symlink": {
        "inherit_user_and_group": "name user and group",
        "follow_symlinks": "name the place where the link is to be",
    },
    "git.cloned": _GIT,
    "git.config_set": _GIT,
    "git.config_unset": {**_GIT, "value_regex": "name the values that are to stay with git.config_set"},
    "git.detached": {**_GIT, "hard_reset": "use git.latest with force_reset"},
    "git.latest": _GIT,
    "git.present": _GIT,
    "mount.mounted": {"match_on": "a line of fstab is found by its mount point", "user": "mount as root"},
    "pip.installed": dict.fromkeys(
        (
            "repo", "target", "download", "source", "exists_action", "install_options", "global_options", "cert",
            "no_binary",
        ),
        _PIP_OPTIONS,
    ),
    "pip.removed": {"requirements": "name the packages"},
    "ssh_auth.manage": {"source": "list the keys in ssh_keys"},
    "virtualenv.managed": dict.fromkeys(
        ("extra_search_dir", "prompt", "pre_releases", "pip_download", "pip_exists_action", "pip_ignore_installed",
         "no_binary"),
        _PIP_OPTIONS,
    ),
}  # fmt: skip
"""Argument → what to do instead. A value that is false is taken: it asks for what is done anyway."""

UNSUPPORTED: Mapping[str, str] = {
    "file.mod_run_check_cmd": "it is check_cmd of file.managed",
    "file.retention_schedule": "use file.tidied with age",
    "file.shortcut": "shortcuts are for Windows",
    "network.managed": "manage the files of the system's network manager with file.managed, and watch them",
    "network.routes": "manage the files of the system's network manager with file.managed, and watch them",
    "pip.uptodate": "use pip.installed with upgrade",
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
