"""Reports of previews for tests: one for each kind of thing that a comment has to show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.schema.plans import FieldDiff
from controller.schema.previews import MovedSource
from controller.schema.reports import (
    ApplyTiming,
    Capability,
    ChangeClass,
    FileDiff,
    Hole,
    LiveTest,
    MinionErrors,
    PreviewReport,
    ResourceChange,
    ServiceRestart,
    Violation,
)

BASE = "1f6d0c5b0b6b5a9de6f7c7a3dc5f64bd8f4f9a01"
HEAD = "9c1d0e7ac3b44c8d9ff1dd6b1f6ce52a0a7e22c4"
URL = "https://saltern.example/previews/abc123?expires=1764000000&signature=0f"


def report(**fields: Any) -> PreviewReport:
    """A report with usual values."""
    usual: dict[str, Any] = {
        "controller": "saltern-1",
        "environment": "prod",
        "made_at": 1764000000.5,
        "seconds": 1.25,
        "base": BASE,
        "head": HEAD,
        "merged": True,
        "moved": (
            MovedSource(remote="states", base=BASE[:8], head=HEAD[:8], author="Ada", subject="nginx: two workers more"),
        ),
        "minions": 1204,
    }
    return PreviewReport(**{**usual, **fields})


def diff(lines: int, *, path: str = "/etc/nginx/nginx.conf") -> str:
    """A unified difference with so many changed lines, each with three lines around it."""
    found = [f"--- {path}", f"+++ {path}"]
    for number in range(lines):
        start = 1 + number * 20
        found += [f"@@ -{start},7 +{start},7 @@", f" # part {number}", " user www-data;", " pid /run/nginx.pid;"]
        found += [f"-worker_processes {number};", f"+worker_processes {number + 2};"]
        found += [" events {", "     worker_connections 768;", " }"]
    return "\n".join(found)


def config(name: str = "nginx.conf", lines: int = 1, **fields: Any) -> ResourceChange:
    """A changed file."""
    path = f"/etc/nginx/{name}"
    usual: dict[str, Any] = {
        "action": "changed",
        "key": f"file_|-{name}_|-{path}_|-managed",
        "title": f"{name} (file.managed)",
        "function": "file.managed",
        "origin": "web/nginx.sls:12",
        "commit": "9c1d0e7a nginx: two workers more",
        "fields": (FieldDiff(field="mode", old="0644", new="0640"),),
        "files": (FileDiff(path=path, text=diff(lines, path=path)),),
        "triggers": ("nginx (service.running)",),
    }
    return ResourceChange(**{**usual, **fields})


def restart(**fields: Any) -> ResourceChange:
    """A service that the file triggers."""
    usual: dict[str, Any] = {
        "action": "retriggered",
        "key": "service_|-nginx_|-nginx_|-running",
        "title": "nginx (service.running)",
        "function": "service.running",
        "origin": "web/nginx.sls:20",
        "triggered_by": ("nginx.conf (file.managed)",),
    }
    return ResourceChange(**{**usual, **fields})


def removal() -> ResourceChange:
    """A package that goes."""
    return ResourceChange(
        action="added",
        key="pkg_|-apache2_|-apache2_|-purged",
        title="apache2 (pkg.purged)",
        function="pkg.purged",
        origin="web/apache.sls:1",
        irreversible="the package's configuration is deleted with it",
    )


def orphan() -> ResourceChange:
    """A state that is not managed any more."""
    return ResourceChange(
        action="removed",
        key="cron_|-backup_|-backup_|-present",
        title="backup (cron.present)",
        function="cron.present",
        origin="backup/init.sls:3",
    )


def group(count: int, *resources: ResourceChange, prefix: str = "web", **fields: Any) -> ChangeClass:
    """A class of so many minions."""
    minions = tuple(sorted(f"{prefix}{number}.example.org" for number in range(1, count + 1)))
    folded = minions[0] if count == 1 else f"{prefix}[1-{count}].example.org"
    usual: dict[str, Any] = {"id": f"{prefix}{count}", "minions": minions, "folded": folded}
    return ChangeClass(**{**usual, "resources": resources or (config(), restart()), **fields})


def restarts(each: ChangeClass, *groups: str) -> ServiceRestart:
    """nginx restarts on the minions of a class."""
    return ServiceRestart(
        service="nginx", action="restart", minions=each.minions, folded=each.folded, whole_groups=groups
    )


def broken(number: int = 0, minions: int = 2) -> MinionErrors:
    """Minions for which the head does not compile."""
    names = tuple(f"db{number}-{minion}.example.org" for minion in range(minions))
    text = (
        f"db/init.sls:{number + 7}: mapping values are not allowed here\n"
        f"  {number + 6} |   file.managed:\n  {number + 7} |     - name: /etc/my.cnf: oops\n{' ' * 28}^"
    )
    return MinionErrors(minions=names, folded=f"db{number}-[0-{minions - 1}].example.org", texts=(text,))


def one_class() -> PreviewReport:
    """One class, with everything that a class can have."""
    live = LiveTest(
        minion="web1.example.org",
        outcome="changed",
        changes=2,
        summary="2 states would change",
        drift={
            "file_|-motd_|-/etc/motd_|-managed": {
                "comment": "The file /etc/motd is set to be changed",
                "changes": {"diff": "--- \n+++ \n@@ -1 +1 @@\n-by hand\n+managed\n"},
            }
        },
    )
    hole = Hole(name="⟨grains.id⟩", examples={"web1.example.org": "web1", "web2.example.org": "web2"})
    web = group(40, config(), restart(), removal(), orphan(), holes=(hole,), tests=(live,), sampled=1)
    return report(
        changed=40,
        unchanged=1164,
        classes=(web,),
        restarts=(restarts(web, "role web (40 minions)"),),
        timing=(
            ApplyTiming(
                kind="paused", text="web7.example.org is paused; nothing is applied there", minions=web.minions[:1]
            ),
        ),
        capabilities=(Capability(kind="command", text="cmd.run in web/apache.sls", origin="web/apache.sls:9"),),
    )


def many_classes(count: int = 30) -> PreviewReport:
    """Classes of falling size."""
    classes = tuple(
        group(count + 1 - number, config(f"site{number}.conf", 2), prefix=f"c{number}-")
        for number in range(1, count + 1)
    )
    changed = sum(len(each.minions) for each in classes)
    return report(changed=changed, unchanged=1204 - changed, classes=classes)


def large_fleet() -> PreviewReport:
    """5,000 minions in three classes."""
    classes = (group(4000), group(900, restart(), prefix="db"), group(1, removal(), prefix="old"))
    groups = ("role web (4,000 minions)",)
    return report(minions=5000, changed=4901, unchanged=99, classes=classes, restarts=(restarts(classes[0], *groups),))


def compile_errors() -> PreviewReport:
    """Errors, a rule that is broken, warnings, and answers that are missing."""
    missing = MinionErrors(minions=("edge1",), folded="edge1", texts=("network.ip_addrs",))
    warning = MinionErrors(minions=("web1",), folded="web1", texts=("web/init.sls:3: `watch` of an unknown state",))
    return report(
        changed=40,
        unchanged=1159,
        classes=(group(40),),
        broken=(broken(0), broken(1)),
        unknown=(missing,),
        warned=(warning,),
        violations=(
            Violation(rule="previews.max_minions", message="40 minions change, 20 are allowed", approvable=True),
            Violation(rule="previews.forbid", message="web/nginx.sls:9 uses cmd.run, which is forbidden"),
        ),
        problems=("saltern.yaml of the head cannot be used: line 3: `canary` must be a number; the base's holds",),
    )


def huge_diffs() -> PreviewReport:
    """A file whose difference is larger than any comment, beside a small one."""
    return report(
        changed=41, unchanged=1163, classes=(group(40, config("big.conf", 4000), config()), group(1, config()))
    )


def binary_files() -> PreviewReport:
    """Contents that cannot be shown."""
    logo = FileDiff(path="/var/www/logo.png", note="binary, 1,204 -> 1,310 bytes")
    dump = FileDiff(path="/srv/dump.sql", note="too large to be compared here")
    return report(changed=40, unchanged=1164, classes=(group(40, config(files=(logo, dump), fields=())),))


def with_holes() -> PreviewReport:
    """Values that differ by minion."""
    text = "--- /etc/hostname\n+++ /etc/hostname\n@@ -1 +1,2 @@\n ⟨grains.id⟩\n+# address ⟨value 1⟩"
    hostname = config("hostname", fields=(), files=(FileDiff(path="/etc/hostname", text=text),))
    holes = tuple(
        Hole(name=name, examples={f"web{number}": f"{value}{number}" for number in (1, 2, 3)})
        for name, value in (("⟨grains.id⟩", "web"), ("⟨value 1⟩", "192.0.2."))
    )
    return report(changed=40, unchanged=1164, classes=(group(40, hostname, holes=holes),))


def secrets() -> PreviewReport:
    """Secrets show as fingerprints that say that they changed."""
    field = FieldDiff(field="password", old="⟨secret 5d41⟩", new="⟨secret 7d79⟩")
    text = "--- /etc/app.ini\n+++ /etc/app.ini\n@@ -1,2 +1,2 @@\n [db]\n"
    text += "-password = ⟨secret 5d41⟩\n+password = ⟨secret 7d79⟩"
    app = config("app.ini", fields=(field,), files=(FileDiff(path="/etc/app.ini", text=text),))
    return report(changed=3, unchanged=1201, classes=(group(3, app),))


def strangers() -> PreviewReport:
    """A change from a fork."""
    found = (
        Capability(kind="renderer", text="#!py in web/evil.sls", origin="web/evil.sls:1"),
        Capability(kind="secret", text="sdb://vault/db_password", origin="web/nginx.sls:4"),
    )
    return report(changed=40, unchanged=1164, classes=(group(40),), restricted=True, capabilities=found)


SAMPLES: Mapping[str, PreviewReport] = {
    "no-change": report(unchanged=1204),
    "one-class": one_class(),
    "thirty-classes": many_classes(),
    "large-fleet": large_fleet(),
    "compile-errors": compile_errors(),
    "huge-diffs": huge_diffs(),
    "binary-files": binary_files(),
    "holes": with_holes(),
    "secrets": secrets(),
    "strangers": strangers(),
}
