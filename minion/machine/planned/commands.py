"""Programs of which is known what they do: performed in memory under test=True, and asked there afterwards.

Part of `minion.machine.planned`. Each answers in the words of the real program, as far as states read them; the files
in which the system keeps the same (/proc/modules, /proc/self/mountinfo) are planned files.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping, Sequence

from minion.machine.failure import ContentUnknown
from minion.machine.plan import Completed
from minion.machine.planned.alternatives import PlannedAlternatives
from minion.machine.planned.apache import PlannedApache
from minion.machine.planned.files import PlannedFiles
from minion.machine.planned.iptables import PlannedTables

Ask = Callable[[Sequence[str]], Completed]

_MISSING = 127
_MOUNTS, _SWAPS, _MODULES = "/proc/self/mountinfo", "/proc/swaps", "/proc/modules"
_HOSTNAME, _LOCALES = "/proc/sys/kernel/hostname", "/etc/locale.gen"
_OF_MOUNTS = frozenset(("ro", "rw", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "relatime", "strictatime"))
_DONE = Completed(returncode=0, stdout="", stderr="")


class PlannedCommands:
    """What the commands of this run would have done."""

    def __init__(self, ask: Ask, files: PlannedFiles) -> None:
        """Args:
        ask: runs a command that only looks on the machine itself.
        files: get what the commands write.
        """
        self._ask = ask
        self._files = files
        self._tabs: dict[str, str] = {}
        self._parameters: dict[str, str] = {}
        self._answers: dict[str, dict[str, str]] = {}
        self._attributes: dict[str, set[str]] = {}
        self._generated: set[str] = set()
        self._alternatives = PlannedAlternatives(ask, files)
        self._tables = PlannedTables(ask)
        self._acts: Mapping[str, Callable[[Sequence[str], str], Completed]] = {
            "crontab": self._set_crontab,
            "sysctl": self._set_parameter,
            "debconf-set-selections": self._set_answers,
            "modprobe": self._modprobe,
            "hostname": self._set_hostname,
            "locale-gen": self._generate,
            "newaliases": lambda argv, stdin: _DONE,
            "chattr": self._set_attributes,
            "mount": self._mount,
            "umount": self._umount,
            "swapon": self._swapon,
            "update-alternatives": self._alternatives.act,
            "alternatives": self._alternatives.act,
            "iptables": self._tables.act,
            "ip6tables": self._tables.act,
            **PlannedApache(files).acts(),
        }
        self._questions: Mapping[str, Callable[[Sequence[str]], Completed | None]] = {
            "crontab": self._crontab,
            "sysctl": self._parameter,
            "debconf-show": self._shown_answers,
            "locale": self._locales,
            "lsattr": self._shown_attributes,
            "update-alternatives": self._alternatives.answer,
            "alternatives": self._alternatives.answer,
            **dict.fromkeys(("iptables", "ip6tables", "iptables-save", "ip6tables-save"), self._tables.answer),
        }

    def run(self, argv: Sequence[str], stdin: str | None) -> Completed | None:
        """What the command would say, having done its work in memory; None when nobody knows."""
        if argv[0] == "systemctl":
            return self._mask(argv)
        act = self._acts.get(posixpath.basename(argv[0]))
        return None if act is None else act(argv, stdin or "")

    def answer(self, argv: Sequence[str]) -> Completed | None:
        """What a command that only looks would say; None when nothing that is planned is asked for."""
        question = self._questions.get(posixpath.basename(argv[0]))
        return None if question is None else question(argv)

    # --- crontabs ---------------------------------------------------------------------------------------------------

    def _crontab(self, argv: Sequence[str]) -> Completed | None:
        if argv[2] in self._tabs:
            return Completed(returncode=0, stdout=self._tabs[argv[2]], stderr="")
        done = self._ask(argv)
        if done.returncode in (0, _MISSING):
            return done
        # Who is not there yet has none.
        return Completed(returncode=1, stdout="", stderr=f"no crontab for {argv[2]}")

    def _set_crontab(self, argv: Sequence[str], stdin: str) -> Completed:
        self._tabs[argv[2]] = stdin
        return _DONE

    # --- kernel -----------------------------------------------------------------------------------------------------

    def _parameter(self, argv: Sequence[str]) -> Completed | None:
        value = self._parameters.get(_parameter(argv[-1]))
        return None if value is None else Completed(returncode=0, stdout=f"{value}\n", stderr="")

    def _set_parameter(self, argv: Sequence[str], _: str) -> Completed:
        name, _, value = argv[-1].partition("=")
        self._parameters[_parameter(name)] = value
        return _DONE

    def _modprobe(self, argv: Sequence[str], _: str) -> Completed:
        name = argv[-1].replace("-", "_")
        lines = self._files.read(_MODULES).decode().splitlines()
        lines = [line for line in lines if line.split()[0] != name]
        if "-r" not in argv:
            lines.insert(0, f"{name} 16384 0 - Live 0x0000000000000000")
        self._files.write(_MODULES, "".join(f"{line}\n" for line in lines).encode())
        return _DONE

    def _set_hostname(self, argv: Sequence[str], _: str) -> Completed:
        self._files.write(_HOSTNAME, f"{argv[1]}\n".encode())
        self._parameters["kernel.hostname"] = argv[1]
        return _DONE

    # --- debconf and locales ----------------------------------------------------------------------------------------

    def _shown_answers(self, argv: Sequence[str]) -> Completed | None:
        done, planned = self._ask(argv), self._answers.get(argv[1], {})
        if done.returncode == _MISSING or not planned:
            return done
        kept = [line for line in done.stdout.splitlines() if line.lstrip("* ").partition(":")[0] not in planned]
        lines = [*kept, *(f"* {question}: {answer}" for question, answer in planned.items())]
        return Completed(returncode=0, stdout="".join(f"{line}\n" for line in lines), stderr="")

    def _set_answers(self, argv: Sequence[str], stdin: str) -> Completed:
        for line in stdin.splitlines():
            package, question, kind, value = [*line.split(None, 3), "", "", "", ""][:4]
            shown = "(password omitted)" if kind == "password" else value.strip()
            self._answers.setdefault(package, {})[question] = shown
        return _DONE

    def _locales(self, argv: Sequence[str]) -> Completed | None:
        done = self._ask(argv)
        if done.returncode != 0 or not self._generated:
            return done
        return Completed(returncode=0, stdout=f"{done.stdout}{chr(10).join(sorted(self._generated))}\n", stderr="")

    def _generate(self, argv: Sequence[str], stdin: str) -> Completed:
        lines = self._files.read(_LOCALES).decode().splitlines()
        self._generated |= {line.split()[0] for line in lines if line.strip() and not line.lstrip().startswith("#")}
        return _DONE

    # --- attributes of files ----------------------------------------------------------------------------------------

    def _shown_attributes(self, argv: Sequence[str]) -> Completed | None:
        path = argv[-1]
        if path not in self._attributes and not self._files.is_new(path):
            return None
        if path not in self._attributes:
            above = posixpath.dirname(path)
            while self._files.is_new(above):
                above = posixpath.dirname(above)
            done = self._ask(["lsattr", "-d", "--", above])
            if done.returncode != 0:
                return done
        letters = "".join(sorted(self._attributes_of(path))) or "-"
        return Completed(returncode=0, stdout=f"{letters} {path}\n", stderr="")

    def _set_attributes(self, argv: Sequence[str], _: str) -> Completed:
        path, change = argv[-1], argv[1]
        letters = self._attributes_of(path)
        letters = letters | set(change[1:]) if change[0] == "+" else letters - set(change[1:])
        self._attributes[path] = letters
        return _DONE

    def _attributes_of(self, path: str) -> set[str]:
        if path in self._attributes:
            return self._attributes[path]
        if self._files.is_new(path):
            return set()
        return set(self._ask(["lsattr", "-d", "--", path]).stdout.partition(" ")[0]) - {"-"}

    # --- services ---------------------------------------------------------------------------------------------------

    def _mask(self, argv: Sequence[str]) -> Completed | None:
        """`systemctl mask` and `unmask`, which are links; of the other verbs the services tell."""
        if argv[1] not in ("mask", "unmask"):
            return None
        folder = "/run/systemd/system" if "--runtime" in argv else "/etc/systemd/system"
        place = f"{folder}/{argv[-1]}"
        if argv[1] == "mask":
            self._files.symlink("/dev/null", place)
        elif self._files.stat(place) is not None:
            self._files.remove(place)
        return _DONE

    # --- mounts -----------------------------------------------------------------------------------------------------

    def _mount(self, argv: Sequence[str], _: str) -> Completed:
        words = list(argv[1:])
        kind = _taken(words, "-t")
        options = _taken(words, "-o").split(",")
        lines = self._files.read(_MOUNTS).decode("utf-8", "surrogateescape").splitlines()
        if options[0] == "remount":
            return self._remount(lines, _escaped(words[-1]), options[1:])
        if len(words) != 2 or "auto" in (kind, ""):
            raise ContentUnknown(f"what mount {' '.join(words)} would find")
        device, point = words
        found = self._files.stat(point)
        if found is None:
            return Completed(returncode=32, stdout="", stderr=f"mount: {point}: mount point does not exist.")
        number, root, source = "0:0", "/", device
        if {"bind", "rbind"} & set(options):
            number, root, source, kind = _bound(lines, device)
        shown = ",".join(("ro" if "ro" in options else "rw", *(one for one in options if one not in ("ro", "rw"))))
        line = f"0 0 {number} {_escaped(root)} {_escaped(point)} {shown} - {kind} {_escaped(source)} {shown}"
        return self._written([*lines, line])

    def _remount(self, lines: list[str], point: str, options: Sequence[str]) -> Completed:
        for place, line in reversed(list(enumerate(lines))):
            words = line.split()
            if words[4] == point:
                words[5], words[-1] = _changed(words[5], options), _changed(words[-1], options)
                return self._written([*lines[:place], " ".join(words), *lines[place + 1 :]])
        return Completed(returncode=32, stdout="", stderr=f"mount: {point}: mount point not mounted")

    def _umount(self, argv: Sequence[str], _: str) -> Completed:
        lines = self._files.read(_MOUNTS).decode("utf-8", "surrogateescape").splitlines()
        point = _escaped(argv[-1])
        place = max((number for number, line in enumerate(lines) if line.split()[4] == point), default=None)
        if place is None:
            return Completed(returncode=32, stdout="", stderr=f"umount: {argv[-1]}: not mounted.")
        return self._written([*lines[:place], *lines[place + 1 :]])

    def _written(self, lines: Sequence[str]) -> Completed:
        text = "".join(f"{line}\n" for line in lines)
        self._files.write(_MOUNTS, text.encode("utf-8", "surrogateescape"))
        return _DONE

    def _swapon(self, argv: Sequence[str], _: str) -> Completed:
        there = self._files.stat(_SWAPS) is not None
        text = self._files.read(_SWAPS) if there else b"Filename\tType\tSize\tUsed\tPriority\n"
        self._files.write(_SWAPS, text + f"{_escaped(argv[-1])} file 0 0 -2\n".encode())
        return _DONE


def _parameter(name: str) -> str:
    return name.replace("/", ".")


def _taken(words: list[str], option: str) -> str:
    """The value of an option, which goes out of the words."""
    if option not in words:
        return ""
    place = words.index(option)
    words.pop(place)
    return words.pop(place)


def _escaped(field: str) -> str:
    """A field as mountinfo has it."""
    return re.sub(r"[\s\\]", lambda match: f"\\{ord(match[0]):03o}", field)


def _bound(lines: Sequence[str], folder: str) -> tuple[str, str, str, str]:
    """Number, root, device and kind of a folder that is bound elsewhere."""
    words = [line.split() for line in lines]
    below = [one for one in words if folder == one[4] or folder.startswith(f"{one[4].rstrip('/')}/")]
    found = max(below, key=lambda one: len(one[4]))
    inside = posixpath.relpath(folder, found[4])
    kind, device = found[found.index("-") + 1 :][:2]
    return found[2], posixpath.normpath(f"{found[3].rstrip('/')}/{inside}"), device, kind


def _changed(there: str, options: Sequence[str]) -> str:
    """The options of a mount after others were given: of those with a value the new one counts."""
    named = {one.partition("=")[0] for one in options}
    opposites = {one.removeprefix("no") if one.startswith("no") else f"no{one}" for one in named & _OF_MOUNTS}
    if named & {"ro", "rw"}:
        opposites |= {"ro", "rw"} - named
    kept = [one for one in there.split(",") if one.partition("=")[0] not in named | opposites]
    return ",".join((*kept, *options))
