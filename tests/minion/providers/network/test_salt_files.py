"""What is written for an interface and for routes is what real Salt writes, as tools/oracle/network.py recorded it."""

import json

import pytest
from below_root import BelowRoot

from minion.providers.network.files import InterfaceWish, write_all
from minion.providers.network.ifcfg import Ifcfg
from minion.providers.network.ifupdown import Ifupdown
from tools.oracle.network import DEBIAN, GOLDEN, REDHAT

RECORDED = json.loads(GOLDEN.read_text())
FOLDERS = (
    "/etc/network/if-up.d", "/etc/network/if-down.d", "/etc/network/interfaces.d", "/etc/sysconfig/network-scripts",
)  # fmt: skip


def _lines(case, files, machine):
    if not case.kind:
        return files.wanted_routes(machine, case.name, case.settings["routes"])
    wish = InterfaceWish(name=case.name, kind=case.kind, enabled=case.enabled, settings=case.settings)
    return files.wanted_interface(machine, wish)


@pytest.mark.parametrize(
    ("module", "place"),
    [("debian_ip", place) for place in range(len(DEBIAN))] + [("rh_ip", place) for place in range(len(REDHAT))],
)
def test_files_are_salts(tmp_path, module, place):
    case, salt = (DEBIAN if module == "debian_ip" else REDHAT)[place], RECORDED[module][place]
    machine = BelowRoot.of(tmp_path)
    for folder in FOLDERS:
        (tmp_path / folder[1:]).mkdir(parents=True)
    files = Ifupdown() if module == "debian_ip" else Ifcfg(major=8, processors=4)
    wanted = _lines(case, files, machine)
    write_all(machine, wanted.files)
    written = {path: machine.text(path) for path in salt["files"]}
    assert written == salt["files"]
    assert list(wanted.shown) == salt["lines"]
    again = files.interface(machine, case.name) if case.kind else files.routes(machine, case.name)
    assert again == list(wanted.shown)
