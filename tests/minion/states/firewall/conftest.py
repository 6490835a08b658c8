"""A network namespace of the test's own, and programs that work in it."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

Namespace = Callable[..., None]


@pytest.fixture(scope="module")
def namespace() -> Iterator[int]:
    """Process id of one that holds an empty network namespace; skips where that is not permitted."""
    words = ["unshare", "-n", "sh", "-c", "echo ready && exec sleep 600"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as holder:
        try:
            assert holder.stdout is not None
            if holder.stdout.readline() != "ready\n":
                pytest.skip("namespaces of the network are not permitted here")
            yield holder.pid
        finally:
            holder.kill()


@pytest.fixture(scope="module")
def wrap(tmp_path_factory: pytest.TempPathFactory, namespace: int) -> Iterator[Callable[..., Path]]:
    """wrap("nft", VARIABLE="value"): the program works in the namespace. Skips where it is not installed."""
    folder = tmp_path_factory.mktemp("bin")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{folder}:{os.environ['PATH']}")

        def make(name: str, **environment: Any) -> Path:
            program = shutil.which(name, path=os.environ["PATH"].partition(":")[2])
            if program is None or shutil.which("nsenter") is None:
                pytest.skip(f"{name} is not installed")
            variables = " ".join(f"{key}={value}" for key, value in environment.items())
            script = folder / name
            there = f'[ "$OTHER_NAMESPACE" ] && exec {program} "$@"'
            script.write_text(f'#!/bin/sh\n{there}\nexec nsenter -t {namespace} -n env {variables} {program} "$@"\n')
            script.chmod(0o755)
            return script

        # In a namespace that the code makes itself the programs work there.
        unshare = folder / "unshare"
        unshare.write_text(f'#!/bin/sh\nOTHER_NAMESPACE=1 exec {shutil.which("unshare")} "$@"\n')
        unshare.chmod(0o755)
        yield make
