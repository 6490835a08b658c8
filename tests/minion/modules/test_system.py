"""The execution modules pkg, service, user and group, called by name as the worker calls them."""

import shutil
from pathlib import Path

import pytest

from minion.execution import BadArguments, CallFailed, Context, Modules

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="asks apt, which is not here")
needs_scripts = pytest.mark.skipif(
    not (Path("/etc/init.d").exists() or Path("/run/systemd/system").exists()), reason="there is no service manager"
)


@pytest.fixture
def modules() -> Modules:
    return Modules(Context(minion_id="m"))


@needs_apt
def test_packages_are_looked_at(modules: Modules) -> None:
    version = modules.call("pkg.version", ["dpkg"])
    assert modules.call("pkg.list_pkgs")["dpkg"] == version
    assert modules.call("pkg.version", ["dpkg", "no-such-package-at-all"]) == {
        "dpkg": version,
        "no-such-package-at-all": "",
    }
    assert modules.call("pkg.latest_version", ["no-such-package-at-all"]) == ""
    assert modules.call("pkg.version_cmp", ["1.0~rc1", "1.0"]) == -1
    with pytest.raises(CallFailed, match="Invalid package name"):
        modules.call("pkg.latest_version", ["--help"])


@needs_scripts
def test_services_are_looked_at(modules: Modules) -> None:
    assert modules.call("service.available", ["no-such-service"]) is False
    assert modules.call("service.missing", ["no-such-service"]) is True
    assert modules.call("service.status", ["no-such-service"]) is False
    assert modules.call("service.get_all") == sorted(modules.call("service.get_all"))
    with pytest.raises(CallFailed, match="The named service no-such-service is not available"):
        modules.call("service.start", ["no-such-service"])
    with pytest.raises(CallFailed, match="Invalid service name"):
        modules.call("service.status", ["../x"])
    with pytest.raises(BadArguments):
        modules.call("service.start")


def test_users_and_groups_are_looked_at(modules: Modules) -> None:
    assert modules.call("user.info", ["root"])["uid"] == 0
    assert modules.call("user.info", ["no-such-user"]) == {}
    assert modules.call("user.primary_group", ["root"]) == "root"
    assert "root" in modules.call("user.list_groups", ["root"])
    assert "root" in modules.call("user.list_users")
    assert modules.call("group.info", ["root"])["gid"] == 0
    assert modules.call("group.info", ["no-such-group"]) == {}
    assert {"name": "root", "passwd": "x", "gid": 0, "members": modules.call("group.info", ["root"])["members"]} in (
        modules.call("group.getent")
    )
