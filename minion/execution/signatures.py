"""Arguments as Salt's functions take them, where ours have them in another order or under another name, and those that
are refused.

Called by the loader before a built-in function is. tests/minion/modules/test_arguments.py holds it against what was
recorded from Salt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from minion.execution.errors import BadArguments

_ORDERS = """
archive.cmd_zip: zip_file sources template cwd runas
archive.gunzip: gzipfile template runas options
archive.gzip: sourcefile template runas options
archive.unzip: zip_file dest excludes options template runas trim_output password extract_perms
cmd.run_bg: cmd cwd runas group shell python_shell env clean_env template umask timeout output_encoding
    output_loglevel log_callback reset_system_locale ignore_retcode saltenv password prepend_path success_retcodes
    success_stdout success_stderr
cmd.script: source args cwd stdin runas group shell python_shell env template umask output_encoding
    output_loglevel log_callback hide_output timeout reset_system_locale saltenv use_vt bg password success_retcodes
    success_stdout success_stderr
dnsutil.SPF: domain record nameserver
file.apply_template_on_contents: contents template context defaults saltenv
file.check_managed_changes: name source source_hash source_hash_name user group mode attrs template context
    defaults saltenv contents skip_verify keep_mode seuser serole setype serange verify_ssl follow_symlinks
    ignore_ordering ignore_whitespace ignore_comment_characters new_file_diff
file.check_perms: name ret user group mode attrs follow_symlinks seuser serole setype serange
file.is_blkdev: name
file.is_chrdev: name
file.is_fifo: name
git.archive: cwd output rev prefix git_opts user password ignore_retcode output_encoding
git.clone: cwd url name opts git_opts user password identity https_user https_pass ignore_retcode saltenv
    output_encoding
git.commit: cwd message opts git_opts user password filename ignore_retcode output_encoding
git.diff: cwd item1 item2 opts git_opts user password no_index cached paths output_encoding
git.fetch: cwd remote force refspecs opts git_opts user password identity ignore_retcode saltenv output_encoding
git.init: cwd bare template separate_git_dir shared opts git_opts user password ignore_retcode output_encoding
git.list_worktrees: cwd stale user password output_encoding
git.ls_remote: cwd remote ref opts git_opts user password identity https_user https_pass ignore_retcode
    output_encoding saltenv
git.merge_base: cwd refs octopus is_ancestor independent fork_point opts git_opts user password ignore_retcode
    output_encoding
git.pull: cwd opts git_opts user password identity ignore_retcode saltenv output_encoding
git.push: cwd remote ref opts git_opts user password identity ignore_retcode saltenv output_encoding
git.remote_get: cwd remote user password redact_auth ignore_retcode output_encoding
git.remote_refs: url heads tags user password identity https_user https_pass ignore_retcode output_encoding
    saltenv
git.remote_set: cwd url remote user password https_user https_pass push_url push_https_user push_https_pass
    ignore_retcode output_encoding
git.remotes: cwd user password redact_auth ignore_retcode output_encoding
git.reset: cwd opts git_opts user password identity ignore_retcode output_encoding
git.rev_parse: cwd rev opts git_opts user password ignore_retcode output_encoding
git.symbolic_ref: cwd ref value opts git_opts user password ignore_retcode output_encoding
git.tag: cwd name ref message opts git_opts user password ignore_retcode output_encoding
git.worktree_add: cwd worktree_path ref reset_branch force detach opts git_opts user password ignore_retcode
    output_encoding
group.add: name gid system root non_unique local
network.ip_in_subnet: ip_addr cidr
network.ip_networks: interface include_loopback verbose
pip.list_all_versions: pkg bin_env include_alpha include_beta include_rc user cwd index_url extra_index_url
pip.uninstall: pkgs requirements bin_env log proxy timeout user cwd saltenv use_vt extra_args
pkg.install: name refresh fromrepo skip_verify debconf pkgs sources reinstall downloadonly ignore_epoch
    normalize
saltutil.sync_sdb: saltenv extmod_whitelist extmod_blacklist
ssh.recv_known_host_entries: hostname enc port hash_known_hosts timeout fingerprint_hash_type
test.outputter: data
user.add: name uid gid groups home shell unique system fullname roomnumber workphone homephone other createhome
    loginclass nologinit root usergroup local
virtualenv.create: path venv_bin system_site_packages distribute clear python extra_search_dir never_download
    prompt pip symlinks upgrade user use_vt saltenv
"""

RENAMED: Mapping[str, Mapping[str, str]] = {
    "archive.cmd_zip": {"zip_file": "target"},
    "archive.gunzip": {"gzipfile": "target"},
    "archive.gzip": {"sourcefile": "target"},
    "file.apply_template_on_contents": {"context": "context_"},
    "file.check_managed": {"context": "context_"},
    "file.check_managed_changes": {"context": "context_"},
    "file.is_blkdev": {"name": "path"},
    "file.is_chrdev": {"name": "path"},
    "file.is_fifo": {"name": "path"},
    "network.ip_in_subnet": {"ip_addr": "addr"},
    "test.outputter": {"data": "text"},
}
"""Function -> Salt's name -> ours."""

_REFUSED = """
archive.gunzip archive.gzip archive.cmd_zip archive.unzip archive.cmd_unzip archive.tar archive.zip: template
archive.unzip: extract_perms options runas trim_output
archive.cmd_unzip: trim_output
archive.is_encrypted: source_hash use_etag clean saltenv
archive.list: clean options
archive.zip: zip64
config.merge: omit_opts omit_master omit_pillar
cp.cache_dir: include_empty include_pat exclude_pat
cp.cache_file: verify_ssl use_etag
cp.get_dir: template
cp.list_master_symlinks: prefix saltenv
dnsutil.NS dnsutil.SPF: resolve
dnsutil.SPF: record
dnsutil.serial: update zone
event.send: with_env with_env_opts
file.check_managed file.check_managed_changes: keep_mode follow_symlinks ignore_ordering ignore_whitespace
    ignore_comment_characters new_file_diff seuser serole setype serange verify_ssl attrs
file.check_perms: attrs seuser serole setype serange
file.get_diff: template
file.replace: preserve_inode
file.rmdir: verbose
file.sed: escape_all
file.symlink: follow_symlinks
file.manage_file: attrs backup keep_mode encoding encoding_errors use_etag signature source_hash_sig signed_by_any
    signed_by_all keyring gnupghome ignore_ordering ignore_whitespace ignore_comment_characters new_file_diff
    sig_backend seuser serole setype serange verify_ssl
git.archive: git_opts
git.list_worktrees: stale
group.adduser group.chgid group.delete group.deluser group.getent group.info group.members: root
ini.get_ini ini.get_option ini.get_section ini.remove_option ini.remove_section ini.set_option: encoding
kmod.remove: comment
mount.remount: user
mount.umount: device user util
git.merge_base: octopus is_ancestor independent fork_point opts git_opts
git.remote_refs: https_user https_pass
git.remote_set: https_user https_pass push_https_user push_https_pass
pip.list_all_versions: include_alpha include_beta include_rc index_url extra_index_url
pip.list_freeze_parse: env_vars
pip.uninstall: log proxy timeout extra_args
pkg.hold pkg.unhold: sources
pkg.install: debconf normalize ignore_epoch
pkg.list_pkgs: purge_desired
pkg.refresh_db: cache_valid_time
pkg.version: versions_as_list
pkg.mod_repo: aptkey
service.disable: no_block root
service.enable: no_block unmask unmask_runtime root
service.disabled service.enabled service.get_all service.get_disabled service.get_enabled service.get_static: root
service.mask service.unmask: root
service.force_reload service.reload service.restart service.start: unmask unmask_runtime
service.force_reload service.reload service.restart service.start service.stop: no_block
service.execs: root
service.status: sig
ssh.check_key_file ssh.check_known_host ssh.get_known_host_entries ssh.rm_auth_key_from_file: fingerprint_hash_type
ssh.set_auth_key_from_file ssh.check_key ssh.rm_auth_key ssh.set_auth_key: fingerprint_hash_type
ssh.check_key ssh.set_auth_key: cache_keys
ssh.recv_known_host_entries ssh.set_known_host: hash_known_hosts fingerprint_hash_type
ssh.set_known_host: timeout
user.chgroups user.chhome user.chloginclass user.delete user.list_users user.rename: root
virtualenv.create: distribute extra_search_dir never_download prompt pip symlinks upgrade
"""


def _table(text: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in text.strip().replace("\n    ", " ").splitlines():
        functions, _, names = line.partition(": ")
        for fun in functions.split():
            found[fun] = found.get(fun, ()) + tuple(names.split())
    return found


ORDERS: Mapping[str, Sequence[str]] = _table(_ORDERS)
"""Function -> Salt's names in the order in which they may be given without."""

REFUSED: Mapping[str, Sequence[str]] = _table(_REFUSED)
"""Function -> what Salt's takes, and ours would pass over; what it is by itself may be given all the same."""


def as_ours(
    fun: str, function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], dict[str, Any]]:
    """The arguments of a call in Salt's order and names, as our function takes them. BadArguments for refused ones."""
    given = dict(kwargs)
    never = REFUSED.get(fun, ())
    order = ORDERS.get(fun) or (_order_of(function) if never else ())
    if args and order:
        named = dict(zip(order, args, strict=False))
        twice = sorted({*named} & {*given})
        if twice or len(args) > len(order):
            raise BadArguments(f"Passed invalid arguments to {fun}: {' and '.join(twice) or 'too many'} given twice")
        args, given = (), named | given
    refused = [name for name in never if name in given and not _says_nothing(function, name, given[name])]
    if refused:
        raise BadArguments(f"{fun} does not take {' and '.join(refused)} here: leave it out, or use cmd.run")
    names = RENAMED.get(fun, {})
    left = {names.get(name, name): value for name, value in given.items()}
    return args, _without_empty(function, left) if order or never else left


def _order_of(function: Callable[..., Any]) -> Sequence[str]:
    """Names of what may be given without one; none where there is no end to them."""
    import inspect

    parameters = list(inspect.signature(function).parameters.values())[1:]
    if any(one.kind is one.VAR_POSITIONAL for one in parameters):
        return ()
    return [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]


def _says_nothing(function: Callable[..., Any], name: str, value: Any) -> bool:
    """Whether an argument is what would be taken without it."""
    import inspect

    known = inspect.signature(function).parameters.get(name)
    return not value if known is None or known.default is known.empty else value == known.default


def _without_empty(function: Callable[..., Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """Without what says nothing and is not known: the gaps that come of giving a later argument by its position."""
    import inspect

    known = inspect.signature(function).parameters
    return {name: value for name, value in given.items() if name in known or value not in (None, False, "", 0)}
