from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from wire.errors import BadKey
from wire.keys import KeyPair, fingerprint, load_or_create, valid_minion_id


def test_a_key_is_made_once_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "pki" / "minion.key"
    made = load_or_create(path)
    assert load_or_create(path) == made
    assert len(made.public) == len(made.secret) == 40
    assert [entry.name for entry in path.parent.iterdir()] == ["minion.key"]


def test_nothing_is_left_open_to_others_whatever_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "pki" / "minion.key"
    before = os.umask(0)
    try:
        load_or_create(path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_secret_is_not_shown(tmp_path: Path) -> None:
    key = load_or_create(tmp_path / "key")
    assert key.secret not in repr(key)
    assert key.public in repr(key)


def test_two_that_start_together_get_one_key(tmp_path: Path) -> None:
    path = tmp_path / "key"
    found: list[KeyPair] = []
    barrier = threading.Barrier(8)

    def start() -> None:
        barrier.wait()
        found.append(load_or_create(path))

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({key.public for key in found}) == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["key"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o601])
def test_a_key_that_others_can_get_at_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    load_or_create(path)
    path.chmod(mode)
    with pytest.raises(BadKey, match="chmod 600"):
        load_or_create(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_key_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    load_or_create(path)
    os.chown(path, 65534, 65534)
    with pytest.raises(BadKey, match="belongs to uid 65534"):
        load_or_create(path)


@pytest.mark.parametrize("target_exists", [True, False])
def test_a_symlink_is_not_followed(tmp_path: Path, target_exists: bool) -> None:
    target = tmp_path / "elsewhere"
    if target_exists:
        load_or_create(target)
    (tmp_path / "key").symlink_to(target)
    with pytest.raises(BadKey, match="symlink"):
        load_or_create(tmp_path / "key")
    assert target.exists() == target_exists


def test_a_fifo_holds_nobody(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "key", 0o600)
    with pytest.raises(BadKey, match="no regular file"):
        load_or_create(tmp_path / "key")


def test_a_folder_that_everyone_writes_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(BadKey, match="chmod o-w"):
        load_or_create(tmp_path / "key")


@pytest.mark.parametrize("change", ["", "public: x\n", "\0" * 5000, "public: {other}\nsecret: {secret}\n"])
def test_a_damaged_file_is_refused_and_kept(tmp_path: Path, change: str) -> None:
    path = tmp_path / "key"
    key, other = load_or_create(path), load_or_create(tmp_path / "other")
    content = change.format(other=other.public, secret=key.secret)
    path.write_text(content)
    with pytest.raises(BadKey, match="restore it"):
        load_or_create(path)
    assert path.read_text() == content


def test_a_secret_of_the_wrong_letters_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    load_or_create(path)
    path.write_text(f"public: {'~' * 40}\nsecret: {'~' * 40}\n")
    with pytest.raises(BadKey):
        load_or_create(path)


def test_a_fingerprint_is_the_hash_of_the_key() -> None:
    shown = fingerprint("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7")
    pairs = shown.split(":")
    assert len(pairs) == 32
    assert all(len(pair) == 2 for pair in pairs)
    assert shown == fingerprint("rq:rM>}U?@Lns47E1%kR.o@n%FcmmsL/@{H8]yf7")


@pytest.mark.parametrize("text", ["", "short", "~" * 40, "a" * 41, "é" * 40, "%" * 40, "#" * 40])
def test_what_is_no_key_has_no_fingerprint(text: str) -> None:
    with pytest.raises(BadKey):
        fingerprint(text)


@pytest.mark.parametrize("name", ["web1", "web1.example.org", "a", "A-b_c.d", "db@eu", "rack:7", "_x", "0", "a" * 253])
def test_ids_that_a_minion_can_have(name: str) -> None:
    assert valid_minion_id(name)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            ".",
            "..",
            "a/b",
            "../minions/x",
            "a\\b",
            "a\nb",
            "a\n",
            "\na",
            "a\0",
            "a\x1bb",
            "a\x7f",
            "-rf",
            ".hidden",
        ),
        *("a.", "a ", " a", "a..b", "a" * 254, "w\u00e9b", "\uff57eb1", "\u0430dmin", "a\u200bb"),
        *("a%2e", "*", "a,b", "a{b}", "a~", "@a"),
    ],
)
def test_ids_that_no_minion_can_have(name: str) -> None:
    assert not valid_minion_id(name)
