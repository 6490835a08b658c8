"""The file server of a stock minion, on answers of a controller that holds a few files."""

import hashlib

import pytest

from gateway.minions.files import KeptContents, StockFiles
from gateway.minions.questions import NoAnswer, OpenQuestions
from wire.messages import BLOB_CHUNK, Blob, FileFound, FileList, FindFile, GetBlob, ListFiles, Refused

LARGE = bytes(range(256)) * 10_000
FILES = {"a/b.txt": b"text\n", "a/bin": b"\xff\xfe", "large": LARGE, "empty": b""}


class Controller:
    """Answers questions about files, and keeps what it was asked."""

    def __init__(self):
        self.asked = []
        self.questions = OpenQuestions(self._take)

    def _take(self, message):
        self.asked.append(message)
        self.questions.answered(self._answer(message))
        return True

    def _answer(self, message):
        match message:
            case FindFile(path=path, saltenv="base") if path in FILES:
                return FileFound(request=message.request, oid=f"oid-{path}", size=len(FILES[path]), mode=0o755)
            case FindFile():
                return FileFound(request=message.request)
            case ListFiles(saltenvs=True):
                return FileList(request=message.request, files={}, saltenvs=("qa",))
            case ListFiles():
                files = {path: f"oid-{path}" for path in FILES if path.startswith(message.prefix)}
                return FileList(request=message.request, files=files, links={"link": "a/b.txt"})
            case GetBlob():
                data = FILES[message.oid.removeprefix("oid-")]
                piece = data[message.offset : message.offset + BLOB_CHUNK]
                return Blob(
                    request=message.request, oid=message.oid, offset=message.offset, total=len(data), data=piece
                )
        return Refused(message="what?", request=message.request)


@pytest.fixture
def controller():
    return Controller()


@pytest.fixture
def files(controller):
    return StockFiles(questions=controller.questions, contents=KeptContents(), in_shadow=lambda: False)


async def whole(files, path, **more):
    found = b""
    while piece := (await files.serve({"path": path, "loc": len(found), **more}))["data"]:
        found += piece
    return found


@pytest.mark.parametrize("path", sorted(FILES))
async def test_files_come_whole_and_are_hashed(files, path):
    assert await whole(files, path) == FILES[path]
    assert await files.hash({"path": path}) == {
        "hsum": hashlib.sha256(FILES[path]).hexdigest(),
        "hash_type": "sha256",
    }
    assert (await files.find({"path": f"salt://{path}"}))["stat"] == [0o100755]


async def test_a_path_is_read_as_the_system_reads_it(files):
    for path in ("a//b.txt", "./a/./b.txt", "salt://a//b.txt"):
        assert await whole(files, path) == FILES["a/b.txt"]
    assert await files.listed({"prefix": "a//"}) == ["a/b.txt", "a/bin"]
    assert await files.find({"path": "a/../a/b.txt"}) == {"path": "", "rel": ""}


async def test_a_digest_is_made_once(files, controller):
    await files.hash({"path": "large"})
    before = len(controller.asked)
    await files.hash({"path": "large"})
    assert [type(each) for each in controller.asked[before:]] == [FindFile]


async def test_what_is_not_there(files):
    assert await files.find({"path": "no"}) == {"path": "", "rel": ""}
    assert await files.hash({"path": "no"}) == ""
    assert await files.hash_and_stat({"path": "no"}) == ["", None]
    assert await files.serve({"path": "no", "loc": 0}) == {"data": "", "dest": ""}
    assert await files.serve({"path": "a/b.txt", "loc": "x"}) == {"data": "", "dest": ""}


async def test_a_saltenv_of_the_load_or_of_the_address(files, controller):
    await files.find({"path": "a/b.txt", "saltenv": "dev"})
    await files.find({"path": "a/b.txt?saltenv=prod", "saltenv": "dev"})
    assert [each.saltenv for each in controller.asked] == ["dev", "prod"]


async def test_listings(files):
    assert await files.listed({"saltenv": "base"}) == sorted(FILES)
    assert await files.listed({"prefix": "/a/"}) == ["a/b.txt", "a/bin"]
    assert await files.folders({}) == ["a"]
    assert await files.saltenvs() == ["base", "qa"]
    assert await files.symlinks({}) == {"link": "a/b.txt"}


async def test_own_files_are_there_for_it_alone(files, controller):
    files.own["runs/x.sls"] = b"#!json\n{}"
    assert await whole(files, "runs/x.sls") == b"#!json\n{}"
    assert (await files.hash({"path": "runs/x.sls"}))["hsum"] == hashlib.sha256(b"#!json\n{}").hexdigest()
    assert (await files.find({"path": "runs/x.sls"}))["path"] == "runs/x.sls"
    assert controller.asked == []
    assert "runs/x.sls" not in await files.listed({})


async def test_contents_of_the_document_that_runs_count_before_the_newest(files, controller):
    files.document = {"base": {"a/b.txt": "oid-a/bin", "gone": ""}}
    assert await whole(files, "a/b.txt") == FILES["a/bin"]
    assert await files.find({"path": "gone"}) == {"path": "", "rel": ""}
    assert not any(isinstance(each, FindFile) for each in controller.asked)


async def test_a_controller_that_is_away(monkeypatch):
    files = StockFiles(questions=OpenQuestions(lambda _: False), contents=KeptContents(), in_shadow=lambda: False)
    monkeypatch.setattr(OpenQuestions.ask, "__defaults__", (0.05,))
    with pytest.raises(NoAnswer):
        await files.find({"path": "a"})


def test_small_contents_make_room():
    kept = KeptContents(most_bytes=100)
    for number in range(10):
        kept.put(str(number), b"x" * 20)
    assert kept.get("0") is None
    assert kept.get("9") == b"x" * 20
    kept.put("large", b"x" * 50)
    assert kept.get("large") is None


async def test_in_shadow_no_state_file_of_the_tree_is_there(monkeypatch, controller, files):
    monkeypatch.setitem(FILES, "web/init.sls", b"x: {cmd.run: []}")
    asked = {"path": "web/init.sls"}
    assert (await files.find(asked))["path"] == "web/init.sls"
    assert "web/init.sls" in await files.listed({})
    hidden = StockFiles(questions=controller.questions, contents=KeptContents(), in_shadow=lambda: True)
    assert not (await hidden.find(asked))["path"]
    assert await hidden.hash(asked) == ""
    assert not await whole(hidden, "web/init.sls")
    assert await hidden.listed({}) == sorted(set(FILES) - {"web/init.sls"})
    hidden.own["run.sls"] = b"own"
    assert await whole(hidden, "run.sls") == b"own"
    hidden.document = {"base": {"web/init.sls": "oid-web/init.sls"}}
    assert await whole(hidden, "web/init.sls") == FILES["web/init.sls"]
