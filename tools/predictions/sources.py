"""The files of a tree that states take as sources, templates, scripts and archives."""

from __future__ import annotations

import io
import tarfile


def sources(number: int, value: int) -> dict[str, str | bytes]:
    """Path -> content of one set; `value`: what an edit of it changes."""
    host = "{{ grains['id'] }}"
    return {
        f"states/files/{number}.txt": f"source {value}\n{'same line' * number}\n",
        f"states/files/{number}.j2": f"template {value} for {host}: {{{{ pillar['n{number}'] }}}}\n",
        f"states/files/live{number}.j2": f"{value} {{{{ 'has' if salt['cmd.has_exec']('sh') else 'no' }}}} sh\n",
        f"states/files/context{number}.j2": f"{value} {{{{ drawn }}}} {{{{ kept }}}} {{{{ slspath }}}}\n",
        f"states/files/gather{number}.j2": (
            f"gathered {value}\n{{% for texts in accumulator.values() %}}{{% for text in texts %}}{{{{ text }}}}\n"
            "{% endfor %}{% endfor %}"
        ),
        f"states/files/{number}.sh": f'#!/bin/sh\necho {value} > "$1"\n',
        f"states/files/{number}.bin": bytes([0, 255, number, value % 256]) * 100,
        f"states/files/{number}.tar": _archive({"in/name": f"packed {value}\n", "top": "same\n"}),
        f"states/folder/{number}/name": f"in a folder {value}\n",
        f"states/folder/{number}/deeper/other": f"deeper {value // 2}\n",
    }


MODULE = """\
import os


def written(name, text):
    found = open(name).read() if os.path.exists(name) else None
    changes = {} if found == text else {"text": text}
    if changes and not __opts__["test"]:
        with open(name, "w") as file:
            file.write(text)
    done = None if changes and __opts__["test"] else True
    return {"name": name, "result": done, "changes": changes, "comment": "written"}
"""
"""A state module of the tree."""

CODED = """\
#!py
def run():
    names = ["one", "two"] if __grains__["role"] == "web" else ["one"]
    return {
        "coded-" + name: {
            "file.managed": [
                {"name": __grains__["root"] + "/coded-" + name},
                {"contents": "<<NUMBER>> " + str(__pillar__["n3"])},
            ]
        }
        for name in names
    }
"""
"""An SLS that is a program."""


def _archive(files: dict[str, str]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return packed.getvalue()
