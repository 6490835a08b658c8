"""`cp.push` and `cp.push_dir`: what goes to the controller, and what is refused before."""

from pathlib import Path

import pytest

from controller.messages.pushed_files import PushedFiles, PushRefused
from minion.execution import CallFailed, Context, Modules
from wire.limits import MinionLimits
from wire.messages import BLOB_CHUNK, FilePushed, Refused


class Controller:
    """The part of a controller that keeps files, without the wire between."""

    def __init__(self, folder, most_file=4 * BLOB_CHUNK):
        self.folder = folder / "web1/files"
        self.kept = PushedFiles(folder=folder, send=print, limits=MinionLimits(), most_file=most_file, on_refusal=print)

    def take(self, piece):
        try:
            return FilePushed(request=piece.request, size=self.kept.keep("web1", piece))
        except PushRefused as error:
            return Refused(message=str(error))

    def below(self):
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*") if path.is_file()}


@pytest.fixture
def controller(tmp_path):
    return Controller(tmp_path / "controller")


def call(controller, fun, *args, **kwargs):
    return Modules(Context(minion_id="web1", push=controller.take)).call(fun, args, kwargs)


def kept(controller, path):
    return (controller.folder / str(path).lstrip("/")).read_bytes()


@pytest.mark.parametrize("size", [0, 1, BLOB_CHUNK, 2 * BLOB_CHUNK + 1])
def test_a_file_arrives_whole(controller, tmp_path, size):
    source = tmp_path / "größe"
    source.write_bytes((b"0123456789" * (size // 10 + 1))[:size])
    assert call(controller, "cp.push", str(source)) is True
    assert kept(controller, source) == source.read_bytes()


def test_a_link_is_sent_by_the_name_of_what_it_leads_to_or_by_its_own(controller, tmp_path):
    (tmp_path / "real").write_text("x")
    link = tmp_path / "link"
    link.symlink_to("real")
    assert call(controller, "cp.push", str(link)) is True
    assert call(controller, "cp.push", str(link), keep_symlinks=True, upload_path="") is True
    assert {Path(path).name for path in controller.below()} == {"real", "link"}


def test_another_place_and_the_source_removed(controller, tmp_path):
    source = tmp_path / "a"
    source.write_text("x")
    assert call(controller, "cp.push", str(source), upload_path="/with//another/./name", remove_source=True) is True
    assert controller.below() == {"with/another/name"}
    assert not source.exists()


def test_what_is_no_file_is_false_as_in_salt(controller, tmp_path):
    (tmp_path / "a").write_text("x")
    for path in (tmp_path, tmp_path / "none", "a", tmp_path / "b/../a"):
        assert call(controller, "cp.push", str(path)) is False
    assert call(controller, "cp.push", str(tmp_path / "a"), upload_path="../../x") is False
    assert not controller.folder.exists()


def test_what_is_not_kept_is_an_error_and_the_source_stays(controller, tmp_path):
    source = tmp_path / "large"
    source.write_bytes(b"x" * (4 * BLOB_CHUNK + 1))
    with pytest.raises(CallFailed, match="file_recv_max_size"):
        call(controller, "cp.push", str(source), remove_source=True)
    assert source.exists()
    for path in ("/".join("a" * 65), "a" * 256, "a/\udcff"):
        with pytest.raises(CallFailed, match="give another upload_path"):
            call(controller, "cp.push", str(source), upload_path=path)
    with pytest.raises(CallFailed, match="there is no controller"):
        Modules(Context(minion_id="web1")).call("cp.push", [str(source)], {})


def test_a_folder_with_all_below_it(controller, tmp_path):
    top = tmp_path / "top"
    (top / "deep").mkdir(parents=True)
    for name in ("a.conf", "b.txt", "deep/c.conf"):
        (top / name).write_text(name)
    assert call(controller, "cp.push_dir", str(top), glob="*.conf", upload_path="/conf/") is True
    assert controller.below() == {"conf/a.conf", "conf/deep/c.conf"}
    assert call(controller, "cp.push_dir", str(top)) is True
    assert kept(controller, top / "b.txt") == b"b.txt"
    assert call(controller, "cp.push_dir", str(top / "a.conf"), upload_path="one") is True
    assert kept(controller, "one") == b"a.conf"
    for path, glob in ((top, "*.none"), (tmp_path / "none", None), ("top", None), (f"{top}/../top", None)):
        assert call(controller, "cp.push_dir", str(path), glob=glob) is False
