"""The refs that a connected remote advertises, without an object for each: there may be hundreds of thousands.

Called by `gitfs.mirror.transfers`. Names are text in which bytes that are no UTF-8 stand as lone surrogates (PEP 383).
"""

from __future__ import annotations

import pygit2
from pygit2.errors import check_error
from pygit2.ffi import C, ffi


def advertised_refs(remote: pygit2.Remote, prefixes: tuple[str, ...]) -> dict[str, str]:
    """Full name -> id of the refs that begin with one of these; GitError when it is not connected."""
    wanted = tuple(prefix.encode() for prefix in prefixes)
    heads, size = ffi.new("git_remote_head ***"), ffi.new("size_t *")
    check_error(C.git_remote_ls(heads, size, remote._remote))
    found = {}
    for number in range(size[0]):
        head = heads[0][number]
        name = ffi.string(head.name)
        if name.startswith(wanted):
            found[name.decode(errors="surrogateescape")] = bytes(ffi.buffer(head.oid.id)).hex()
    return found
