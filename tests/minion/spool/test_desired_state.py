from __future__ import annotations

import stat

import pytest

from minion.spool.desired_state import FILE_NAME, DesiredState, read_document
from wire import patch
from wire.errors import PatchMismatch
from wire.messages import DesiredUpdate, Preview


def desire(old, new, generation=1, **fields):
    base = "" if old is None else patch.digest(old)
    made = {"generation": generation, "base": base, "digest": patch.digest(new), "patch": patch.diff(old, new)}
    return DesiredUpdate(**{**made, **fields})


@pytest.fixture
def documents(desired_state):
    first = desired_state(("test", "nop", "a"), pillar={"p": 1}, drift={"interval": 60}).as_document()
    second = desired_state(("test", "nop", "b"), ("test", "nop", "a"), pillar={"p": 2}).as_document()
    return first, second


def test_whole_then_patch_survive_a_restart(tmp_path, documents):
    first, second = documents
    desired_state = DesiredState(tmp_path)
    assert desired_state.digest == ""
    desired_state.accept(desire(None, first))
    assert desired_state.drift == {"interval": 60}
    desired_state.accept(desire(first, second, generation=2))

    again = DesiredState(tmp_path)

    assert (again.digest, again.generation, again.drift) == (patch.digest(second), 2, {})
    assert read_document(tmp_path / FILE_NAME).desired.as_document() == second
    assert stat.S_IMODE((tmp_path / FILE_NAME).stat().st_mode) == 0o600


def test_a_patch_for_another_base_is_refused_and_changes_nothing(tmp_path, documents):
    first, second = documents
    desired_state = DesiredState(tmp_path)
    with pytest.raises(PatchMismatch, match="nothing is held"):
        desired_state.accept(desire(first, second))
    desired_state.accept(desire(None, first))
    with pytest.raises(PatchMismatch):
        desired_state.accept(desire(second, first, digest="0" * 64))
    assert DesiredState(tmp_path).digest == patch.digest(first)


def test_a_wrong_digest_is_refused(tmp_path, documents):
    with pytest.raises(PatchMismatch, match="is not"):
        DesiredState(tmp_path).accept(desire(None, documents[0], digest="f" * 64))


@pytest.mark.parametrize("document", [[], "x", None, {"chunks": {}}, {"chunks": {"a": {}}, "pillar": 1}])
def test_what_is_no_document_is_refused(tmp_path, document):
    with pytest.raises(PatchMismatch, match="no desired document"):
        DesiredState(tmp_path).accept(
            DesiredUpdate(generation=1, base="", digest=patch.digest(document), patch=["v", document])
        )


@pytest.mark.parametrize("damage", [b"", b"\xc1garbage", None])
def test_a_damaged_file_is_as_good_as_none(tmp_path, documents, damage, caplog):
    desired_state = DesiredState(tmp_path)
    desired_state.accept(desire(None, documents[0]))
    path = tmp_path / FILE_NAME
    data = path.read_bytes()
    path.write_bytes(damage if damage is not None else data[:-1] + bytes([data[-1] ^ 1]))

    again = DesiredState(tmp_path)

    assert again.digest == ""
    assert "event=desired_unreadable" in caplog.text
    again.accept(desire(None, documents[1]))
    assert DesiredState(tmp_path).digest == patch.digest(documents[1])


def test_a_preview_is_not_held(tmp_path, documents):
    first, second = documents
    desired_state = DesiredState(tmp_path)
    desired_state.accept(desire(None, first))
    packed = desired_state.packed_preview(
        Preview(run_id="p", base=desired_state.digest, digest=patch.digest(second), patch=patch.diff(first, second))
    )
    (tmp_path / "preview").write_bytes(packed)
    assert read_document(tmp_path / "preview").desired.as_document() == second
    assert DesiredState(tmp_path).digest == patch.digest(first)
