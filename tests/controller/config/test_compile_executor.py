"""`compile_executor`: where it may lead, and what it needs."""

from __future__ import annotations

import importlib.util

import pytest

from controller.config.checks import check_executor
from controller.config.compile_executor import ExecutorOptions
from controller.config.settings import BadControllerSettings, load_settings

CERTIFICATES = "".join(f"compile_executor_tls_{name}: {{folder}}/{name}.pem\n" for name in ("ca", "cert", "key"))


@pytest.fixture
def load(tmp_path, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").write_text("-")

    def load(text):
        (tmp_path / "controller").write_text(text.replace("{folder}", str(tmp_path)))
        settings = load_settings(tmp_path)
        check_executor(settings)
        return settings.executor

    return load


def test_compiles_are_local_unless_it_says_so(load):
    assert load("compile_workers: 1\n").is_local
    assert load("compile_executor: local\n").is_local


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_scheduler_of_this_machine_needs_no_certificates(load, host):
    found = load(f"compile_executor: dask://{host}:8786\n")
    assert (found.scheduler, found.is_encrypted) == (f"tcp://{host}:8786", False)


def test_another_machine_is_reached_by_tls(load):
    found = load("compile_executor: tls://dask.example.org:8786\n" + CERTIFICATES)
    assert (found.scheduler, found.is_encrypted) == ("tls://dask.example.org:8786", True)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("compile_executor: dask://dask.example.org:8786", "another machine"),
        ("compile_executor: dask://10.0.0.1:8786", "another machine"),
        ("compile_executor: tls://dask.example.org:8786", "needs compile_executor_tls_ca"),
        ("compile_executor: tls://d:8786\n" + CERTIFICATES.replace("key.pem", "none.pem"), "there is no file"),
        ("compile_executor: dask://127.0.0.1:8786\n" + CERTIFICATES, "is not encrypted"),
        ("compile_executor: tcp://127.0.0.1:8786", "compile_executor"),
        ("compile_executor: dask://127.0.0.1", "compile_executor"),
        ("compile_executor: dask://127.0.0.1:99999", "compile_executor"),
        ("compile_executor: celery", "compile_executor"),
    ],
)
def test_what_cannot_be_used_is_refused(load, text, said):
    with pytest.raises(BadControllerSettings, match=said):
        load(text + "\n")


def test_without_dask_it_is_refused_with_what_to_install(load, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadControllerSettings, match=r"saltern\[dask\]"):
        load("compile_executor: dask://127.0.0.1:8786\n")


def test_a_worker_elsewhere_is_not_sent_pillars_in_plain_text():
    plain = ExecutorOptions(address="dask://127.0.0.1:8786")
    assert [plain.may_use(f"tcp://{each}:40000") for each in ("127.0.0.1", "[::1]", "10.0.0.7", "::1")] == [
        True, True, False, True,
    ]  # fmt: skip
    encrypted = ExecutorOptions(address="tls://dask.example.org:8786")
    assert [encrypted.may_use(each) for each in ("tls://10.0.0.7:40000", "tcp://10.0.0.7:40000")] == [True, False]
