"""Service managers: systemd on recorded output of systemctl, init scripts and their links in a machine in memory."""

import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from predictions import assert_foretold

from highstate.files import MemoryFiles
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.failure import StateFailed
from minion.machine.machine import LocalMachine
from minion.machine.plan import Completed, FileStat
from minion.providers.service.detection import service_manager
from minion.providers.service.openrc import OpenRC
from minion.providers.service.rcd import RcD
from minion.providers.service.services import ServiceState, check_name
from minion.providers.service.systemd import Systemd, parse_show, parse_unit_files, service_of, unit
from minion.providers.service.sysv import SysV

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


def _service(shown: str) -> ServiceState | None:
    return service_of("nginx", parse_show(shown))


def test_a_service_is_read_from_systemctl_show() -> None:
    assert _service(ACTIVE) == ServiceState(name="nginx", running=True, enabled=True)
    assert _service(DEAD) == ServiceState(name="nginx", running=False, enabled=False)
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
    assert found == ServiceState(name="nginx", running=True, enabled=True)
    assert Systemd().service(_under_systemd(WRAPPED), "nginx") == ServiceState(
        name="nginx", running=True, enabled=False
    )


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
    assert SysV().service(machine, "web") == ServiceState(name="web", running=False, enabled=False)
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


def _answered(*commands: str) -> dict[tuple[str, ...], Completed]:
    return {tuple(command.split()): Completed(returncode=0, stdout="", stderr="") for command in commands}


def test_openrc_is_asked_by_its_own_tools() -> None:
    folders = {
        "/run/openrc": [],
        "/etc/init.d": ["crond", "functions.sh", "sshd"],
        "/etc/runlevels": ["boot", "default"],
    }
    files = {
        "/sbin/openrc-run": "0755",
        "/etc/init.d/sshd": "0755",
        "/etc/init.d/crond": "0755",
        "/etc/init.d/functions.sh": "0644",
    }
    machine: Any = RecordedMachine(folders=folders, files={**files, "/etc/runlevels/default/sshd": "0777"})
    machine.answers = _answered("rc-service --nocolor sshd status")
    manager = service_manager(machine)
    assert isinstance(manager, OpenRC)
    assert manager.services(machine) == ["crond", "sshd"]
    assert manager.service(machine, "sshd") == ServiceState(name="sshd", running=True, enabled=True)
    assert manager.service(machine, "crond") == ServiceState(name="crond", running=False, enabled=False)
    assert manager.service(machine, "functions.sh") is None
    manager.control(machine, "sshd", "force-reload")
    manager.enable(machine, "sshd", enabled=True)
    manager.enable(machine, "sshd", enabled=False)
    assert machine.ran == [
        ("rc-service", "--nocolor", "sshd", "reload"),
        ("rc-update", "--quiet", "add", "sshd", "default"),
        ("rc-update", "--quiet", "--all", "delete", "sshd"),
    ]
    with pytest.raises(StateFailed, match="not available on this minion"):
        manager.mask(machine, "sshd", masked=True, runtime=False)


def test_freebsd_is_asked_by_service() -> None:
    folders = {"/etc/rc.d": ["cron", "sshd"], "/usr/local/etc/rc.d": ["nginx"]}
    files = {
        "/etc/rc.subr": "0644",
        "/etc/rc.d/cron": "0555",
        "/etc/rc.d/sshd": "0555",
        "/usr/local/etc/rc.d/nginx": "0555",
    }
    machine: Any = RecordedMachine(folders=folders, files=files)
    machine.answers = _answered("service nginx onestatus", "service cron enabled")
    manager = service_manager(machine)
    assert isinstance(manager, RcD)
    assert manager.services(machine) == ["cron", "nginx", "sshd"]
    assert manager.service(machine, "nginx") == ServiceState(name="nginx", running=True, enabled=False)
    assert manager.service(machine, "cron") == ServiceState(name="cron", running=False, enabled=True)
    assert manager.service(machine, "nosuch") is None
    manager.control(machine, "nginx", "restart")
    manager.control(machine, "nginx", "force-reload")
    manager.enable(machine, "nginx", enabled=True)
    assert machine.ran == [
        ("service", "nginx", "onerestart"),
        ("service", "nginx", "onereload"),
        ("service", "nginx", "enable"),
    ]


def test_chkconfig_stands_in_for_update_rc_d() -> None:
    machine: Any = RecordedMachine(files={"/sbin/chkconfig": "0755", "/etc/init.d/web": "0755"})
    SysV().enable(machine, "web", enabled=True)
    assert machine.ran == [("chkconfig", "web", "on")]


def test_a_start_need_not_be_waited_for() -> None:
    machine = _under_systemd(ACTIVE)
    Systemd().control(machine, "nginx", "start", block=False)
    assert machine.ran == [("systemctl", "--no-block", "start", "--", "nginx.service")]


class Rooted(LocalMachine):
    """This machine, whose files are looked for below a folder."""

    root: Path

    def stat(self, path: str) -> FileStat | None:
        return super().stat(f"{self.root}{path}")


@pytest.fixture
def rooted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rooted:
    """A root with a unit, a real systemctl that works on it, and beside it one that plays the running systemd."""
    program = shutil.which("systemctl")
    if program is None:
        pytest.skip("systemctl is not installed")
    for folder in ("root/etc/systemd/system", "root/run/systemd/system", "root/usr/lib/systemd/system", "bin"):
        (tmp_path / folder).mkdir(parents=True)
    unit_text = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
    (tmp_path / "root/usr/lib/systemd/system/web.service").write_text(unit_text)
    (tmp_path / "bin/systemctl").write_text(
        f"""#!/bin/sh
echo "$*" >> {tmp_path}/log
case "$1" in
  show)
    echo LoadState=loaded
    echo NeedDaemonReload=no
    if [ -e {tmp_path}/runs ]; then echo ActiveState=active; else echo ActiveState=inactive; fi
    echo "UnitFileState=$({program} --root={tmp_path}/root is-enabled web.service)" ;;
  start) touch {tmp_path}/runs ;;
  stop) rm -f {tmp_path}/runs ;;
  --no-block) if [ "$2" = stop ]; then rm -f {tmp_path}/runs; else touch {tmp_path}/runs; fi ;;
  enable|disable|mask|unmask) exec {program} --root={tmp_path}/root "$@" ;;
esac
"""
    )
    (tmp_path / "bin/systemctl").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    machine = Rooted(sources_port=MemoryFiles({}))
    machine.root = tmp_path / "root"
    return machine


def _run(machine: Rooted, fun: str, *, watched: bool = False, test: bool = False, **arguments: Any) -> StateResult:
    chunk = Chunk(state="service", fun=fun, id="web", name="web", sls="web", arguments=arguments)
    engine = StateEngine(machine, test=test)
    prepared = engine.plan(chunk, arguments, watched=watched)
    assert prepared is not None
    return engine.act(prepared)


def test_a_real_systemctl_enables_and_masks(rooted: Rooted) -> None:
    system = rooted.root / "etc/systemd/system"
    assert _run(rooted, "enabled").changes == {"web": True}
    assert (system / "multi-user.target.wants/web.service").is_symlink()
    assert _run(rooted, "enabled").changes == {}
    assert _run(rooted, "disabled").changes == {"web": True}
    assert not (system / "multi-user.target.wants/web.service").exists()
    assert _run(rooted, "masked", test=True).comment == "Service web would be masked"
    masked = _run(rooted, "masked")
    assert (masked.comment, masked.changes) == ("Service web was masked", {"masked": {"old": False, "new": True}})
    assert (system / "web.service").readlink() == Path("/dev/null")
    assert _run(rooted, "masked").comment == "Service web is already masked"
    predicted = _run(rooted, "running", unmask=True, enable=True, test=True)
    started = _run(rooted, "running", unmask=True, enable=True)
    assert predicted.comment == "Service web is set to start\nService web would be unmasked"
    assert started.changes == predicted.changes == {"masked": {"old": True, "new": False}, "web": True}
    assert started.comment == "Service web has been enabled, and is running\nService web was unmasked"
    assert not (system / "web.service").exists()
    again = _run(rooted, "running", unmask=True, enable=True)
    assert again.comment == "The service web is already running\nService web was already unmasked"


def test_what_is_foretold_of_a_service_is_what_is_done(rooted: Rooted) -> None:
    states = [
        ("dead", {"enable": False}), ("masked", {}), ("masked", {}), ("unmasked", {}), ("unmasked", {}),
        ("running", {}), ("enabled", {}), ("running", {"enable": True}), ("disabled", {}), ("disabled", {}),
        ("dead", {"enable": True}), ("dead", {}), ("enabled", {}), ("running", {"enable": False}),
        ("masked", {"runtime": False}), ("running", {"unmask": True, "enable": True}),
    ]  # fmt: skip
    assert_foretold(rooted, *((f"service.{fun}", "web", arguments) for fun, arguments in states))


def test_what_a_watch_asks_systemd_for(rooted: Rooted, tmp_path: Path) -> None:
    assert _run(rooted, "running", no_block=True).result is True
    assert _run(rooted, "running", watched=True).comment == "Service restarted"
    assert _run(rooted, "running", watched=True, reload=True).comment == "Service reloaded"
    assert _run(rooted, "running", watched=True, reload=True, force=True).comment == "Service forcefully reloaded"
    assert _run(rooted, "running", watched=True, no_block=True).comment == "Service restarted"
    assert _run(rooted, "dead", no_block=True).result is True
    asked = [line for line in (tmp_path / "log").read_text().splitlines() if not line.startswith("show")]
    assert asked == [
        "--no-block start -- web.service",
        "restart -- web.service",
        "reload -- web.service",
        "force-reload -- web.service",
        "--no-block restart -- web.service",
        "--no-block stop -- web.service",
    ]
