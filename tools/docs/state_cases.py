"""A case for each state function: what it is called with on a real machine, in what surroundings, and what goes after.

Called by `states_table`. Families of states that belong to one program have theirs in `cases`. `{top}` in a case is a
folder of its own. Names of users, services and the like are the cases' own; files of the system are put back as they
were. What no case can do is in `WITHOUT`, with the reason.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from tools.docs.cases import FAMILIES
from tools.docs.cases.case import APT, SERVICE, USER, Case

PACKAGE = "hello"
KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy"
_SUM = "b9e68e1bea3e5b19ca6b2f98b73a54b73daafaa250484902e09982e07a12e733"
_PLAIN = {"one": "1\n2\n3\n"}
_DIFF = "--- f\n+++ f\n@@ -1 +1 @@\n-one\n+two\n"
_SCHEDULED = (
    "mkdir -p {top}/etc/minion.d; echo '{schedule: {nightly: {function: test.ping, hours: 1, enabled: true}}}' "
    "> {top}/etc/minion.d/_schedule.conf"
)
_BEACON = (
    "mkdir -p {top}/etc/minion.d; echo '{beacons: {load: [{averages: {1m: [0, 9]}}, {enabled: true}]}}' "
    "> {top}/etc/minion.d/beacons.conf"
)
_INIT = f"""#!/bin/sh
### BEGIN INIT INFO
# Provides: {SERVICE}
# Required-Start:
# Required-Stop:
# Default-Start: 2 3 4 5
# Default-Stop: 0 1 6
# Short-Description: a service of the cases
### END INIT INFO
pid=/run/{SERVICE}.pid
case "$1" in
  start) setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! >$pid ;;
  stop) [ ! -f $pid ] || kill $(cat $pid) 2>/dev/null; rm -f $pid ;;
  restart) $0 stop; $0 start ;;
  status) [ -f $pid ] && kill -0 $(cat $pid) 2>/dev/null || exit 3 ;;
esac
"""


def _repository(*more: str) -> tuple[str, ...]:
    git = "git -c user.name=x -c user.email=x@example.org"
    return (
        f"git init -q -b main {{top}}/origin && {git} -C {{top}}/origin commit -q --allow-empty -m one "
        f"&& {git} -C {{top}}/origin tag v1",
        *more,
    )


_AS_USER = {"before": (f"useradd -m {USER}",), "after": (f"userdel -rf {USER}",)}
_SYSTEMCTL = '"$(readlink -f "$(command -v systemctl)")"'
_AS_SERVICE: dict[str, Any] = {
    "before": (
        # Where systemctl is installed and systemd does not run, states of services do nothing.
        f"! command -v systemctl >/dev/null || {{ touch {{top}}/hidden && mount --bind {{top}}/hidden {_SYSTEMCTL}; }}",
        f"cp {{top}}/init /etc/init.d/{SERVICE} && chmod 755 /etc/init.d/{SERVICE}",
        f"update-rc.d {SERVICE} defaults",
    ),
    "after": (
        f"/etc/init.d/{SERVICE} stop; update-rc.d -f {SERVICE} remove; rm -f /etc/init.d/{SERVICE}",
        "umount /usr/bin/systemctl 2>/dev/null || umount /bin/systemctl 2>/dev/null || true",
    ),
    "files": {"init": _INIT},
    "name": SERVICE,
}
_ALTERNATIVE = f"update-alternatives --install {{top}}/link {SERVICE} {{top}}/one 10"
_NO_ALTERNATIVE = (f"update-alternatives --remove-all {SERVICE} 2>/dev/null || true",)
_KEYED = f"mkdir -m 700 ~{USER}/.ssh && echo 'ssh-ed25519 {KEY} c' > ~{USER}/.ssh/authorized_keys"
_HOSTS = {"restores": ("/etc/hosts",)}
_HELLO = {"name": PACKAGE, "after": (f"apt-mark unhold {PACKAGE}; {APT} purge {PACKAGE}",)}
_HAS_HELLO = f"{APT} install {PACKAGE}"
_NO_ARCHIVE = f"rm -f /var/cache/apt/archives/{PACKAGE}_*.deb"
_SOURCE = "/etc/apt/sources.list.d/saltern-case.list"
_LINE = "deb [trusted=yes] file:{top}/repo ./"
_CRON = {"needs": ("cron",), "after": ("crontab -r || true",), "name": "/bin/true"}
_MARK = "# Lines below here are managed by Salt, do not edit"
_VENV = "python3 -m venv {top}/venv"
CASES: tuple[Case, ...] = (
    Case(fun="alternatives.install", name=SERVICE, files={"one": ""}, after=_NO_ALTERNATIVE,
         arguments={"link": "{top}/link", "path": "{top}/one", "priority": 5}),
    Case(fun="alternatives.remove", name=SERVICE, files={"one": ""}, before=(_ALTERNATIVE,), after=_NO_ALTERNATIVE,
         arguments={"path": "{top}/one"}),
    Case(fun="alternatives.set", name=SERVICE, files={"one": "", "two": ""}, after=_NO_ALTERNATIVE,
         before=(_ALTERNATIVE, _ALTERNATIVE.replace("one 10", "two 5")), arguments={"path": "{top}/two"}),
    Case(fun="alternatives.auto", name=SERVICE, files={"one": "", "two": ""}, after=_NO_ALTERNATIVE,
         before=(_ALTERNATIVE, _ALTERNATIVE.replace("one 10", "two 5"),
                 f"update-alternatives --set {SERVICE} {{top}}/two")),
    Case(fun="archive.extracted", name="{top}/out", files={"in/a/b": "text"},
         before=("tar -C {top}/in -czf {top}/a.tgz a",), arguments={"source": "{top}/a.tgz"}),
    Case(fun="archive.extracted", name="{top}/out", files={"in/a/b": "text", "out/a/old": "", "out/other": ""},
         before=("tar -C {top}/in -czf {top}/a.tgz a",), arguments={"source": "{top}/a.tgz", "clean": True}),
    Case(fun="archive.extracted", name="{top}/out", files={"in/a/b": "text", "out/a/old": "", "out/other": ""},
         before=("tar -C {top}/in -czf {top}/a.tgz a",), arguments={"source": "{top}/a.tgz", "clean_parent": True}),
    Case(fun="cmd.run", name="echo text > {top}/f", acts_always=True),
    Case(fun="cmd.script", name="{top}/s.sh", files={"s.sh": "#!/bin/sh\necho text\n"}, acts_always=True),
    Case(fun="cmd.wait", name="true"),
    Case(fun="cmd.watch", name="true"),
    Case(fun="cmd.wait_script", name="true"),
    Case(fun="cron.present", arguments={"minute": 5}, **_CRON),
    Case(fun="cron.absent", before=(f"printf '{_MARK}\\n* * * * * /bin/true\\n' | crontab -",), **_CRON),
    Case(fun="cron.env_present", arguments={"value": "x"}, **{**_CRON, "name": "MAILTO"}),
    Case(fun="cron.env_absent", before=(f"printf '{_MARK}\\nMAILTO=x\\n' | crontab -",),
         **{**_CRON, "name": "MAILTO"}),
    Case(fun="cron.file", files={"tab": "5 4 * * * /bin/true\n"}, **{**_CRON, "name": "{top}/tab"}),
    Case(fun="debconf.set", name="saltern-case", after=("echo PURGE | debconf-communicate saltern-case",),
         before=("printf 'saltern-case saltern-case/q string old\\n' | debconf-set-selections",),
         arguments={"data": {"saltern-case/q": {"type": "string", "value": "new"}}}),
    Case(fun="debconf.set_file", name="x", files={"sel": "saltern-case saltern-case/q string new\n"},
         before=("printf 'saltern-case saltern-case/q string old\\n' | debconf-set-selections",),
         after=("echo PURGE | debconf-communicate saltern-case",), arguments={"source": "{top}/sel"}),
    Case(fun="environ.setenv", name="SALTERN_CASE", arguments={"value": "x"}),
    Case(fun="event.fire_master", name="a/tag", arguments={"data": {}}, acts_always=True),
    Case(fun="event.send", name="a/tag", acts_always=True),
    Case(fun="event.wait", name="a/tag"),
    Case(fun="file.absent", files={"f": "x"}),
    Case(fun="file.accumulated", name="acc", arguments={"filename": "{top}/f", "text": "x"}),
    Case(fun="file.append", files={"f": "a\n"}, arguments={"text": "b"}),
    Case(fun="file.blockreplace", files={"f": "# S\n# E\n"},
         arguments={"marker_start": "# S", "marker_end": "# E", "content": "x"}),
    Case(fun="file.blockreplace", files={"f": "a\nend\n"},
         arguments={"marker_start": "# S", "marker_end": "# E", "content": "x", "insert_before_match": "^end",
                    "append_newline": True, "backup": ".old"}),
    Case(fun="file.blockreplace", files={"f": "a\n"}, tree={"one": "{{ a }}\n"},
         arguments={"marker_start": "# S", "marker_end": "# E", "source": "salt://one", "template": "jinja",
                    "context": {"a": "x"}, "append_if_not_found": True, "show_changes": False}),
    Case(fun="file.cached", name="salt://one", tree=_PLAIN),
    Case(fun="file.comment", files={"f": "a\n"}, arguments={"regex": "^a"}),
    Case(fun="file.copy", files={"s": "x"}, arguments={"source": "{top}/s"}),
    Case(fun="file.decode", arguments={"encoded_data": base64.b64encode(b"text").decode()}),
    Case(fun="file.directory", name="{top}/d", arguments={"mode": "0750", "user": "daemon"}),
    Case(fun="file.directory", name="{top}/d", files={"d/a": "", "d/b/c": "", "d/keep": ""},
         arguments={"user": "daemon", "dir_mode": "0750", "file_mode": "0640", "recurse": ["user", "mode"]}),
    Case(fun="file.directory", name="{top}/d", files={"d/a": "", "d/b/c": "", "d/keep": ""},
         arguments={"clean": True, "exclude_pat": "keep"}),
    Case(fun="file.directory", name="{top}/d", files={"d/a": "", "d/b/c": "", "d/b/e/f": ""},
         arguments={"group": "daemon", "recurse": ["group"], "max_depth": 1}),
    Case(fun="file.directory", name="{top}/new/d", arguments={"makedirs": True, "mode": "2755"}),
    Case(fun="file.directory", name="{top}/d", files={"d": "a file"}, arguments={"force": True}),
    Case(fun="file.exists", files={"f": ""}),
    Case(fun="file.hardlink", files={"t": "x"}, arguments={"target": "{top}/t"}),
    Case(fun="file.keyvalue", files={"f": "a=1\n"}, arguments={"key": "a", "value": "2"}),
    Case(fun="file.keyvalue", files={"f": "# a : 1\nb: 1\n"},
         arguments={"key_values": {"a": "2", "c": "3"}, "separator": ": ", "uncomment": "#",
                    "append_if_not_found": True, "key_ignore_case": True}),
    Case(fun="file.line", files={"f": "a\n"}, arguments={"content": "b", "mode": "insert", "location": "end"}),
    Case(fun="file.line", files={"f": "  a\nz\n"},
         arguments={"content": "b", "mode": "ensure", "after": "a", "indent": True, "backup": True}),
    Case(fun="file.line", files={"f": "a\nz\n"}, arguments={"content": "b", "match": "^a", "mode": "replace"}),
    Case(fun="file.line", files={"f": "a\nz\n"}, arguments={"match": "^a", "mode": "delete", "show_changes": False}),
    Case(fun="file.managed", files={"f": "old\n"},
         arguments={"contents": "new", "mode": "0640", "user": "daemon", "group": "daemon"}),
    Case(fun="file.managed", name="{top}/new/f", tree={"one": "{{ a }}\n"},
         arguments={"source": "salt://one", "template": "jinja", "makedirs": True, "dir_mode": "0750",
                    "context": {"a": "x"}}),
    Case(fun="file.managed", arguments={"source": "salt://one", "template": "mako"}, tree={"one": "${1 + 1}\n"}),
    Case(fun="file.managed", arguments={"source": "salt://one", "template": "py"},
         tree={"one": "def run():\n    return 'text'\n"}),
    Case(fun="file.managed", arguments={"source": ["salt://none", "salt://one"], "mode": "0600"}, tree=_PLAIN),
    Case(fun="file.managed", files={"s": "text\n"}, arguments={"source": "{top}/s", "source_hash": _SUM, "attrs": "i"},
         after=("chattr -i {top}/f",)),
    Case(fun="file.managed", arguments={"source": "{url}", "skip_verify": True}),
    Case(fun="file.managed", files={"f": "old\n"},
         arguments={"contents": "new", "backup": "minion", "show_changes": False}),
    Case(fun="file.managed", files={"f": "old\n"}, arguments={"contents": "new", "replace": False, "mode": "0600"}),
    Case(fun="file.managed", arguments={"contents": ["a", "b"], "check_cmd": "grep -q a", "tmp_ext": ".x"}),
    Case(fun="file.managed", arguments={"contents": "\xe9", "encoding": "latin-1", "contents_newline": False}),
    Case(fun="file.managed", files={"t": "old\n"}, before=("ln -s {top}/t {top}/f",),
         arguments={"contents": "new", "follow_symlinks": False}),
    Case(fun="file.managed", files={"t": "old\n"}, before=("ln -s {top}/t {top}/f",), arguments={"contents": "new"}),
    Case(fun="file.managed", grains={"text": "x"}, arguments={"contents_grains": "text"}),
    Case(fun="file.managed", pillar={"app": {"text": "x"}}, arguments={"contents_pillar": "app:text"}),
    Case(fun="file.managed", pillar={"a": "x", "b": ["y", "z"]},
         arguments={"contents_pillar": ["a"], "contents_newline": False, "mode": "0600"}),
    Case(fun="file.missing"),
    Case(fun="file.mknod", arguments={"ntype": "c", "major": 1, "minor": 3, "mode": "0666"}),
    Case(fun="file.not_cached", name="salt://one"),
    Case(fun="file.patch", files={"f": "one\n", "p": _DIFF}, arguments={"source": "{top}/p"}, needs=("patch",)),
    Case(fun="file.prepend", files={"f": "a\n"}, arguments={"text": "b"}),
    Case(fun="file.pruned", name="{top}/d", files={"d/": ""}),
    Case(fun="file.recurse", name="{top}/d", tree={"t/a": "1", "t/b/c": "2"}, arguments={"source": "salt://t"}),
    Case(fun="file.recurse", name="{top}/d", files={"d/old": "x", "d/keep": "x"}, tree={"t/a": "1", "t/b/c.txt": "2"},
         arguments={"source": "salt://t", "clean": True, "include_pat": "*.txt", "exclude_pat": "keep",
                    "dir_mode": "0750", "file_mode": "0640", "user": "daemon"}),
    Case(fun="file.recurse", name="{top}/d", tree={"t/a": "{{ 1 + 1 }}\n"},
         arguments={"source": "salt://t", "template": "jinja", "maxdepth": 0}),
    Case(fun="file.rename", files={"s": "x"}, arguments={"source": "{top}/s"}),
    Case(fun="file.replace", files={"f": "a\n"}, arguments={"pattern": "a", "repl": "b"}),
    Case(fun="file.replace", files={"f": "# A\nb\n"},
         arguments={"pattern": "^#? ?a$", "repl": "a", "flags": ["IGNORECASE", "MULTILINE"], "count": 1,
                    "backup": False}),
    Case(fun="file.replace", files={"f": "b\n"},
         arguments={"pattern": "^a=.*", "repl": "a=1", "append_if_not_found": True, "not_found_content": "a=1"}),
    Case(fun="file.replace", files={"f": "b\n"},
         arguments={"pattern": "^a=.*", "repl": "a=1", "prepend_if_not_found": True, "backslash_literal": True}),
    Case(fun="file.serialize", arguments={"dataset": {"a": 1}, "serializer": "json"}),
    Case(fun="file.serialize", files={"f": '{"b": 2, "c": {"d": 1}}'},
         arguments={"dataset": {"a": 1, "c": {"e": 2}}, "formatter": "json", "merge_if_exists": True, "mode": "0600",
                    "serializer_opts": [{"indent": 4}], "deserializer_opts": [{"strict": False}]}),
    Case(fun="file.serialize", name="{top}/new/f", pillar={"data": {"a": [1, 2]}},
         arguments={"dataset_pillar": "data", "serializer": "yaml", "makedirs": True, "user": "daemon"}),
    Case(fun="file.symlink", files={"t": "", "f": "in the way"}, arguments={"target": "{top}/t", "force": True}),
    Case(fun="file.symlink", files={"t": "", "f": "old"}, arguments={"target": "{top}/t", "backupname": "{top}/old"}),
    Case(fun="file.symlink", name="{top}/new/f", files={"t": ""},
         arguments={"target": "{top}/t", "makedirs": True, "user": "daemon"}),
    Case(fun="file.symlink", files={"t": ""}, arguments={"target": "{top}/t"}),
    Case(fun="file.tidied", name="{top}/d", files={"d/a": "x"}),
    Case(fun="file.touch"),
    Case(fun="file.uncomment", files={"f": "# a\n"}, arguments={"regex": "a"}),
    Case(fun="git.cloned", name="file://{top}/origin", before=_repository(), arguments={"target": "{top}/clone"}),
    Case(fun="git.config_set", name="user.name", before=_repository(),
         arguments={"value": "x", "repo": "{top}/origin"}),
    Case(fun="git.config_unset", name="a.b", before=_repository("git -C {top}/origin config a.b c"),
         arguments={"repo": "{top}/origin"}),
    Case(fun="git.config_unset", name="a.b", arguments={"repo": "{top}/origin", "value_regex": "^c"},
         before=_repository("git -C {top}/origin config --add a.b c", "git -C {top}/origin config --add a.b d")),
    Case(fun="git.detached", name="file://{top}/origin", before=_repository(),
         arguments={"target": "{top}/clone", "rev": "v1"}),
    Case(fun="git.latest", name="file://{top}/origin", before=_repository(),
         arguments={"target": "{top}/clone", "rev": "main"}),
    Case(fun="git.present", name="{top}/repo"),
    Case(fun="grains.absent", name="role", grains={"role": "web"}, arguments={"destructive": True}),
    Case(fun="grains.append", name="roles", grains={"roles": ["a"]}, arguments={"value": "b"}),
    Case(fun="grains.exists", name="role", grains={"role": "web"}),
    Case(fun="grains.list_absent", name="roles", grains={"roles": ["a", "b"]}, arguments={"value": "b"}),
    Case(fun="grains.list_present", name="roles", grains={"roles": ["a"]}, arguments={"value": "b"}),
    Case(fun="grains.present", name="role", arguments={"value": "web"}),
    Case(fun="beacon.absent", name="load", before=[_BEACON]),
    Case(fun="beacon.disabled", name="load", before=[_BEACON]),
    Case(fun="beacon.enabled", name="load", before=[_BEACON.replace("true", "false")]),
    Case(fun="beacon.present", name="memusage", arguments={"percent": "63%", "save": True}),
    Case(fun="schedule.absent", name="nightly", before=[_SCHEDULED]),
    Case(fun="schedule.disabled", name="nightly", before=[_SCHEDULED]),
    Case(fun="schedule.enabled", name="nightly", before=[_SCHEDULED.replace("true", "false")]),
    Case(fun="schedule.present", name="nightly", arguments={"function": "test.ping", "cron": "0 3 * * *"}),
    Case(fun="group.present", name=USER, after=(f"groupdel {USER}",)),
    Case(fun="group.present", name=USER, before=(f"groupadd -g 4201 {USER}",), after=(f"groupdel {USER}",),
         arguments={"gid": 4202, "addusers": ["daemon"]}),
    Case(fun="group.absent", name=USER, before=(f"groupadd {USER}",), after=(f"groupdel {USER} 2>/dev/null || true",)),
    Case(fun="alias.present", name=USER, arguments={"target": "root"}, restores=("/etc/aliases",),
         before=("touch /etc/aliases",)),
    Case(fun="alias.absent", name=USER, restores=("/etc/aliases",), before=(f"echo '{USER}: root' >> /etc/aliases",)),
    Case(fun="host.present", name="case.example.org", arguments={"ip": "192.0.2.7"}, **_HOSTS),
    Case(fun="host.absent", name="case.example.org", arguments={"ip": "192.0.2.7"},
         before=("echo '192.0.2.7 case.example.org' >> /etc/hosts",), **_HOSTS),
    Case(fun="host.only", name="192.0.2.7", arguments={"hostnames": ["case.example.org"]}, **_HOSTS),
    Case(fun="http.query", name="{url}", arguments={"status": 200}),
    Case(fun="http.wait_for_successful_query", name="{url}", arguments={"status": 200}),
    Case(fun="ini.options_present", files={"f": "[a]\nx = 1\n"}, arguments={"sections": {"a": {"x": "2"}}}),
    Case(fun="ini.options_absent", files={"f": "[a]\nx = 1\n"}, arguments={"sections": {"a": ["x"]}}),
    Case(fun="ini.sections_present", files={"f": "[a]\nx = 1\n"}, arguments={"sections": {"b": {"y": "2"}}}),
    Case(fun="ini.sections_absent", files={"f": "[a]\nx = 1\n"}, arguments={"sections": ["a"]}),
    Case(fun="locale.system", name="C.UTF-8", restores=("/etc/default/locale",), before=("rm -f /etc/default/locale",)),
    Case(fun="locale.present", name="C.UTF-8"),
    Case(fun="module.run", name="test.ping", acts_always=True),
    Case(fun="module.wait", name="test.ping"),
    Case(fun="module.watch", name="test.ping"),
    Case(fun="mount.fstab_present", name="/dev/sdz1", files={"fstab": "# none\n"},
         arguments={"fs_file": "/mnt/x", "fs_vfstype": "ext4", "config": "{top}/fstab", "mount": False}),
    Case(fun="mount.fstab_absent", name="/dev/sdz1", files={"fstab": "/dev/sdz1 /mnt/x ext4 defaults 0 0\n"},
         arguments={"fs_file": "/mnt/x", "config": "{top}/fstab"}),
    Case(fun="mount.mounted", name="{top}/m", files={"m/": "", "fstab": ""}, after=("umount {top}/m",),
         arguments={"device": "tmpfs", "fstype": "tmpfs", "opts": "size=64k", "config": "{top}/fstab"}),
    Case(fun="mount.mounted", name="{top}/m", files={"m/": "", "fstab": "tmpfs {top}/m tmpfs size=64k 0 0\n"},
         before=("mount -t tmpfs -o size=64k tmpfs {top}/m",), after=("umount {top}/m",),
         arguments={"device": "tmpfs", "fstype": "tmpfs", "opts": "size=1m,noexec,ro", "config": "{top}/fstab"}),
    Case(fun="mount.mounted", name="{top}/m", files={"m/": "", "fstab": ""},
         before=("mount -t tmpfs -o size=64k one {top}/m",), after=("umount {top}/m",),
         arguments={"device": "two", "fstype": "tmpfs", "config": "{top}/fstab", "opts": ["mode=0750", "uid=daemon"]}),
    Case(fun="mount.mounted", name="{top}/m", files={"d/x": "", "fstab": ""}, after=("umount {top}/m",),
         arguments={"device": "{top}/d", "fstype": "none", "opts": "bind", "config": "{top}/fstab", "mkmnt": True}),
    Case(fun="mount.mounted", name="{top}/m", files={"d/x": "", "e/": "", "m/": "", "fstab": ""},
         before=("mount --bind {top}/e {top}/m",), after=("umount {top}/m",),
         arguments={"device": "{top}/d", "fstype": "none", "opts": "bind,ro", "persist": False}),
    Case(fun="mount.mounted", name="{top}/m", files={"fstab": ""},
         arguments={"device": "/dev/sdz1", "fstype": "ext4", "mount": False, "mkmnt": True, "config": "{top}/fstab"}),
    Case(fun="mount.unmounted", name="{top}/m", files={"m/": "", "fstab": "tmpfs {top}/m tmpfs defaults 0 0\n"},
         arguments={"config": "{top}/fstab", "persist": True, "device": "tmpfs"}),
    Case(fun="mount.fstab_present", name="tmpfs", files={"fstab": "# none\n", "m/": ""}, after=("umount {top}/m",),
         arguments={"fs_file": "{top}/m", "fs_vfstype": "tmpfs", "fs_mntops": "size=64k", "config": "{top}/fstab"}),
    Case(fun="mount.fstab_present", name="/dev/sdz1", files={"fstab": "/dev/sdz1 /mnt/x ext4 defaults 0 0\n"},
         arguments={"fs_file": "/mnt/x", "fs_vfstype": "ext4", "fs_mntops": ["ro"], "config": "{top}/fstab"}),
    Case(fun="mount.unmounted", name="{top}/m", files={"m/": "", "fstab": "tmpfs {top}/m tmpfs defaults 0 0\n"},
         before=("mount -t tmpfs -o size=64k tmpfs {top}/m",), after=("umount {top}/m 2>/dev/null || true",),
         arguments={"config": "{top}/fstab", "persist": True}),
    Case(fun="network.system", name="x", arguments={"hostname": "case.example.org"}, restores=("/etc/hostname",)),
    Case(fun="pip.installed", name="iniconfig==2.0.0", before=(_VENV,), arguments={"bin_env": "{top}/venv"}),
    Case(fun="pip.removed", name="iniconfig", before=(_VENV, "{top}/venv/bin/pip -q install iniconfig==2.0.0"),
         arguments={"bin_env": "{top}/venv"}),
    Case(fun="pkg.downloaded", name=PACKAGE, before=(_NO_ARCHIVE,), after=(_NO_ARCHIVE,)),
    Case(fun="pkg.installed", **_HELLO),
    Case(fun="pkg.installed", arguments={"pkgs": [{PACKAGE: ">=2.0"}], "hold": True}, **_HELLO),
    Case(fun="pkg.installed", before=(_HAS_HELLO,), arguments={"reinstall": True}, acts_always=True, **_HELLO),
    Case(fun="pkg.removed", before=(_HAS_HELLO,), arguments={"version": "2.*"}, **_HELLO),
    Case(fun="pkg.latest", **_HELLO),
    Case(fun="pkg.removed", before=(_HAS_HELLO,), **_HELLO),
    Case(fun="pkg.purged", before=(_HAS_HELLO,), **_HELLO),
    Case(fun="pkg.held", before=(_HAS_HELLO,), **_HELLO),
    Case(fun="pkg.unheld", before=(_HAS_HELLO, f"apt-mark hold {PACKAGE}"), **_HELLO),
    Case(fun="pkgrepo.managed", name=_LINE, after=(f"rm -f {_SOURCE}",), arguments={"file": _SOURCE, "refresh": False}),
    Case(fun="pkgrepo.absent", name=_LINE, before=(f"echo '{_LINE}' > {_SOURCE}",), after=(f"rm -f {_SOURCE}",)),
    *(Case(fun=f"saltutil.sync_{kind}", name="x", acts_always=True) for kind in (
        "all", "beacons", "grains", "modules", "outputters", "pillar", "renderers", "returners", "states", "tops",
        "utils")),
    Case(fun="service.running", **_AS_SERVICE),
    Case(fun="service.running", arguments={"enable": False, "init_delay": 0}, **_AS_SERVICE),
    Case(fun="service.dead", **{**_AS_SERVICE, "before": (*_AS_SERVICE["before"], f"/etc/init.d/{SERVICE} start")}),
    Case(fun="service.enabled",
         **{**_AS_SERVICE, "before": (*_AS_SERVICE["before"], f"update-rc.d {SERVICE} disable")}),
    Case(fun="service.disabled", **_AS_SERVICE),
    Case(fun="ssh_auth.present", name=KEY, arguments={"user": USER, "enc": "ssh-ed25519"}, **_AS_USER),
    Case(fun="ssh_auth.absent", name=KEY, arguments={"user": USER, "enc": "ssh-ed25519"},
         **{**_AS_USER, "before": (*_AS_USER["before"], _KEYED)}),
    Case(fun="ssh_auth.manage", name="x", arguments={"user": USER, "ssh_keys": [f"ssh-ed25519 {KEY[:-4]}0000"]},
         **{**_AS_USER, "before": (*_AS_USER["before"], _KEYED)}),
    Case(fun="ssh_known_hosts.present", name="case.example.org",
         arguments={"key": KEY, "enc": "ed25519", "config": "{top}/known"}),
    Case(fun="ssh_known_hosts.absent", name="case.example.org", arguments={"config": "{top}/known"},
         files={"known": f"case.example.org ssh-ed25519 {KEY}\n"}),
    Case(fun="stateconf.set", name="x", arguments={"port": 80}),
    Case(fun="stateconf.context", name="x", arguments={"port": 80}),
    Case(fun="sysctl.present", name="kernel.hostname",
         arguments={"value": "{hostname}", "config": "{top}/sysctl.conf"}),
    Case(fun="test.check_pillar", name="x"),
    Case(fun="test.configurable_test_state", name="x", acts_always=True),
    Case(fun="test.fail_with_changes", name="x", fails=True, acts_always=True),
    Case(fun="test.fail_without_changes", name="x", fails=True),
    Case(fun="test.nop", name="x"),
    Case(fun="test.show_notification", name="x", arguments={"text": "x"}),
    Case(fun="test.succeed_with_changes", name="x", acts_always=True),
    Case(fun="test.succeed_without_changes", name="x"),
    Case(fun="timezone.system", name="Etc/GMT+1", restores=("/etc/localtime", "/etc/timezone")),
    Case(fun="user.present", name=USER, after=(f"userdel -rf {USER}",),
         arguments={"fullname": "A Case", "shell": "/bin/sh", "groups": ["daemon"]}),
    Case(fun="user.present", name=USER, before=(f"useradd -u 4201 -G daemon {USER}",), after=(f"userdel -rf {USER}",),
         arguments={"uid": 4202, "allow_uid_change": True, "home": "{top}/home", "createhome": False,
                    "groups": ["adm"], "remove_groups": False, "roomnumber": "1", "workphone": "2",
                    "password": "!", "mindays": 1, "maxdays": 90}),
    Case(fun="user.absent", name=USER, before=(f"useradd {USER}",), after=(f"userdel -rf {USER} 2>/dev/null || true",),
         arguments={"purge": True}),
    Case(fun="virtualenv.managed", name="{top}/v"),
    Case(fun="virtualenv.manage", name="{top}/v"),
    *(case for family in FAMILIES for case in family.CASES),
)  # fmt: skip

WITHOUT: Mapping[str, str] = {
    "kmod.absent": "a kernel of the cases' own would be needed; tested on recorded output",
    "kmod.present": "a kernel of the cases' own would be needed; tested on recorded output",
    "mount.swap": "swap is the whole machine's; tried in a file where swapon is permitted",
    "pkg.group_installed": "apt has no groups; tested on recorded output",
    "pkg.uptodate": "would upgrade the machine that runs the cases; tested on recorded output",
    "service.masked": "needs systemd; tested on recorded output",
    "service.unmasked": "needs systemd; tested on recorded output",
    **{fun: why for family in FAMILIES for fun, why in family.WITHOUT.items()},
}
"""State functions that no case can run, and why."""
