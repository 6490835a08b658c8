"""Cases of the states of access control lists."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import Case


def _case(fun: str, before: str = "true", **arguments: Any) -> Case:
    return Case(
        fun=f"acl.{fun}",
        name="{top}/folder",
        arguments=arguments,
        files={"folder/f": "x\n"},
        before=(f"cd {{top}} && {before}",),
        needs=("acl",),
    )


_JOE, _THEM = {"acl_type": "user", "acl_name": "daemon"}, {"acl_type": "group", "acl_names": ["daemon", "bin"]}

CASES: tuple[Case, ...] = (
    _case("present", **_JOE, perms="rwx"),
    _case("present", "setfacl -m u:daemon:r folder", **_JOE, perms="rx", recurse=True),
    _case("present", "setfacl -m u:bin:r folder", acl_type="default:group", acl_name="daemon", perms="rwx", force=True),
    _case("absent", "setfacl -R -m u:daemon:r,u:bin:w folder", **_JOE, recurse=True),
    _case("list_present", "setfacl -m g:bin:r,g:daemon:r folder", **_THEM, perms="rw"),
    _case("list_absent", "setfacl -m g:bin:r,g:daemon:rwx folder", **_THEM),
)
WITHOUT: Mapping[str, str] = {}
