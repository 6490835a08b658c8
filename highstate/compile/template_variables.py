"""Arguments of a state that its file template sees by their own names, since the state has no other use for them.

Called by `content`. Salt hands them on from file.managed and file.recurse (`**kwargs`): `- port: 80` is `{{ port }}`,
and so is what stands below a `- context:` that is not indented.
"""

from __future__ import annotations

from collections.abc import Mapping

from highstate.types import Value

_OF_FILES = """
    allow_empty attrs backup check_cmd clean context contents contents_delimiter contents_grains contents_newline
    contents_pillar create defaults dir_mode encoding encoding_errors exclude_pat file_mode follow_symlinks
    force_symlinks gnupghome group ignore_comment_characters ignore_ordering ignore_whitespace include_empty
    include_pat keep_source keep_symlinks keyring makedirs maxdepth merge mode name new_file_diff owner replace
    selinux show_changes sig_backend signature signed_by_all signed_by_any skip_verify source source_hash
    source_hash_name source_hash_sig sym_mode template tmp_dir tmp_ext use_etag user verify_ssl win_deny_perms
    win_inheritance win_owner win_perms win_perms_reset
"""
_OF_ALL_STATES = """
    aggregate beacon cmd_opts_exclude creates failhard fire_event fun listen listen_in names no_log onchanges
    onchanges_any onchanges_in onfail onfail_all onfail_any onfail_in onfail_stop onlyif order parallel prereq
    prereq_in prerequired provider reload_grains reload_modules reload_pillar require require_any require_in retry
    runas runas_password saltenv sfun state success_retcodes success_stdout umask unless use use_in watch watch_any
    watch_in
"""
_OWN = frozenset((*_OF_FILES.split(), *_OF_ALL_STATES.split()))


def template_variables(arguments: Mapping[str, Value]) -> dict[str, Value]:
    """Those of the arguments that are no arguments of the state itself."""
    return {key: value for key, value in arguments.items() if key not in _OWN and not key.startswith("__")}
