"""Questions about files: answered in a thread, the minions whose questions cost least first."""

from __future__ import annotations

import asyncio
import threading
import time
from functools import partial

import pytest

from controller.sessions.file_answers import TURN_SECONDS, FileAnswers
from controller.sessions.file_server import FileServer
from gitfs.tree.snapshot import directory_snapshot
from wire.errors import MalformedMessage
from wire.messages import FileFound, FileList, FindFile, ListFiles, Refused


class Sent(list):
    """What was sent: (key, answer). Some answers are larger than a message may be."""

    def __call__(self, key, message):
        if isinstance(message, FileList) and len(message.files) > 1000:
            raise MalformedMessage("a message of many bytes")
        self.append((key, message))


class Slow(FileServer):
    """Lists wait until somebody says `go`."""

    def __init__(self):
        super().__init__()
        self.go, self.threads, self.lists = threading.Event(), set(), 0

    def answer(self, message):
        self.threads.add(threading.current_thread())
        if isinstance(message, ListFiles):
            self.lists += 1
            assert self.go.wait(60)
            time.sleep(2 * TURN_SECONDS)
        return super().answer(message)


@pytest.fixture
async def asked():
    """(answers, what they are given by, what was sent, refusals) while they are given."""
    files, sent, refused = Slow(), Sent(), []
    answers = FileAnswers(files, sent, most=5, on_refusal=refused.append)
    task = asyncio.create_task(answers.run())
    yield answers, files, sent, refused
    files.go.set()
    task.cancel()
    await asyncio.wait([task])


async def until(condition):
    for _ in range(6000):
        if condition():
            return
        await asyncio.sleep(0.01)
    pytest.fail("it did not happen")


async def test_who_has_no_room_for_an_answer_waits_and_others_do_not():
    full, sent = {"slow"}, Sent()
    answers = FileAnswers(FileServer(), sent, most=5, has_room=lambda key: key not in full)
    task = asyncio.create_task(answers.run())
    answers.ask("slow", FindFile(request=1, path="x"))
    answers.ask("web1", FindFile(request=2, path="x"))
    await until(lambda: sent)
    assert [key for key, _ in sent] == ["web1"]
    full.clear()
    await until(lambda: len(sent) == 2)
    assert sent[1] == ("slow", FileFound(request=1))
    full.add("slow")
    answers.ask("slow", FindFile(request=3, path="x"))
    await asyncio.sleep(0.05)
    task.cancel()
    await asyncio.wait([task])
    assert len(sent) == 2, "and it ends while somebody waits"


async def test_the_loop_waits_for_no_answer(asked):
    answers, files, sent, _ = asked
    answers.ask("mallory", ListFiles(request=1))
    await until(lambda: files.lists)
    answers.ask("web1", FindFile(request=2, path="x"))
    await asyncio.sleep(0)
    assert sent == []
    files.go.set()
    await until(lambda: len(sent) == 2)
    assert sent == [("mallory", FileList(request=1, files={})), ("web1", FileFound(request=2))]
    for number in range(3, 40):
        answers.ask("web1", FindFile(request=number, path="x"))
        await until(partial(lambda count: len(sent) == count, number))
    assert len(files.threads) == 1
    assert threading.main_thread() not in files.threads


@pytest.mark.parametrize("busy", [False, True])
async def test_the_thread_ends_with_its_task(busy):
    files, sent = Slow(), Sent()
    answers = FileAnswers(files, sent, most=5)
    task = asyncio.create_task(answers.run())
    answers.ask("web1", FindFile(request=1, path="x"))
    await until(lambda: sent)
    if busy:
        answers.ask("web1", ListFiles(request=2))
        await until(lambda: files.lists)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()
    files.go.set()
    (thread,) = files.threads
    await until(lambda: not thread.is_alive())


async def test_who_asks_for_much_waits_for_the_others(asked):
    answers, files, sent, refused = asked
    for number in range(8):
        answers.ask("mallory", ListFiles(request=number))
    await until(lambda: files.lists)
    for number in range(4):
        answers.ask("web1", FindFile(request=number, path="x"))
    files.go.set()
    await until(lambda: len(sent) == 12)
    assert [key for key, _ in sent[4:8]] == ["web1"] * 4
    assert refused == ["file-questions"] * 3
    message = "5 questions of this minion about files wait already; ask again later"
    assert sent[:3] == [("mallory", Refused(message=message, request=number)) for number in (5, 6, 7)]


async def test_a_minion_that_went_is_not_answered(asked):
    answers, files, sent, _ = asked
    answers.ask("mallory", ListFiles(request=1))
    answers.ask("mallory", ListFiles(request=2))
    await until(lambda: files.lists)
    answers.forget("mallory")
    answers.ask("mallory", FindFile(request=3, path="x"))
    files.go.set()
    await until(lambda: len(sent) == 2)
    assert [message.request for _, message in sent] == [1, 3]


async def test_an_answer_that_is_too_large_costs_no_other(asked, tmp_path):
    answers, files, sent, _ = asked
    for number in range(1001):
        (tmp_path / str(number)).touch()
    files.use(directory_snapshot({"base": [tmp_path]}))
    files.go.set()
    answers.ask("mallory", ListFiles(request=1))
    answers.ask("mallory", FindFile(request=2, path="7"))
    await until(lambda: len(sent) == 2)
    (_, refusal), (_, answer) = sent
    assert refusal == Refused(message="the answer cannot be sent: a message of many bytes", request=1)
    assert answer.request == 2


async def test_a_question_that_fails_is_refused(asked, monkeypatch):
    answers, files, sent, _ = asked
    monkeypatch.setattr(files, "answer", lambda message: 1 / 0)
    answers.ask("web1", FindFile(request=3, path="7"))
    await until(lambda: sent)
    assert sent == [("web1", Refused(message="the controller failed to answer; its log says why", request=3))]


async def test_what_is_new_is_shown_while_answers_are_given(asked, tmp_path):
    answers, files, sent, _ = asked
    (tmp_path / "a").write_text("a")
    files.go.set()
    answers.ask("web1", FindFile(request=1, path="a"))
    await until(lambda: sent)
    files.use(directory_snapshot({"base": [tmp_path]}))
    answers.ask("web1", FindFile(request=2, path="a"))
    await until(lambda: len(sent) == 2)
    assert [bool(message.oid) for _, message in sent] == [False, True]
