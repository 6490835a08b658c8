"""`mode: keep` and `file_mode: keep`: files have the mode that they have in the tree, or on the machine."""

import io
import json
from pathlib import Path

import pytest

from minion.call.call import main
from minion.call.options import CallOptions


@pytest.fixture
def call(tmp_path):
    """call(sls, *words): what `state.apply s` gives, by name; `{top}` in the SLS is a folder of its own."""
    tree = tmp_path / "tree"
    for name, mode in (("run.sh", 0o755), ("secret", 0o600), ("t/a", 0o644), ("t/b", 0o755)):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(f"{name}\n")
        (tree / name).chmod(mode)
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/minion").write_text(f"id: web1\nroot_dir: {tmp_path}/root\n")

    def apply(sls, *words):
        (tree / "s.sls").write_text(sls.replace("{top}", str(tmp_path)))
        out, err = io.StringIO(), io.StringIO()
        options = CallOptions(
            fun="state.apply",
            args=("s", *words),
            local=True,
            out="json",
            config_dir=tmp_path / "etc",
            file_root=(str(tree),),
        )
        main(options, out, err)
        assert out.getvalue(), err.getvalue()
        return {one["name"]: one for one in json.loads(out.getvalue())["local"].values()}

    return apply


def _mode(path):
    return Path(path).stat().st_mode & 0o7777


def test_a_file_has_the_mode_of_its_source(call, tmp_path):
    sls = "{top}/f:\n  file.managed:\n    - source: salt://run.sh\n    - mode: keep\n"
    predicted = call(sls, "test=True")[f"{tmp_path}/f"]
    done = call(sls)[f"{tmp_path}/f"]
    assert predicted["changes"] == done["changes"] == {"diff": "New file", "mode": "0755"}
    assert _mode(tmp_path / "f") == 0o755
    (tmp_path / "f").chmod(0o600)
    assert call(sls)[f"{tmp_path}/f"]["changes"] == {"mode": "0755"}
    assert call(sls)[f"{tmp_path}/f"]["changes"] == {}


def test_the_first_source_that_is_there_counts(call, tmp_path):
    local = tmp_path / "local"
    local.write_text("local\n")
    local.chmod(0o4711)
    found = call(
        "{top}/f:\n  file.managed:\n    - source: [salt://none, salt://run.sh]\n    - mode: keep\n"
        "{top}/g:\n  file.managed:\n    - source: {top}/local\n    - mode: keep\n"
    )
    assert all(one["result"] for one in found.values())
    assert (_mode(tmp_path / "f"), _mode(tmp_path / "g")) == (0o755, 0o4711)


def test_contents_have_no_mode_to_keep(call, tmp_path):
    found = call("{top}/f:\n  file.managed:\n    - contents: x\n    - mode: keep\n")[f"{tmp_path}/f"]
    assert found["result"] is True
    assert "mode: keep follows sources" in str(found)


def test_each_file_of_a_tree_has_its_own_mode(call, tmp_path):
    sls = "{top}/d:\n  file.recurse:\n    - source: salt://t\n    - file_mode: keep\n"
    assert call(sls, "test=True")[f"{tmp_path}/d"]["changes"] == call(sls)[f"{tmp_path}/d"]["changes"]
    assert (_mode(tmp_path / "d/a"), _mode(tmp_path / "d/b")) == (0o644, 0o755)
    assert call(sls)[f"{tmp_path}/d"]["changes"] == {}
