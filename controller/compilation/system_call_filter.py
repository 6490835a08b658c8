"""The seccomp filter of a compile worker: which system calls the kernel refuses, as classic BPF.

Called by `sandbox`. Landlock knows files that are opened, and signals where the kernel is new. It knows nothing of
modes, owners and locks of files, of priorities and limits of other processes, of memory that no limit of a process
counts, nor of sockets that have a path: those are here. Numbers and bits are those of `linux/seccomp.h`,
`asm/unistd_64.h` and `asm-generic/unistd.h`. A call that is newer than this list is answered as one that the kernel
does not have.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterable, Sequence
from socket import AF_NETLINK, SOCK_STREAM

X86_64, AARCH64 = 0, 1

_MACHINE_NUMBERS = (0xC000003E, 0xC00000B7)
"""What seccomp calls them."""

_OTHER_PROCESSES = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "pidfd_open": (434, 434), "pidfd_send_signal": (424, 424), "pidfd_getfd": (438, 438), "tkill": (200, 130),
    "rt_sigqueueinfo": (129, 138), "rt_tgsigqueueinfo": (297, 240), "process_madvise": (440, 440),
    "process_mrelease": (448, 448), "get_robust_list": (274, 100), "migrate_pages": (256, 238),
    "move_pages": (279, 239), "setpriority": (141, 140), "sched_setscheduler": (144, 119),
    "sched_setparam": (142, 118), "sched_setattr": (314, 274), "sched_setaffinity": (203, 122),
    "ioprio_set": (251, 30), "setpgid": (109, 154), "setsid": (112, 157),
}  # fmt: skip
_FILES_BESIDE_LANDLOCK = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None), "fchown": (93, 55),
    "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None),
    "futimesat": (261, None), "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6),
    "fsetxattr": (190, 7), "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
    "flock": (73, 32), "inotify_init": (253, None), "inotify_init1": (294, 26), "fanotify_init": (300, 262),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265), "sync": (162, 81), "syncfs": (306, 267),
}  # fmt: skip
_PROGRAMS = {
    "execve": (59, 221), "execveat": (322, 281), "uselib": (134, None), "fork": (57, None), "vfork": (58, None),
    "memfd_create": (319, 279), "memfd_secret": (447, 447),
}  # fmt: skip
"""A file in memory is a program too, and Landlock knows no folder that it is in."""
_MEMORY_THAT_STAYS = {
    "shmget": (29, 194), "shmat": (30, 196), "shmctl": (31, 195), "semget": (64, 190), "semctl": (66, 191),
    "semop": (65, 193), "semtimedop": (220, 192), "msgget": (68, 186), "msgctl": (71, 187), "msgsnd": (69, 189),
    "msgrcv": (70, 188), "mq_open": (240, 180), "mq_unlink": (241, 181), "add_key": (248, 217),
    "request_key": (249, 218), "keyctl": (250, 219),
}  # fmt: skip
_MACHINE_AND_KERNEL = {
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97),
    "setns": (308, 268), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433), "mount_setattr": (442, 442),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "create_module": (174, None),
    "kexec_load": (246, 104), "kexec_file_load": (320, 294), "reboot": (169, 142), "swapon": (167, 224),
    "swapoff": (168, 225), "acct": (163, 89), "quotactl": (179, 60), "quotactl_fd": (443, 443), "bpf": (321, 280),
    "perf_event_open": (298, 241), "io_uring_setup": (425, 425), "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427), "io_setup": (206, 0), "userfaultfd": (323, 282), "sethostname": (170, 161),
    "setdomainname": (171, 162), "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "clock_adjtime": (305, 266), "syslog": (103, 116), "vhangup": (153, 58), "iopl": (172, None),
    "ioperm": (173, None), "modify_ldt": (154, None), "personality": (135, 92), "lookup_dcookie": (212, 18),
    "nfsservctl": (180, 42),
}  # fmt: skip
REFUSED = _OTHER_PROCESSES | _FILES_BESIDE_LANDLOCK | _PROGRAMS | _MEMORY_THAT_STAYS | _MACHINE_AND_KERNEL
"""Calls that are refused whatever their arguments are, with their numbers on x86-64 and arm64."""

EXAMINED = {
    "socket": (41, 198), "socketpair": (53, 199), "kill": (62, 129), "tgkill": (234, 131), "prlimit64": (302, 261),
    "clone": (56, 220), "clone3": (435, 435), "mmap": (9, 222), "fcntl": (72, 25), "ioctl": (16, 29),
    "prctl": (157, 167),
}  # fmt: skip
"""Calls whose arguments decide."""

_NEWER = 451
"""The first number that is not looked at here; new calls have one number on every machine."""
_X32 = 0x40000000

_FCNTL = (0, 1, 2, 3, 4, 5, 1030, 1032, 1034)
"""Duplicates, flags, and questions; not locks, leases, owners that are sent signals, sizes of pipes."""
_IOCTL = (0x5401, 0x802C542A, 0x5413, 0x541B, 0x5421, 0x5450, 0x5451)
"""Is it a terminal, its size, bytes that can be read, blocking or not, closed by a program that is run or not."""
_IOCTL_OF_NETWORKS = (0x8910, 0x8933)
"""Names and numbers of interfaces."""
_CLONE_THREAD = 0x10000
_MAP_SHARED, _MAP_ANONYMOUS = 0x1, 0x20
_MAP_UNCOUNTED = 0x100 | 0x40000
"""Mappings that grow downwards, which RLIMIT_DATA does not count, and huge pages, which are kept for others."""
_PR_SET_PDEATHSIG = 1
_SOCKET_KIND = 0xF
"""The bits of a socket's type that are no flags."""

_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _AND, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
_ALLOW = struct.pack("=HBBI", _RETURN, 0, 0, 0x7FFF0000)
_REFUSE = struct.pack("=HBBI", _RETURN, 0, 0, 0x00050000 | errno.EACCES)
_UNKNOWN = struct.pack("=HBBI", _RETURN, 0, 0, 0x00050000 | errno.ENOSYS)
_CALL, _MACHINE, _ARGUMENTS = 0, 4, 16
"""Where they are in what the filter is given; each argument has eight bytes, the lower half first."""


def refused_calls(machine: int, families: Sequence[int], pid: int) -> list[bytes]:
    """The instructions of the filter.

    Each call that is looked at has a block, which returns; what comes to the end is allowed.

    Args:
        machine: `X86_64` or `AARCH64`.
        families: of sockets that may be opened.
        pid: of the process, which may send signals to itself.
    """
    program = [
        _one(_LOAD, _MACHINE),
        *_unless(_EQUAL, _MACHINE_NUMBERS[machine], _REFUSE),
        _one(_LOAD, _CALL),
        *_when(_AT_LEAST, _X32, _REFUSE),
        *_when(_AT_LEAST, _NEWER, _UNKNOWN),
    ]
    for name, block in _examinations(families, pid).items():
        number = EXAMINED[name][machine]
        program += [_one(_EQUAL, number, otherwise=len(block)), *block]
    for numbers in REFUSED.values():
        if (refused := numbers[machine]) is not None:
            program += _when(_EQUAL, refused, _REFUSE)
    return [*program, _ALLOW]


def _examinations(families: Sequence[int], pid: int) -> dict[str, list[bytes]]:
    """Call -> what is done with it once it is that call."""
    ioctls = (*_IOCTL, *_IOCTL_OF_NETWORKS) if families else _IOCTL
    return {
        "mmap": [
            _argument(3),
            *_when(_ANY_BIT, _MAP_UNCOUNTED, _REFUSE),
            _one(_AND, _MAP_SHARED | _MAP_ANONYMOUS),
            *_when(_EQUAL, _MAP_SHARED | _MAP_ANONYMOUS, _REFUSE),
            _ALLOW,
        ],
        "ioctl": _only(1, ioctls),
        "fcntl": _only(1, _FCNTL),
        # A thread, and no process: nothing is left when the worker is killed.
        "clone": [_argument(0), *_unless(_ANY_BIT, _CLONE_THREAD, _REFUSE), _ALLOW],
        "clone3": [_UNKNOWN],  # its flags are out of sight; libraries then use `clone`
        "prlimit64": _only(0, (0, pid)),
        "kill": _only(0, (pid,)),
        "tgkill": _only(0, (pid,)),
        "prctl": [_argument(0), *_when(_EQUAL, _PR_SET_PDEATHSIG, _REFUSE), _ALLOW],
        # A pair of datagrams can be sent to any other socket of the machine, whatever `socket` refuses.
        "socketpair": [_argument(1), _one(_AND, _SOCKET_KIND), *_unless(_EQUAL, SOCK_STREAM, _REFUSE), _ALLOW],
        "socket": _sockets(families),
    }


def _sockets(families: Sequence[int]) -> list[bytes]:
    """Families that are granted; of netlink the routes alone, which looking up names needs."""
    of_netlink = [_argument(2), *_unless(_EQUAL, 0, _REFUSE), _ALLOW]
    block = [_argument(0)]
    for family in families:
        if family == AF_NETLINK:
            block += [_one(_EQUAL, family, otherwise=len(of_netlink)), *of_netlink]
        else:
            block += _when(_EQUAL, family, _ALLOW)
    return [*block, _REFUSE]


def _only(argument: int, values: Iterable[int]) -> list[bytes]:
    allowed = [instruction for value in values for instruction in _when(_EQUAL, value, _ALLOW)]
    return [_argument(argument), *allowed, _REFUSE]


def _when(test: int, value: int, then: bytes) -> list[bytes]:
    return [_one(test, value, otherwise=1), then]


def _unless(test: int, value: int, then: bytes) -> list[bytes]:
    return [_one(test, value, then=1), then]


def _argument(number: int) -> bytes:
    return _one(_LOAD, _ARGUMENTS + 8 * number)


def _one(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    """One instruction; a jump counts from the instruction behind it."""
    return struct.pack("=HBBI", code, then, otherwise, value)
