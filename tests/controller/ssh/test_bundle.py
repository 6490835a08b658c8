"""The worker that is sent to machines without an agent."""

from __future__ import annotations

import socket
import sys
import tarfile
from importlib.util import MAGIC_NUMBER
from pathlib import Path

import pytest

from controller.ssh.bundle import NoBundle, TargetPython, make_bundle


def python(version=sys.version_info[:2], **given):
    more = {"magic": MAGIC_NUMBER.hex(), "machine": "x86_64", "libc": "glibc", **given}
    return TargetPython(version=version, **more)


def _reached():
    try:
        socket.create_connection(("pypi.org", 443), timeout=5).close()
    except OSError:
        return False
    return True


def names(bundle):
    with tarfile.open(bundle.path) as tar:
        return set(tar.getnames())


def test_it_is_made_once(tmp_path):
    first = make_bundle(python(), tmp_path)
    made = first.path.stat().st_mtime_ns
    assert make_bundle(python(), tmp_path) == first
    assert first.path.stat().st_mtime_ns == made
    again = make_bundle(python(), tmp_path, again=True)
    assert again.digest == first.digest, "the same files make the same bytes"
    assert again.path.stat().st_mtime_ns != made
    assert {"minion/visit/bridge_end.py", "zmq/__init__.py", "yaml/__init__.py"} <= names(first)
    assert not any(name.startswith(("controller/", "pip/")) for name in names(first))


def test_a_machine_with_another_c_library_is_refused(tmp_path):
    with pytest.raises(NoBundle, match="glibc is needed"):
        make_bundle(python(libc=""), tmp_path)


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("version", "machine"), [((3, 13), "x86_64"), ((3, 12), "aarch64")])
def test_libraries_for_another_python_are_fetched(tmp_path, version, machine):
    if not _reached():
        pytest.skip("pypi.org is not reached from here")
    found = names(make_bundle(python(version, machine=machine), tmp_path))
    tag = f"cpython-{version[0]}{version[1]}-{machine}"
    compiled = {Path(name).name for name in found if name.endswith(".so") and "cpython-3" in name}
    assert compiled, "there are modules in C"
    assert {name for name in compiled if tag not in name} == set()
    assert "minion/visit/bridge_end.py" in found


def test_a_python_without_wheels_is_named(tmp_path):
    if not _reached():
        pytest.skip("pypi.org is not reached from here")
    with pytest.raises(NoBundle, match=r"no libraries for Python 3\.99 on x86_64"):
        make_bundle(python((3, 99)), tmp_path)
