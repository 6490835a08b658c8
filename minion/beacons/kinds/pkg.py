"""The beacon `pkg`: packages that come, go, or have an upgrade."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from minion.beacons.beacon import BeaconFailed, BeaconKind, Complaint, Found, Memory, Options, World


def _check(options: Options) -> Iterator[Complaint]:
    pkgs = options.get("pkgs")
    if not isinstance(pkgs, list) or not pkgs or not all(isinstance(name, str) for name in pkgs):
        yield (("pkgs",) if "pkgs" in options else ()), "pkgs is missing: a list of packages, as `- pkgs: [zsh]`"
    if not isinstance(options.get("refresh", False), bool):
        yield ("refresh",), "refresh must be true or false"


def _look(options: Options, memory: Memory, world: World) -> Found:
    found: Found = []
    for name in options["pkgs"]:
        try:
            version = world.functions["pkg.version"](name)
            latest = version and world.functions["pkg.latest_version"](name, refresh=options.get("refresh", False))
        except Exception as error:
            raise BeaconFailed(f"package {name}: {error}") from error
        status = "upgrade" if latest else "installed" if version else "not-installed"
        before = memory.get(name, status)  # the first look only remembers
        memory[name] = status
        if status != before:
            found.append({"pkg": name, "version": latest or version or None, "status": status})
    return found


_KIND = BeaconKind(
    check=_check, look=_look, interval=600.0, slow=True, seconds=600.0, known=frozenset(("pkgs", "refresh"))
)

BEACONS: Mapping[str, BeaconKind] = {"pkg": _KIND}
