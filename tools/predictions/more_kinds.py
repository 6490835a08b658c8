"""Kinds of states that are drawn beside the usual ones of `kinds`: other functions, and other arguments of the same."""

from __future__ import annotations

import base64

from tools.predictions.blocks import ROOT, Block, Kind, of_command, of_content, of_edit, of_file, of_machine, of_test

_KEY = "AAAAC3NzaC1lZDI1NTE5AAAAIDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDEy"


def _encoded(block: Block) -> str:
    return base64.b64encode(f"decoded {block.number}\n".encode()).decode()


CONTENTS: dict[str, Kind] = {
    "source-list": of_content(
        lambda b: ["source:", f"  - salt://files/none{b.number}.txt", f"  - salt://files/{b.file}.txt"]
    ),
    "binary": of_file("managed", lambda b: [f"name: {b.path}", f"source: salt://files/{b.file}.bin", "mode: '0640'"]),
    "of-grains": of_content(lambda b: ["contents_grains: role", f"mode: '07{b.number % 5}0'"]),
    "pillar-extra": of_content(
        lambda b: [f"contents: \"{{{{ salt['pillar.get']('extra:k{b.number % 5}', 'nothing') }}}} {b.number}\""]
    ),
    "pillar-if": of_content(
        lambda b: [f"contents: {{% if pillar['n{b.file}'] is odd %}}odd{{% else %}}even{{% endif %}} {b.number}"]
    ),
    "not-shown": of_content(lambda b: [f"contents: not shown {b.number}", "show_changes: False"]),
    "of-a-list": of_content(lambda b: [f"contents: ['one', 'two {b.number}']", "contents_newline: False"]),
    "no-source": of_file(
        "managed",
        lambda b: [f"name: {b.path}", f"source: salt://files/{('none', b.file)[b.number % 2]}.txt"],
        plain=False,
    ),
    "decoded": of_file("decode", lambda b: [f"name: {b.path}", f"encoded_data: {_encoded(b)}"], makes_file=True),
    "yaml": of_file(
        "serialize",
        lambda b: [f"name: {b.path}", f"dataset: {{b: {b.number}, a: [1, 2]}}", "serializer: yaml"],
        makes_file=True,
    ),
    "dataset-pillar": of_file(
        "serialize", lambda b: [f"name: {b.path}", "dataset_pillar: texts", "serializer: json"], makes_file=True
    ),
}

EDITS: dict[str, Kind] = {
    "uncomment": of_file(
        "uncomment",
        lambda b: [f"name: {b.other_path}", "regex: commentable", "backup: False"],
        plain=False,
    ),
    "replace-append": of_edit(
        "replace",
        lambda b: [
            f"pattern: '^{b.id}=.*'",
            f"repl: '{b.id}={b.number}'",
            "append_if_not_found: True",
            "backup: False",
        ],
    ),
    "line-ensured": of_edit(
        "line", lambda b: [f"content: ensured {b.number}", "mode: ensure", "after: ^commentable"], plain=False
    ),
    "append-source": of_edit("append", lambda b: [f"source: salt://files/{b.file}.txt"]),
    "ini-section": Kind(
        module="ini",
        fun="sections_present",
        arguments=lambda b: [f"name: {b.path}", f"sections: {{main: {{one: 'a'}}, more{b.number % 3}: {{two: 'b'}}}}"],
        makes_file=True,
    ),
    "ini-gone": Kind(
        module="ini",
        fun="options_absent",
        arguments=lambda b: [f"name: {b.other_path}", f"sections: {{main: [gone{b.number}]}}"],
        plain=False,
    ),
}

NODES: dict[str, Kind] = {
    "clean-folder": of_file(
        "directory", lambda b: [f"name: {ROOT}/clean-{b.id}", "clean: True", f"exclude_pat: 'kept{b.number % 3}*'"]
    ),
    "modes-below": of_file(
        "directory",
        lambda b: [
            f"name: {ROOT}/recursed-{b.other}",
            f"dir_mode: '07{b.number % 5}1'",
            "makedirs: True",
        ],
        plain=False,
    ),
    "moved": of_file(
        "rename",
        lambda b: [f"name: {b.path}-moved", f"source: {b.other_path}-{('one', 'two')[b.number % 2]}"],
        plain=False,
    ),
    "pipe": of_file("mknod", lambda b: [f"name: {b.path}-pipe", "ntype: p", f"mode: '06{b.number % 5}0'"]),
    "tidied": of_file(
        "tidied", lambda b: [f"name: {ROOT}/dir{b.number % 7}", f"matches: ['s{b.number % 10}.*']"], plain=False
    ),
    "pruned": of_file("pruned", lambda b: [f"name: {ROOT}/own-{b.other}", "recurse: False"], plain=False),
    "folder-copy": of_file(
        "copy",
        lambda b: [f"name: {ROOT}/copied-{b.id}", f"source: {ROOT}/recursed-{b.other}", "force: True"],
        plain=False,
    ),
    "forced-link": of_file(
        "symlink",
        lambda b: [f"name: {b.path}-link", f"target: {ROOT}/linked/{b.number}", "makedirs: True", "force: True"],
    ),
    "cached": of_file("cached", lambda b: [f"name: salt://files/{b.file}.txt"], plain=False),
    "repository": Kind(module="git", fun="present", arguments=lambda b: [f"name: {ROOT}/git-{b.id}"], plain=False),
}

COMMANDS: dict[str, Kind] = {
    "env": of_command(
        lambda b: [f"name: 'echo $DRAWN > {b.path}-env'", f"env: [{{DRAWN: '{b.number}'}}]", f"creates: {b.path}-env"]
    ),
    "as-user": of_command(
        lambda b: [f"name: id -u > /dev/null && echo {b.number} > /dev/null", "runas: nobody"], plain=False
    ),
    "several": of_command(lambda b: [f"names: ['test {b.number} -lt 200', 'true {b.number}']"], plain=False),
    "module-wait": Kind(
        module="module", fun="wait", arguments=lambda b: ["name: test.arg", f"args: [{b.number}]"], plain=False
    ),
    "fails-changing": of_test("fail_with_changes", plain=False),
    "notified": of_test("show_notification", "text: shown"),
    "grain-list": Kind(
        module="grains",
        fun="list_present",
        arguments=lambda b: ["name: listed", f"value: v{b.number % 4}"],
        plain=False,
    ),
    "grain-gone": Kind(
        module="grains",
        fun="absent",
        arguments=lambda b: [f"name: drawn{b.number % 3}", "destructive: True"],
        plain=False,
    ),
    "scheduled": Kind(
        module="schedule",
        fun="present",
        arguments=lambda b: [f"name: job-{b.id}", "function: test.ping", f"cron: '{b.number % 60} 3 1 1 *'"],
        plain=False,
    ),
    "of-the-tree": Kind(
        module="drawn",
        fun="written",
        arguments=lambda b: [f"name: {b.path}", f"text: written {b.number}"],
        makes_file=True,
        plain=False,
    ),
}

MACHINE: dict[str, Kind] = {
    "group-absent": of_machine("group", "absent", "name: gs%d"),
    "members": of_machine("group", "present", "name: m%i", "members: [daemon, %w]"),
    "in-groups": of_machine(
        "user",
        "present",
        "name: w%i",
        "groups: [%w]",
        "remove_groups: True",
        f"home: {ROOT}/home-%i",
        "createhome: True",
    ),
    "host-absent": of_machine("host", "absent", "name: host-s%d", "ip: 10.0.0.%d"),
    "authorized": of_machine(
        "ssh_auth",
        "present",
        f"name: {_KEY}",
        "user: root",
        "enc: ssh-ed25519",
        f"config: {ROOT}/keys-%i",
        "comment: key %d",
        plain=False,
    ),
    "fstab": of_machine(
        "mount",
        "fstab_present",
        "name: /dev/drawn-%i",
        f"fs_file: {ROOT}/mounted-%i",
        "fs_vfstype: ext4",
        "fs_mntops: 'noauto,commit=%d'",
        "mount: False",
        plain=False,
    ),
    "mounted": of_machine(
        "mount",
        "mounted",
        f"name: {ROOT}/mount-%i",
        "device: tmpfs",
        "fstype: tmpfs",
        "opts: 'size=64k'",
        "mkmnt: True",
        f"config: {ROOT}/fstab-%d",
        plain=False,
    ),
    "enabled": of_machine("service", "enabled", "name: delta"),
    "zone": of_machine("timezone", "system", "name: Etc/GMT+%s", plain=False),
}
