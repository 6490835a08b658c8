"""States of programs and files of the system: the cases of the documentation, asked again once they were done."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from tools.bench.noops.pairs import NoOp
from tools.docs.cases import FAMILIES as CASES
from tools.docs.cases.case import Case
from tools.docs.states_table import placed, run_hooks, values

_MODULES = {
    "acl": "acl",
    "apache": "apache",
    "gem": "gem",
    "javascript": "npm",
    "php": "composer pecl",
    "at": "at",
    "files": "keyboard logrotate ntp network xml",
    "rsync": "rsync",
    "x509": "x509",
}
"""Family -> its state modules."""


@contextlib.contextmanager
def _family(modules: str) -> Iterator[Iterator[NoOp]]:
    yield _of_cases(modules.split())


def _of_cases(modules: list[str]) -> Iterator[NoOp]:
    for case in (each for family in CASES for each in family.CASES if each.fun.partition(".")[0] in modules):
        missing = [one for one in case.needs if subprocess.run(["dpkg", "-s", one], capture_output=True).returncode]
        if missing:
            pytest.skip(f"{' '.join(missing)} is not installed")
        if case.acts_always or case.fails or case.fun.endswith(".watch"):
            continue
        with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
            top = Path(folder, "top")
            here = placed(case, {"{top}": str(top), **values()})
            with run_hooks(here, top):
                yield _no_op(here)


_FILES = {
    "apache": "{name}",
    "keyboard": "/etc/default/keyboard",
    "logrotate": "{conf_file}",
    "network.managed": "/etc/network/interfaces",
    "network.routes": "/etc/network/if-up.d/route-case0",
    "ntp": "/etc/chrony/chrony.conf",
    "x509": "{name}",
    "xml": "{name}",
}
"""State module or function -> the file of which one read is the bare query."""


def _no_op(case: Case) -> NoOp:
    one = NoOp(fun=case.fun, name=case.name, arguments=case.arguments, grains=case.grains)
    if case.fun.startswith("at."):  # the state reads the spool itself: the query is what anybody else would ask
        return replace(one, bare=partial(subprocess.run, ["atq"], capture_output=True, check=True), bare_of="atq")
    where = _FILES.get(case.fun) or _FILES.get(case.fun.partition(".")[0])
    if where is None:
        return one
    path = Path(where.format(name=case.name, **case.arguments))
    if parse := _PARSED.get(case.fun):
        return replace(one, bare=lambda: parse(path.read_bytes()), bare_of="reading and parsing the file")
    return replace(one, bare=path.read_bytes, bare_of="one read of the file")


def _certificate(content: bytes) -> object:
    return x509.load_pem_x509_certificate(content) if b"-----" in content else x509.load_der_x509_certificate(content)


_PARSED: Mapping[str, Callable[[bytes], object]] = {
    "x509.certificate_managed": _certificate,
    "x509.crl_managed": x509.load_pem_x509_crl,
    "x509.csr_managed": x509.load_pem_x509_csr,
    "x509.private_key_managed": partial(load_pem_private_key, password=None),
}


FAMILIES: dict[str, Callable[[], contextlib.AbstractContextManager[Iterator[NoOp]]]] = {
    name: partial(_family, modules) for name, modules in _MODULES.items()
}
