"""Cases of the states of the system's own programs: at, keyboards, logrotate, clocks; snaps and Flatpak have none."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_AT = ("at",)
_QUEUED = "echo '### SALT: case\ntrue' | sed 's/\\\\n/\\n/' | at 'now + 9 days'"
_EMPTY = ('for job in $(atq | cut -f1); do atrm "$job"; done',)

CASES: tuple[Case, ...] = (
    Case(fun="at.present", name="true", arguments={"timespec": "now + 9 days"}, after=_EMPTY, needs=_AT,
         acts_always=True),
    Case(fun="at.present", name="true", arguments={"timespec": "now + 9 days", "tag": "case", "unique_tag": True},
         before=(_QUEUED,), after=_EMPTY, needs=_AT),
    Case(fun="at.absent", name="case", arguments={"tag": "case"}, before=(_QUEUED,), after=_EMPTY, needs=_AT),
    Case(fun="at.watch", name="true", arguments={"timespec": "now + 9 days"}, needs=_AT),
    Case(fun="keyboard.system", name="de", restores=("/etc/default/keyboard",), grains={"os_family": "Debian"},
         before=("printf 'XKBMODEL=\"pc105\"\\nXKBLAYOUT=\"us\"\\n' > /etc/default/keyboard",)),
    Case(fun="logrotate.set", name="x", arguments={"key": "rotate", "value": 2, "conf_file": "{top}/conf"},
         files={"conf": "weekly\nrotate 4\n/var/log/x {\n    daily\n}\n"}),
    Case(fun="logrotate.set", name="x", files={"conf": "weekly\n/var/log/x {\n    daily\n}\n"},
         arguments={"key": "/var/log/x", "value": "rotate", "setting": 5, "conf_file": "{top}/conf"}),
    Case(fun="logrotate.set", name="x", arguments={"key": "rotate", "value": "2", "conf_file": "{top}/conf"},
         files={"conf": "weekly\nrotate 4\ninclude {top}/d\n", "d/": ""}),
    Case(fun="logrotate.set", name="x",
         files={"conf": "weekly\ninclude {top}/d\n", "d/x": "/var/log/x {\n    rotate 4\n}\n"},
         arguments={"key": "/var/log/x", "value": "rotate", "setting": "5", "conf_file": "{top}/conf"}),
    Case(fun="ntp.managed", name="x", arguments={"servers": ["192.0.2.7"]}, restores=("/etc/chrony/chrony.conf",),
         before=("mkdir -p /etc/chrony && echo 'pool 2.debian.pool.ntp.org' > /etc/chrony/chrony.conf",)),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {
    "flatpak.add_remote": "tried with Debian's flatpak and a repository of the tests",
    "flatpak.installed": "tried with Debian's flatpak and a repository of the tests",
    "flatpak.uninstalled": "tried with Debian's flatpak and a repository of the tests",
    "kernelpkg.latest_active": "it boots the machine",
    "kernelpkg.latest_installed": "tried with a package manager in memory",
    "kernelpkg.latest_wait": "it boots the machine",
    "keyboard.xorg": "tried on an X server of the tests",
    **{
        f"snap.{fun}": "needs a store of snaps; tried with a stand-in for the program"
        for fun in ("disabled", "enabled", "installed", "option_managed", "removed")
    },
    "sysrc.absent": "for FreeBSD; tried with a stand-in for the program",
    "sysrc.managed": "for FreeBSD; tried with a stand-in for the program",
}
