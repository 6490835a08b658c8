"""Service managers: systemd on recorded output of systemctl, init scripts and their links in a machine in memory."""

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from minion.states.plan import Completed, FileStat, StateFailed
from minion.system.services import Service, check_name, service_manager
from minion.system.systemd import Systemd, parse_show, parse_unit_files, service_of, unit
from minion.system.sysv import SysV

ACTIVE = """Id=nginx.service
LoadState=loaded
ActiveState=active
SubState=running
UnitFileState=enabled
NeedDaemonReload=no
SourcePath=
"""
DEAD = ACTIVE.replace("=active", "=inactive").replace("=running", "=dead").replace("=enabled", "=disabled")
ABSENT = """Id=nosuch.service
LoadState=not-found
ActiveState=inactive
SubState=dead
UnitFileState=
NeedDaemonReload=no
SourcePath=
"""
STATIC = ACTIVE.replace("=enabled", "=static")
LOOPING = ACTIVE.replace("ActiveState=active", "ActiveState=activating").replace("=running", "=auto-restart")
WRAPPED = ACTIVE.replace("=enabled", "=generated").replace("SourcePath=", "SourcePath=/etc/init.d/nginx")
STALE = ACTIVE.replace("NeedDaemonReload=no", "NeedDaemonReload=yes")


@dataclass
class RecordedMachine:
    """A machine of recorded answers; what is run is kept."""

    answers: Mapping[tuple[str, ...], Completed] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    folders: Mapping[str, Sequence[str]] = field(default_factory=dict)
    ran: list[tuple[str, ...]] = field(default_factory=list)
    grains: Mapping[str, Any] = field(default_factory=dict)
    pillar: Mapping[str, Any] = field(default_factory=dict)

    def query(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> Completed:
        return self.answers.get(tuple(argv), Completed(returncode=1, stdout="", stderr="not recorded"))

    def run(self, argv: Sequence[str], **_: Any) -> Completed:
        self.ran.append(tuple(argv))
        return Completed(returncode=0, stdout="", stderr="")

    def stat(self, path: str) -> FileStat | None:
        if path not in self.folders and path not in self.files:
            return None
        kind = stat.S_IFDIR if path in self.folders else stat.S_IFREG
        return FileStat(os.stat_result((kind | int(self.files.get(path, "0755"), 8), *[0] * 9)))

    def listdir(self, path: str) -> Sequence[str]:
        return self.folders[path]


def _under_systemd(shown: str, **more: Any) -> Any:
    machine = RecordedMachine(**more)
    name = parse_show(shown)["Id"]
    command = "systemctl show --property=Id,LoadState,ActiveState,SubState,UnitFileState,NeedDaemonReload,SourcePath --"
    machine.answers = {(*command.split(), name): Completed(returncode=0, stdout=shown, stderr="")}
    return machine


def _service(shown: str) -> Service | None:
    return service_of("nginx", parse_show(shown))


def test_a_service_is_read_from_systemctl_show() -> None:
    assert _service(ACTIVE) == Service(name="nginx", running=True, enabled=True)
    assert _service(DEAD) == Service(name="nginx", running=False, enabled=False)
    assert _service(ABSENT) is None
    assert Systemd().service(_under_systemd(ACTIVE), "nginx") == _service(ACTIVE)


def test_a_static_unit_cannot_be_switched_and_a_looping_one_does_not_run() -> None:
    static, looping = _service(STATIC), _service(LOOPING)
    assert static is not None
    assert not static.switchable
    assert looping is not None
    assert not looping.running


def test_an_init_script_under_systemd_is_enabled_by_its_links() -> None:
    machine = _under_systemd(WRAPPED, folders={"/etc/rc2.d": ["S01nginx"]})
    found = Systemd().service(machine, "nginx")
    assert found == Service(name="nginx", running=True, enabled=True)
    assert Systemd().service(_under_systemd(WRAPPED), "nginx") == Service(name="nginx", running=True, enabled=False)


def test_changed_units_are_loaded_before_a_start() -> None:
    machine = _under_systemd(STALE)
    Systemd().control(machine, "nginx", "restart")
    assert machine.ran == [("systemctl", "daemon-reload"), ("systemctl", "restart", "--", "nginx.service")]
    machine.ran.clear()
    Systemd().enable(machine, "nginx", enabled=False)
    assert machine.ran == [("systemctl", "disable", "--", "nginx.service")]


def test_systemctl_that_fails_is_no_absent_service() -> None:
    with pytest.raises(StateFailed, match="systemctl cannot tell how nginx is: not recorded"):
        Systemd().service(RecordedMachine(), "nginx")  # type: ignore[arg-type]


def test_units_and_unit_files() -> None:
    assert (unit("nginx"), unit("x.timer"), unit("a.b")) == ("nginx.service", "x.timer", "a.b.service")
    listed = "cron.service  enabled enabled\ngetty@.service enabled enabled\nssh.service disabled enabled\n"
    assert parse_unit_files(listed) == ["cron", "ssh"]


def _with_scripts(**links: Sequence[str]) -> Any:
    folders = {"/etc/init.d": ["README", "web"], **{f"/etc/{name}.d": found for name, found in links.items()}}
    machine = RecordedMachine(folders=folders, files={"/etc/init.d/web": "0755", "/etc/init.d/README": "0644"})
    machine.answers = {("service", "web", "status"): Completed(returncode=3, stdout="", stderr="")}
    return machine


def test_init_scripts_are_services() -> None:
    machine = _with_scripts(rc2=["K01web", "S01other"])
    assert SysV().services(machine) == ["web"]
    assert SysV().service(machine, "web") == Service(name="web", running=False, enabled=False)
    assert SysV().service(machine, "README") is None
    assert SysV().service(machine, "nosuch") is None
    enabled = SysV().service(_with_scripts(rc3=["S05web"]), "web")
    assert enabled is not None
    assert enabled.enabled


def test_links_are_made_where_there_are_none_yet() -> None:
    machine = _with_scripts()
    SysV().enable(machine, "web", enabled=True)
    assert machine.ran == [("update-rc.d", "web", "defaults"), ("update-rc.d", "web", "enable")]
    machine = _with_scripts(rc2=["K01web"])
    SysV().enable(machine, "web", enabled=False)
    assert machine.ran == [("update-rc.d", "web", "disable")]


def test_the_manager_is_the_one_that_runs_the_machine() -> None:
    both: Any = RecordedMachine(folders={"/run/systemd/system": [], "/etc/init.d": []})
    assert isinstance(service_manager(both), Systemd)
    assert isinstance(service_manager(_with_scripts()), SysV)
    with pytest.raises(StateFailed, match="No service manager"):
        service_manager(RecordedMachine())  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["-x", "../x", "a/b", "", "a b", "x\n", "--now"])
def test_names_that_are_no_services_are_refused(name: str) -> None:
    with pytest.raises(StateFailed, match="Invalid service name"):
        check_name(name)


def test_names_of_instances_are_taken() -> None:
    check_name("getty@tty1")
    check_name("systemd-cryptsetup@luks\\x2droot")


def test_masks() -> None:
    machine: Any = RecordedMachine()
    systemd = Systemd()
    assert systemd.masked(machine, "nginx", runtime=False) is False
    systemd.mask(machine, "nginx", masked=True, runtime=True)
    systemd.mask(machine, "nginx", masked=False, runtime=False)
    assert machine.ran == [
        ("systemctl", "mask", "--runtime", "--", "nginx.service"),
        ("systemctl", "unmask", "--", "nginx.service"),
    ]
    with pytest.raises(StateFailed, match="not available on this minion"):
        SysV().masked(machine, "nginx", runtime=False)
