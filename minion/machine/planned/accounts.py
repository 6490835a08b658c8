"""Users and groups that a run under test=True would have made, changed or removed by now, in memory.

Part of `minion.machine.planned`. It answers `getent`, and does to its entries what the shadow tools do (useradd(8),
usermod(8), groupadd(8), gpasswd(1), chage(1)). A user whose number only `useradd` chooses gets one that no user has.
"""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence

from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Completed
from minion.machine.planned.files import PlannedFiles

_NO_KEY = 2
"""Exit code of getent where there is no such entry."""

_FIRST = 2**31 - 100_000
"""The number of the first planned user or group without one of its own."""

# fmt: off
_FLAGS = frozenset((
    "--create-home", "--no-create-home", "--user-group", "--no-user-group", "--non-unique", "--system",
    "--no-log-init", "--move-home", "--lock", "--unlock", "--remove", "--force", "--delete", "--encrypted",
))
# fmt: on
"""Options of the shadow tools that take no value."""

_PASSWD = {"--uid": 2, "--gid": 3, "--comment": 4, "--home": 5, "--shell": 6}
_AGEING = {"--lastday": 2, "--mindays": 3, "--maxdays": 4, "--warndays": 5, "--inactive": 6, "--expiredate": 7}
"""Option -> the place of what it sets, in an entry of passwd and of shadow."""
_SKELETON = "/etc/skel"
_DAY = 86_400
"""Seconds."""

Entry = tuple[str, ...]
Tool = Callable[[Mapping[str, str], str, str], Completed]


class PlannedAccounts:
    """What is planned."""

    def __init__(self, ask: Callable[[Sequence[str]], Completed], files: PlannedFiles) -> None:
        """Args:
        ask: answers `getent` for the machine itself.
        files: get the homes of planned users.
        """
        self._ask = ask
        self._files = files
        self._planned: dict[str, dict[str, Entry | None]] = {"passwd": {}, "group": {}, "shadow": {}}
        """Database -> name -> the fields; None: it is removed."""
        self._numbers = itertools.count(_FIRST)
        self._tools: dict[str, Tool] = {
            "useradd": self._useradd,
            "usermod": self._usermod,
            "userdel": self._userdel,
            "groupadd": self._groupadd,
            "groupmod": self._groupmod,
            "groupdel": self._groupdel,
            "gpasswd": self._gpasswd,
            "chpasswd": self._chpasswd,
            "passwd": self._passwd,
            "chage": self._chage,
        }

    # --- look -------------------------------------------------------------------------------------------------------

    def names(self) -> Iterator[str]:
        """All users and groups that only this run would make."""
        for database in ("passwd", "group"):
            for name, entry in self._planned[database].items():
                if entry is not None and self._base(database, name) is None:
                    yield name

    def planned(self, user: str) -> str:
        """The user, if only this run would make it."""
        entry = self._planned["passwd"].get(user)
        return f"the user {user}" if entry is not None and self._base("passwd", user) is None else ""

    def uid(self, user: str) -> int:
        """The number of a user, planned or not; StateFailed when there is none."""
        return self._number("passwd", user, "User")

    def gid(self, group: str) -> int:
        """The number of a group, planned or not; StateFailed when there is none."""
        return self._number("group", group, "Group")

    def answered(self, argv: Sequence[str], done: Completed) -> Completed:
        """What `getent` says, with what is planned."""
        words = [word for word in argv[1:] if word != "--"]
        planned = self._planned.get(words[0] if words else "", {})
        if not planned:
            return done
        lines = {line.partition(":")[0]: line for line in done.stdout.splitlines()}
        lines = {name: line for name, line in lines.items() if name not in planned}
        asked = words[1:]
        for name, entry in planned.items():
            if entry is not None and (not asked or name in asked or (len(entry) > 2 and entry[2] in asked)):
                lines[name] = ":".join(entry)
        found = not asked or len(lines) >= len(asked)
        text = "".join(f"{line}\n" for line in lines.values())
        return Completed(returncode=0 if found else done.returncode or _NO_KEY, stdout=text, stderr=done.stderr)

    def _number(self, database: str, name: str, word: str) -> int:
        if name.isdigit():
            return int(name)
        entry = self._entry(database, name)
        if entry is None:
            raise StateFailed(f"{word} {name} is not available")
        return int(entry[2])

    def _base(self, database: str, name: str) -> Entry | None:
        done = self._ask(["getent", "--", database, name])
        fields = tuple(done.stdout.rstrip("\n").partition("\n")[0].split(":"))
        return fields if done.returncode == 0 and fields[0] == name else None

    def _entry(self, database: str, name: str) -> Entry | None:
        planned = self._planned[database]
        return planned[name] if name in planned else self._base(database, name)

    def _groups(self) -> list[Entry]:
        done = self.answered(["getent", "group"], self._ask(["getent", "group"]))
        return [tuple(line.split(":")) for line in done.stdout.splitlines() if line.count(":") == 3]

    def _group(self, named: str) -> Entry | None:
        """By name or number."""
        return next((one for one in self._groups() if named in (one[0], one[2])), None)

    # --- the shadow tools -------------------------------------------------------------------------------------------

    def knows(self, program: str) -> bool:
        """Whether it is one of the shadow tools."""
        return program in self._tools

    def run(self, argv: Sequence[str], stdin: str | None) -> Completed:
        """What one of the shadow tools would say."""
        options, name = _options(argv)
        return self._tools[argv[0]](options, name, stdin or "")

    def _useradd(self, options: Mapping[str, str], name: str, _: str) -> Completed:
        if self._entry("passwd", name) is not None:
            return _refused(9, f"useradd: user '{name}' already exists")
        own = "--gid" not in options and "--no-user-group" not in options
        if own and self._entry("group", name) is not None:
            return _refused(9, f"useradd: group {name} exists - if you want to add this user to that group, use -g.")
        if self._is_taken("passwd", options, "--uid", name):
            return _refused(4, f"useradd: UID {options['--uid']} is not unique")
        number = options.get("--uid") or str(next(self._numbers))
        group = self._group(options["--gid"]) if "--gid" in options else None
        if "--gid" in options and group is None:
            return _refused(6, f"useradd: group '{options['--gid']}' does not exist")
        if own:
            self._set("group", (name, "x", number, ""))
        home = options.get("--home-dir") or f"{self._default('HOME', '/home')}/{name}"
        shell = options.get("--shell") or self._default("SHELL", "/bin/sh")
        gid = number if own else group[2] if group is not None else self._default("GROUP", "100")
        self._set("passwd", (name, "x", number, gid, options.get("--comment", ""), home, shell))
        self._set("shadow", (name, "!", "", "0", "99999", "7", "", "", ""))
        self._join(name, options.get("--groups", ""))
        if "--no-create-home" not in options and self._files.stat(home) is None:
            self._make_home(name, home, int(number), int(gid))
        return _DONE

    def _is_taken(self, database: str, options: Mapping[str, str], option: str, name: str) -> bool:
        """Whether another entry has the number of an option, which must be nobody else's."""
        if option not in options or "--non-unique" in options:
            return False
        lines = self.answered(["getent", database], self._ask(["getent", database])).stdout.splitlines()
        fields = (line.split(":") for line in lines)
        return any(each[2:3] == [options[option]] and each[0] != name for each in fields)

    def _usermod(self, options: Mapping[str, str], name: str, _: str) -> Completed:
        entry = self._entry("passwd", name)
        if entry is None:
            return _refused(6, f"usermod: user '{name}' does not exist")
        if self._is_taken("passwd", options, "--uid", name):
            return _refused(4, f"usermod: UID '{options['--uid']}' already exists")
        fields = list(entry)
        for option, place in _PASSWD.items():
            if option in options:
                fields[place] = options[option]
        if "--gid" in options:
            group = self._group(options["--gid"])
            if group is None:
                return _refused(6, f"usermod: group '{options['--gid']}' does not exist")
            fields[3] = group[2]
        self._set("passwd", tuple(fields))
        if "--groups" in options:
            self._join(name, options["--groups"])
        if "--lock" in options or "--unlock" in options:
            sign = "!" if "--lock" in options else ""
            self._edit_shadow(name, 1, lambda old: sign + old.removeprefix("!"))
        if "--move-home" in options and self._files.stat(entry[5]) is not None:
            raise ContentUnknown(f"what is below {options['--home']}")
        return _DONE

    def _userdel(self, options: Mapping[str, str], name: str, _: str) -> Completed:
        entry = self._entry("passwd", name)
        if entry is None:
            return _refused(6, f"userdel: user '{name}' does not exist")
        self._planned["passwd"][name] = self._planned["shadow"][name] = None
        for group in self._groups():
            members = [one for one in group[3].split(",") if one and one != name]
            if group[0] == name and not members:
                self._planned["group"][name] = None
            elif ",".join(members) != group[3]:
                self._set("group", (*group[:3], ",".join(members)))
        if "--remove" in options and self._files.stat(entry[5]) is not None:
            self._files.remove(entry[5])
        return _DONE

    def _groupadd(self, options: Mapping[str, str], name: str, _: str) -> Completed:
        if self._entry("group", name) is not None:
            return _refused(9, f"groupadd: group '{name}' already exists")
        if self._is_taken("group", options, "--gid", name):
            return _refused(4, f"groupadd: GID '{options['--gid']}' already exists")
        self._set("group", (name, "x", options.get("--gid") or str(next(self._numbers)), ""))
        return _DONE

    def _groupmod(self, options: Mapping[str, str], name: str, _: str) -> Completed:
        entry = self._entry("group", name)
        if entry is None:
            return _refused(6, f"groupmod: group '{name}' does not exist")
        if self._is_taken("group", options, "--gid", name):
            return _refused(4, f"groupmod: GID '{options['--gid']}' already exists")
        self._set("group", (*entry[:2], options.get("--gid", entry[2]), entry[3]))
        return _DONE

    def _groupdel(self, _options: Mapping[str, str], name: str, _: str) -> Completed:
        entry = self._entry("group", name)
        if entry is None:
            return _refused(6, f"groupdel: group '{name}' does not exist")
        users = self.answered(["getent", "passwd"], self._ask(["getent", "passwd"])).stdout.splitlines()
        primary = next((line.partition(":")[0] for line in users if line.split(":")[3:4] == [entry[2]]), None)
        if primary is not None:
            return _refused(8, f"groupdel: cannot remove the primary group of user '{primary}'")
        self._planned["group"][name] = None
        return _DONE

    def _gpasswd(self, options: Mapping[str, str], name: str, _: str) -> Completed:
        entry = self._entry("group", name)
        if entry is None:
            return _refused(3, f"gpasswd: group '{name}' does not exist in /etc/group")
        self._set("group", (*entry[:3], options.get("--members", "")))
        return _DONE

    def _chpasswd(self, _options: Mapping[str, str], _name: str, stdin: str) -> Completed:
        name, _, hashed = stdin.rstrip("\n").partition(":")
        self._edit_shadow(name, 2, lambda _: str(int(time.time()) // _DAY))
        return self._edit_shadow(name, 1, lambda _: hashed)

    def _passwd(self, _options: Mapping[str, str], name: str, _: str) -> Completed:
        return self._edit_shadow(name, 1, lambda _: "")

    def _chage(self, options: Mapping[str, str], name: str, _: str) -> Completed:
        for option, place in _AGEING.items():
            if option in options:
                days = "" if options[option] == "-1" else options[option]
                self._edit_shadow(name, place, _always(days))
        return _DONE

    # --- entries ----------------------------------------------------------------------------------------------------

    def _set(self, database: str, entry: Entry) -> None:
        self._planned[database][entry[0]] = entry

    def _edit_shadow(self, name: str, place: int, new: Callable[[str], str]) -> Completed:
        entry = self._entry("shadow", name)
        if entry is None:
            return _refused(1, f"user '{name}' does not exist in /etc/shadow")
        self._set("shadow", (*entry[:place], new(entry[place]), *entry[place + 1 :]))
        return _DONE

    def _join(self, user: str, listed: str) -> None:
        """The user is in these groups, and in no others but its primary one."""
        wanted = [one for one in listed.split(",") if one]
        for group in self._groups():
            members = [one for one in group[3].split(",") if one]
            if (group[0] in wanted) != (user in members):
                new = [*members, user] if group[0] in wanted else [one for one in members if one != user]
                self._set("group", (*group[:3], ",".join(new)))

    def _default(self, key: str, otherwise: str) -> str:
        """What useradd takes where nothing is given (/etc/default/useradd)."""
        path = "/etc/default/useradd"
        try:
            text = self._files.read(path).decode("utf-8", "replace") if self._files.stat(path) else ""
        except ContentUnknown:  # a preview does not read it
            text = ""
        found = re.search(rf"(?m)^{key}=(\S+)", text)
        return found[1] if found else otherwise

    def _make_home(self, name: str, home: str, uid: int, gid: int) -> None:
        self._files.mkdir(home, parents=True)
        self._files.chmod(home, "0700")
        self._files.chown(home, (name, uid), (self._name_of(gid), gid))
        try:
            skeleton = self._files.listdir(_SKELETON) if self._files.stat(_SKELETON) is not None else ()
        except ContentUnknown:  # a preview does not read it
            skeleton = ()
        for one in skeleton:
            found = self._files.stat(f"{_SKELETON}/{one}")
            if found is not None and found.kind == "file":
                self._files.copy(f"{_SKELETON}/{one}", f"{home}/{one}", mode=found.mode)
                self._files.chown(f"{home}/{one}", (name, uid), (self._name_of(gid), gid))

    def _name_of(self, gid: int) -> str:
        group = self._group(str(gid))
        return group[0] if group is not None else str(gid)


_DONE = Completed(returncode=0, stdout="", stderr="")


def _always(text: str) -> Callable[[str], str]:
    return lambda _: text


def _refused(code: int, said: str) -> Completed:
    return Completed(returncode=code, stdout="", stderr=said)


def _options(argv: Sequence[str]) -> tuple[dict[str, str], str]:
    """The options of a shadow tool, and the name that it is called for."""
    options, name, words = dict[str, str](), "", iter(argv[1:])
    for word in words:
        if word in _FLAGS:
            options[word] = ""
        elif word.startswith("-") and word != "--":
            options[word] = next(words, "")
        elif word != "--":
            name = word
    return options, name
