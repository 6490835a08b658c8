"""logrotate: a configuration with files that it includes, which the real logrotate reads afterwards."""

import shutil
import subprocess

import pytest

from highstate.files import MemoryFiles
from minion.execution import CallFailed, Context, Modules
from minion.machine.machine import LocalMachine
from minion.providers.logrotate import configuration

MAIN = """# see "man logrotate"
weekly
rotate 4
create
include {top}/d
"""
LOGINS = """/var/log/wtmp {
    missingok
    monthly
    create 0664 root utmp
    rotate 1
}
# two of them
/var/log/a /var/log/b
{
    daily
    postrotate
        kill -HUP 1 }
        rotate nothing
    endscript
}
"""


@pytest.fixture
def conf(tmp_path):
    """The main file."""
    (tmp_path / "d").mkdir()
    (tmp_path / "d/logins").write_text(LOGINS)
    (tmp_path / "main").write_text(MAIN.format(top=tmp_path))
    return tmp_path / "main"


def shown(conf):
    return configuration(LocalMachine(sources_port=MemoryFiles({})), str(conf))


def read_by_logrotate(conf):
    program = shutil.which("logrotate")
    if program is None:
        return True
    done = subprocess.run([program, "-d", "-s", "/dev/null", conf], capture_output=True, text=True, check=False)
    return "error:" not in done.stderr.replace("error: stat", "")


def test_directives_of_the_main_file(converge, conf):
    done = converge("logrotate.set", "x", key="rotate", value="2", conf_file=str(conf))
    assert (done.changes, done.comment) == ({"old": 4, "new": 2}, "Set command 'rotate' value: 2")
    converge("logrotate.set", "x", key="compress", value=True, conf_file=str(conf))
    converge("logrotate.set", "x", key="create", value=False, conf_file=str(conf))
    assert conf.read_text() == f'compress\n# see "man logrotate"\nweekly\nrotate 2\ninclude {conf.parent}/d\n'
    assert converge("logrotate.set", "x", key="weekly", value=True, conf_file=str(conf)).changes == {}
    assert read_by_logrotate(conf)


def test_directives_of_blocks_stand_in_the_file_that_has_them(converge, conf):
    where = {"conf_file": str(conf)}
    done = converge("logrotate.set", "x", key="/var/log/wtmp", value="rotate", setting="3", **where)
    assert done.changes == {"old": 1, "new": 3}
    assert done.comment == "Set block '/var/log/wtmp' command 'rotate' value: 3"
    converge("logrotate.set", "x", key="/var/log/b", value="rotate", setting=5, **where)
    converge("logrotate.set", "x", key="/var/log/b", value="daily", setting=False, **where)
    assert (conf.parent / "d/logins").read_text() == LOGINS.replace("rotate 1\n", "rotate 3\n").replace(
        "    daily\n", ""
    ).replace("endscript\n}", "endscript\n    rotate 5\n}")
    assert conf.read_text() == MAIN.format(top=conf.parent)
    converge("logrotate.set", "x", key="/var/log/new", value="daily", setting=True, **where)
    assert conf.read_text().endswith("/var/log/new {\n    daily\n}\n")
    assert read_by_logrotate(conf)


def test_what_cannot_be_set_is_an_error(converge, conf):
    where = {"conf_file": str(conf)}
    assert "includes a dict" in converge("logrotate.set", "x", key="/var/log/wtmp", value=1, **where).comment
    assert "is not a dict" in converge("logrotate.set", "x", key="rotate", value="a", setting=1, **where).comment
    assert "without braces" in converge("logrotate.set", "x", key="mail", value="a }", **where).comment
    assert "is not there" in converge("logrotate.set", "x", key="a", value=1, conf_file=f"{conf}.none").comment


def test_the_module_shows_and_sets(conf):
    found = shown(conf)
    assert {key: found[key] for key in ("weekly", "rotate", "create")} == {"weekly": True, "rotate": 4, "create": True}
    assert found["/var/log/wtmp"] == {"missingok": True, "monthly": True, "create": "0664 root utmp", "rotate": 1}
    assert found["/var/log/a"]["postrotate"] == "kill -HUP 1 }\n        rotate nothing"
    assert found["include files"] == {"logins": ["/var/log/wtmp", "/var/log/a", "/var/log/b"]}
    modules = Modules(Context(minion_id="m"))
    where = {"conf_file": str(conf)}
    assert modules.call("logrotate.show_conf", (), where) == found
    assert modules.call("logrotate.set", ("/var/log/wtmp", "rotate", 9), where) is True
    assert modules.call("logrotate.get", ("/var/log/wtmp", "rotate"), where) == 9
    assert modules.call("logrotate.get", ("none",), where) is False
    with pytest.raises(CallFailed, match="is not there"):
        modules.call("logrotate.get", ("rotate",), {"conf_file": f"{conf}.none"})
