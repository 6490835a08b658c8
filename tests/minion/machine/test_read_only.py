"""A plan has nothing to write with, also at run time."""

import pytest

from minion.machine.machine import LocalMachine
from minion.machine.plan import Machine, Reader
from minion.machine.read_only import WRITING, ReadOnly, WritesInPlan


@pytest.fixture
def reader(tmp_path):
    return ReadOnly(LocalMachine(sources_port=None, grains={"id": "web1"}))


@pytest.mark.parametrize("method", sorted(WRITING))
def test_no_plan_can_change_the_machine(reader, method):
    with pytest.raises(WritesInPlan, match=method):
        getattr(reader, method)


def test_all_of_a_machine_is_either_read_or_written():
    methods = {name for name in vars(LocalMachine) if callable(getattr(LocalMachine, name)) and name[0] != "_"}
    assert methods == WRITING | {name for name in vars(Reader) if not name.startswith("_")}
    assert {"write", "run", "remove"} <= WRITING
    assert Machine.__name__


def test_looking_goes_to_the_machine(reader, tmp_path):
    (tmp_path / "file").write_text("text")
    assert reader.read(str(tmp_path / "file")) == b"text"
    assert reader.grains == {"id": "web1"}
