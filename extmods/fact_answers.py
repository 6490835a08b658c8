"""Answers to fact queries of templates: by functions that change nothing, with a limit on the size of an answer.

`may_ask` is the rule on both sides: the controller asks for no other function, and the minion answers no other. A child
of the agent gives the answers (`minion.agent.fact_queries`).
"""

from __future__ import annotations

import fnmatch
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from wire.messages import FactAnswer, FactQuery

MOST_BYTES = 64 * 1024
"""Of one answer, packed."""

MOST_DEPTH = 50
"""Of one answer."""

MOST_QUESTIONS = 500
"""Of one request."""

_NAMES = """
    cmd.which cmd.which_bin cmd.has_exec
    disk.usage disk.inodeusage disk.blkid disk.percent
    file.access file.check_hash file.directory_exists file.file_exists file.get_gid file.get_group file.get_hash
    file.get_mode file.get_sum file.get_uid file.get_user file.gid_to_group file.group_to_gid file.is_blkdev
    file.is_chrdev file.is_fifo file.is_link file.lstat file.path_exists_glob file.readlink file.stats
    file.uid_to_user file.user_to_uid
    group.getent group.info
    jinja_filter.dns_check jinja_filter.is_bin_file jinja_filter.is_empty jinja_filter.is_text_file
    jinja_filter.list_files
    kmod.available kmod.is_loaded kmod.lsmod
    locale.avail locale.get_locale locale.list_avail
    mount.active mount.is_mounted
    network.active_tcp network.arp network.default_route network.dns_check network.get_bufsize network.get_fqdn
    network.get_hostname network.get_route network.hw_addr network.hwaddr network.interface network.interface_ip
    network.interfaces network.ip_addrs network.ip_addrs6 network.ipaddrs network.ipaddrs6 network.is_loopback
    network.is_private network.netstat network.reverse_ip network.routes network.subnets network.subnets6
    pkg.info_installed pkg.latest_version pkg.list_pkgs pkg.version pkg.version_cmp
    ps.cpu_percent ps.num_cpus ps.total_physical_memory ps.virtual_memory
    random.get_str random.hash random.rand_int random.rand_str random.sample random.shadow_hash random.shuffle
    saltutil.is_running
    service.available service.disabled service.enabled service.get_all service.missing service.status
    shadow.info
    status.cpuinfo status.meminfo status.nproc status.uptime status.version
    sys.list_functions sys.list_modules
    sysctl.get test.version test.versions_information timezone.get_offset timezone.get_zone timezone.get_zonecode
    user.getent user.info user.list_groups user.list_users user.primary_group
"""

LOOKERS = frozenset(_NAMES.split())
"""Functions that look at the machine and change nothing."""


_COPIES = (
    "cache_dir cache_file cache_files cache_local_file cache_master get_dir get_file get_template get_url is_cached"
)
_OF_A_RUN = frozenset(f"cp.{name}" for name in (*_COPIES.split(), "push", "stat_file"))


def why_never(fun: str) -> str:
    """Why no minion can answer a function for a compile, whatever policy says; empty for one that can be allowed."""
    if fun not in _OF_A_RUN:
        return ""
    return (
        "cannot be asked: the minion gets the files of a revision when that is compiled "
        "(name the file as salt://…, or read it with cp.get_file_str or an import)"
    )


def may_ask(fun: str, allowed: Iterable[str] = ()) -> bool:
    """Whether templates may ask for a function: one that only looks, or one of the globs that policy allows."""
    return fun in LOOKERS or any(fnmatch.fnmatchcase(fun, pattern) for pattern in allowed)


class FunctionCaller(Protocol):
    """The execution functions of a machine (`minion.execution.Modules`)."""

    def call(self, fun: str, args: Sequence[Any] = (), kwargs: Mapping[str, Any] | None = None) -> Any:
        """The function's value; what it raises is raised."""


def answer(question: FactQuery, allowed: Sequence[str], functions: FunctionCaller) -> FactAnswer:
    """What a function gives now, as plain data, or why it gives nothing."""
    if not may_ask(question.fun, allowed):
        return FactAnswer(error="is not among the functions that the minion answers")
    try:
        args, kwargs = json.loads(question.asked)
        value = functions.call(question.fun, args, kwargs)
    except Exception as error:  # whatever a function raises is its answer
        return FactAnswer(error=f"failed there: {error}"[:2000])
    return bounded(FactAnswer(value=value))


def bounded(given: FactAnswer) -> FactAnswer:
    """An answer as plain data of a bounded size; an error in its place when it is something else."""
    try:
        packed = msgspec.msgpack.encode(given)
        if len(packed) > MOST_BYTES:
            return FactAnswer(error=f"gave more than {MOST_BYTES} bytes")
        plain = msgspec.msgpack.decode(packed, type=FactAnswer, ext_hook=_no_extension)
        if not _shallow(plain.value, MOST_DEPTH):
            return FactAnswer(error=f"gave data nested more than {MOST_DEPTH} deep")
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return FactAnswer(error="gave something that is no plain data")
    return plain


def _shallow(value: Any, depth: int) -> bool:
    if depth == 0:
        return False
    inner: Callable[[], Iterable[Any]] | None = None
    if isinstance(value, dict):
        inner = value.values
    elif isinstance(value, list):
        inner = value.__iter__
    return inner is None or all(_shallow(one, depth - 1) for one in inner())


def _no_extension(code: int, _data: memoryview) -> Any:
    raise ValueError(f"an extension type of msgpack ({code})")
