"""What is made of what was seen on a machine: pure functions, one a check. `minion.doctor.looks` sees."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from minion.doctor.finding import CheckFinding, fail, warn, well
from minion.doctor.looks import FileLook, HandshakeLook
from wire.probe import ProbeOutcome

LEAST_PYTHON = (3, 11)
LEAST_LIBZMQ = (4, 3, 3)
"""The oldest whose handshakes have no known hole (CVE-2020-15166, CVE-2021-20235)."""
LITTLE_SPACE = 256 * 1024 * 1024
"""Bytes; below, one push with large files may fill the disk."""
NO_SPACE = 16 * 1024 * 1024
FEW_INODES = 2_000
SMALL_SKEW = 2.0
"""Seconds; tokens, windows and schedules are read by both clocks."""
LARGE_SKEW = 60.0


def python_version(version: tuple[int, int]) -> CheckFinding:
    """Python runs Saltern from 3.11 on."""
    text = ".".join(map(str, version))
    if version < LEAST_PYTHON:
        return fail("python", f"Python {text} is too old", "install Python 3.11 or later, and Saltern with it")
    return well("python", f"Python {text}")


def libzmq_version(version: tuple[int, int, int], curve: bool) -> CheckFinding:
    """libzmq has CURVE, and its known holes are mended."""
    text = ".".join(map(str, version))
    again = "pip install --force-reinstall pyzmq brings one of its own"
    if not curve:
        return fail("libzmq", f"libzmq {text} was built without CURVE", again)
    if version < LEAST_LIBZMQ:
        return fail("libzmq", f"libzmq {text} is older than {'.'.join(map(str, LEAST_LIBZMQ))}", again)
    return well("libzmq", f"libzmq {text} with CURVE")


def configuration(file: str, faults: tuple[str, ...], warnings: tuple[str, ...] = ()) -> CheckFinding:
    """The files can be used."""
    if faults:
        return fail("configuration", "; ".join(faults), f"mend {file}: docs/configuration.md has the options")
    if warnings:
        return warn(
            "configuration", "; ".join(warnings), "remove these options, or spell them as docs/configuration.md"
        )
    return well("configuration", f"{file} can be used")


def key_file(path: Path, look: FileLook | None, uid: int) -> CheckFinding:
    """A secret key is its user's alone.

    Args:
        path: of the key.
        look: what was seen; None: there is none.
        uid: user that runs the program.
    """
    if look is None:
        return warn("key", f"there is no {path} yet", "it is made at the first start")
    if look.error:
        return fail("key", f"{path}: {look.error}", "run this as root, or as the user that has the key")
    if look.is_link or not look.is_file:
        return fail("key", f"{path} is no regular file", "put the key itself there")
    if look.mode & 0o077:
        return fail("key", f"{path} has mode {look.mode:04o}: others may read it", f"chmod 600 {path}")
    if look.uid != uid:
        return fail("key", f"{path} belongs to uid {look.uid}, not to {uid}", f"chown {uid} {path}")
    return well("key", f"{path} is for its user alone")


def configuration_files(looks: Mapping[Path, FileLook | None], uid: int) -> CheckFinding:
    """Nobody else can change what is configured: who can does what root, or the service's user, can.

    Args:
        looks: what the folder and its files are; None for one that is not there.
        uid: of the user of the service.
    """
    for path, look in looks.items():
        if look is None or look.error:
            continue
        if look.uid not in (0, uid):
            return fail("permissions", f"{path} belongs to uid {look.uid}, who can change it", f"chown root {path}")
        if look.mode & 0o002:
            return fail("permissions", f"{path} has mode {look.mode:04o}: everybody can change it", f"chmod o-w {path}")
    return well("permissions", f"nobody but root and uid {uid} can change it" if uid else "only root can change it")


def disk_space(name: str, folder: Path, free: int | None, inodes: int | None) -> CheckFinding:
    """There is room for what is kept.

    Args:
        name: what is kept there.
        folder: where.
        free: bytes that a user may write; None: nobody may look.
        inodes: files that may be made; None: the file system does not count them.
    """
    if free is None:
        return warn("disk", f"{name}: {folder} cannot be looked at", "run this as root")
    text = f"{name}: {folder} has {free // 2**20} MiB free"
    todo = f"make room on the file system of {folder}, or keep it elsewhere"
    if free < NO_SPACE or inodes == 0:
        return fail("disk", text if free < NO_SPACE else f"{name}: {folder} has no inodes left", todo)
    if free < LITTLE_SPACE or (inodes is not None and inodes < FEW_INODES):
        return warn("disk", text if free < LITTLE_SPACE else f"{name}: {folder} has {inodes} inodes left", todo)
    return well("disk", text)


def open_files(limit: int, wanted: int, who: str) -> CheckFinding:
    """The process may have as many descriptors as it will need."""
    text = f"{who} may open {limit} files, and needs up to {wanted}"
    if limit < wanted:
        return warn("open files", text, "raise LimitNOFILE of the unit, or ulimit -n where there is none")
    return well("open files", text)


def random_numbers(ready: bool) -> CheckFinding:
    """The kernel's source of random numbers is ready, so that keys can be made."""
    if not ready:
        return fail(
            "random numbers", "the kernel has not gathered entropy yet", "wait, or give the machine a virtio-rng"
        )
    return well("random numbers", "the kernel's source is ready")


def inotify(watches: int | None, instances: int | None) -> CheckFinding:
    """Changes of files can be heard of."""
    if watches is None or instances is None:
        return warn("inotify", "the kernel does not say how many watches there may be", "changes are polled for")
    text = f"{watches} watches, {instances} instances a user"
    if watches < 8192 or instances < 64:
        todo = "sysctl fs.inotify.max_user_watches=65536 fs.inotify.max_user_instances=128"
        return warn("inotify", text, f"{todo}: beacons and remotes on this machine are polled without")
    return well("inotify", text)


def unit_active(unit: str, state: str | None) -> CheckFinding:
    """The service runs.

    Args:
        unit: of systemd.
        state: what `systemctl is-active` says; None: systemd does not run here.
    """
    if state is None:
        return warn(
            "service", "systemd does not run here", f"have {unit.partition('.')[0]} started at boot by what does"
        )
    if state != "active":
        return fail(
            "service", f"{unit} is {state or 'not known'}", f"systemctl enable --now {unit}; journalctl -u {unit}"
        )
    return well("service", f"{unit} is active")


def controller_port(
    where: str, outcome: ProbeOutcome, error: str, *, host: str = "master", port: str = "master_port"
) -> CheckFinding:
    """A controller listens where the configuration says. `host`, `port`: the options that say it."""
    if outcome == "curve":
        return well("controller", f"{where} answers")
    text, todo = {
        "unresolved": (f"{where}: {error}", f"write an address that this machine knows as `{host}`"),
        "refused": (f"nothing listens at {where}", f"start the controller, or write its ret_port as `{port}`"),
        "foreign": (f"what listens at {where} is no controller", f"write its ret_port as `{port}`"),
        "plain": (f"a Salt master, or another ZeroMQ program, listens at {where}", "write the controller's address"),
    }.get(outcome, (f"{where} is not reached: {error or 'no answer'}", "let the firewalls between pass TCP"))
    return fail("controller", text, todo)


def controller_key(where: str, look: HandshakeLook, file: str, option: str = "controller_key") -> CheckFinding:
    """What answers there proves the key that the configuration has.

    Args:
        where: it answers.
        look: what was seen.
        file: the configuration.
        option: that has the key: `controller_key`, or `relay_key` where a relay listens.
    """
    if look.proved:
        return well("controller key", f"{where} proves the key of the configuration")
    prints = "saltern relay --key" if option == "relay_key" else "saltern key controller"
    other = "" if option == "relay_key" else "; if a relay listens there, write its key as relay_key"
    todo = f"if that is yours, write what `{prints}` prints there as {option} into {file}{other}"
    return fail("controller key", f"{where} does not prove the key of {option} in {file}", todo)


def own_key(fingerprint: str, accepted: bool | None) -> CheckFinding:
    """The controller has accepted this minion.

    Args:
        fingerprint: of the minion's key.
        accepted: None: it could not be asked.
    """
    todo = f"on the controller: saltern key list -v shows {fingerprint}; saltern key accept"
    if accepted is None:
        return warn("own key", "whether the controller accepts it was not seen", todo)
    if not accepted:
        return fail("own key", "the controller has not accepted it", todo)
    return well("own key", "the controller accepts it")


def clock_skew(seconds: float | None) -> CheckFinding:
    """The clocks of controller and minion agree."""
    if seconds is None:
        return warn(
            "clock", "the controller's time was not heard", "open its publish_port, or compare `date -u` on both"
        )
    text = f"this clock is {abs(seconds):.1f} s {'ahead of' if seconds > 0 else 'behind'} the controller's"
    todo = "have both set by NTP (systemd-timesyncd or chrony)"
    if abs(seconds) >= LARGE_SKEW:
        return fail("clock", text, todo)
    return warn("clock", text, todo) if abs(seconds) >= SMALL_SKEW else well("clock", text)
