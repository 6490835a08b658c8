"""What a root has beyond its base: the upper folder of its overlay, as JSON. Started in the root's own mounts.

    python -m tools.second_opinion.snapshot UPPER BASE

A file is [kind, mode, uid, gid, digest or target], and its text where that is short. A line of text that holds a date
or a number drawn by chance is the same everywhere, so that those of two roots compare.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import sys
from pathlib import Path

_LEFT_OUT = re.compile(
    r"(var/(cache|log|tmp|lib/(apt|dpkg|saltern|systemd|ucf|update-rc\.d|misc|ieee-data|dbus)|spool/saltern)|tmp|run|opt/salt"
    r"|opt/saltern|root/\.(cache|config|gnupg|local)|etc/salt(ern)?|usr/share/(man|info|doc|mime|icons|locale)|out|case|project|dev|proc|sys"
    r"|etc/(ld\.so\.cache|hosts\.bak|mtab|machine-id|resolv\.conf)|usr/lib/python3(\.\d+)?/.*__pycache__|var/lib/python)(/|$)"
)
_BACKUP = re.compile(r"(-|~|\.dpkg-\w+|\.bak|\.pyc)$")
_BY_CHANCE = re.compile(
    rb"(?<=# \()\S+ installed on [^)]+"  # crontab's first line
    rb"|\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d\S*|\$[156y]\$[^:\s\"]+|(?<=:)2\d{4}(?=:\d+:\d+:)"
)
_DATED = re.compile(r"\d\d-\d\d-\d\d_\d\d:\d\d:\d\d")
_LARGEST = 4 << 20
_SHORT = 16 << 10
"""Bytes of a file of /etc or of a person, whose text is kept: what differs can be read then."""
_READ = re.compile(r"(etc|root|home|srv|opt|var/spool)/")


def snapshot(upper: Path, base: Path) -> dict[str, list[object]]:
    """Path → what stands there; without the folders that are in the upper one for what is in them alone."""
    found: dict[str, list[object]] = {}
    for folder, names, files in os.walk(upper):
        inside = Path(folder).relative_to(upper)
        names[:] = [name for name in names if not _LEFT_OUT.match(f"{inside / name}/")]
        for name in (*names, *files):
            path = str(inside / name)
            if not _LEFT_OUT.match(path) and not _BACKUP.search(path):
                entry = _entry(upper / path, text=bool(_READ.match(path)))
                path = _DATED.sub("?", path)
                if entry[0] != "folder" or not (base / path).is_dir() or entry != _entry(base / path):
                    found[path] = entry
    return found


def _entry(path: Path, *, text: bool = False) -> list[object]:
    seen = path.lstat()
    owner = [oct(stat.S_IMODE(seen.st_mode)), seen.st_uid, seen.st_gid]
    if stat.S_ISLNK(seen.st_mode):
        return ["link", "", 0, 0, str(path.readlink())]
    if stat.S_ISDIR(seen.st_mode):
        return ["folder", *owner, ""]
    if stat.S_ISCHR(seen.st_mode) and seen.st_rdev == 0:
        return ["removed", "", 0, 0, ""]
    if not stat.S_ISREG(seen.st_mode):
        return ["other", *owner, ""]
    if seen.st_size > _LARGEST:
        return ["file", *owner, f"{seen.st_size} bytes"]
    data = _BY_CHANCE.sub(b"?", path.read_bytes())
    short = [data.decode(errors="replace")] if text and len(data) <= _SHORT else []
    return ["file", *owner, hashlib.sha256(data).hexdigest()[:16], *short]


if __name__ == "__main__":
    json.dump(snapshot(*map(Path, sys.argv[1:3])), sys.stdout)
