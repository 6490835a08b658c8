"""The kinds of states that sites are drawn from."""

from __future__ import annotations

from tools.predictions import more_kinds
from tools.predictions.blocks import ROOT, Block, Kind, of_command, of_content, of_edit, of_file, of_machine, of_test
from tools.predictions.options import OPTIONS

_CONTENTS: dict[str, Kind] = {
    "contents": of_content(
        lambda b: [
            f"contents: \"line {b.number}\\nvalue {{{{ pillar['n{b.file}'] }}}}\\non {{{{ grains['id'] }}}}\\n\"",
            f"mode: '06{b.number % 5}0'",
        ]
    ),
    "source": of_content(lambda b: [f"source: salt://files/{b.file}.txt", "makedirs: True"]),
    "template": of_content(lambda b: [f"source: salt://files/{b.file}.j2", "template: jinja"]),
    "context": of_content(
        lambda b: [
            f"source: salt://files/context{b.file}.j2",
            "template: jinja",
            "defaults: {drawn: 0, kept: same}",
            f"context: {{drawn: {b.number}}}",
        ]
    ),
    "pillar-text": of_content(lambda b: [f"contents_pillar: texts:t{b.file}"]),
    "mapped": of_content(lambda b: [f"contents: 'port {{{{ map.port }}}} of {{{{ map.base }}}} {b.number}'"]),
    "names": of_file("managed", lambda b: [f"names: ['{b.path}-one', '{b.path}-two']", f"contents: named {b.number}"]),
    "deep": of_file(
        "managed",
        lambda b: [f"name: {ROOT}/deep{b.number % 7}/{b.id}", f"contents: deep {b.number}", "makedirs: True"],
    ),
    "no-parent": of_file(
        "managed",
        lambda b: [f"name: {ROOT}/dir{b.number % 7}/{b.id}", f"contents: in a folder {b.number}"],
        plain=False,
    ),
    "kept": of_content(lambda b: [f'contents: "line {b.number}\\ncommentable\\n"', "replace: False"], keeps=True),
    "unless": of_content(lambda b: [f"contents: unless {b.number}", f"unless: test -e {b.other_path}"]),
    "gather": of_file(
        "managed",
        lambda b: [f"name: {b.path}", f"source: salt://files/gather{b.file}.j2", "template: jinja"],
        gathers=True,
    ),
    "accumulated": of_file(
        "accumulated",
        lambda b: [
            f"filename: {b.other_path}",
            f"text: gathered {b.number}",
            "require_in:",
            f"  - file: {b.other}",
        ],
    ),
    "slot": of_file(
        "managed",
        lambda b: [f"name: {b.path}", f"contents: __slot__:salt:grains.get(id) ~ {b.number}"],
        plain=False,
    ),
    "live": of_content(
        lambda b: [f"contents: \"{{{{ salt['file.file_exists'](grains['root'] ~ '/{b.other}') }}}} {b.number}\""],
        plain=False,
    ),
    "live-template": of_content(lambda b: [f"source: salt://files/live{b.file}.j2", "template: jinja"], plain=False),
    "check": of_content(
        lambda b: [f"contents: checked {b.number}", f"check_cmd: 'test {b.number % 3} -lt 2 ||'"], plain=False
    ),
}

_EDITS: dict[str, Kind] = {
    "append": of_edit("append", lambda b: [f"text: appended {b.number}"]),
    "prepend": of_file(
        "prepend",
        lambda b: [f"name: {b.path}", f"text: first {b.number}", "makedirs: True"],
        makes_file=True,
        keeps=True,
    ),
    "replace": of_edit("replace", lambda b: ["pattern: 'line [0-9]+'", f"repl: line {b.number}", "backup: False"]),
    "block": of_edit(
        "blockreplace",
        lambda b: [
            f"content: block {b.number}",
            "append_if_not_found: True",
            f"marker_start: '# {b.id} start'",
            f"marker_end: '# {b.id} end'",
            "backup: False",
        ],
    ),
    "line": of_edit("line", lambda b: [f"content: lined {b.number}", "mode: insert", "location: end"]),
    "comment": of_edit("comment", lambda b: ["regex: ^commentable", "ignore_missing: True", "backup: False"]),
    "keyvalue": of_file(
        "keyvalue",
        lambda b: [f"name: {b.path}", f"key_values: {{key: '{b.number}'}}", "append_if_not_found: True"],
        plain=False,
    ),
    "ini": Kind(
        module="ini",
        fun="options_present",
        arguments=lambda b: [f"name: {b.path}", f"sections: {{main: {{port: '{b.number}'}}}}"],
        makes_file=True,
    ),
    "serialize": of_file(
        "serialize",
        lambda b: [f"name: {b.path}", f"dataset: {{one: {b.number}, two: [a, b]}}", "serializer: json"],
        makes_file=True,
    ),
    "merged": of_file(
        "serialize",
        lambda b: [
            f"name: {b.path}",
            f"dataset: {{one: {b.number}, k{b.number % 3}: b}}",
            "serializer: json",
            "merge_if_exists: True",
        ],
        makes_file=True,
    ),
}

_NODES: dict[str, Kind] = {
    "folder": of_file("directory", lambda b: [f"name: {ROOT}/dir{b.number % 7}"]),
    "own-folder": of_file("directory", lambda b: [f"name: {ROOT}/own-{b.id}", f"dir_mode: '07{b.number % 5}0'"]),
    "absent": of_file("absent", lambda b: [f"name: {ROOT}/s{b.number}-out"]),
    "symlink": of_file("symlink", lambda b: [f"name: {b.path}", f"target: {b.other_path}{b.number % 3}"]),
    "hardlink": of_file(
        "hardlink", lambda b: [f"name: {b.path}-hard", f"target: {b.other_path}", "force: True"], plain=False
    ),
    "copy": of_file("copy", lambda b: [f"name: {b.path}", f"source: {b.other_path}", "force: True"], makes_file=True),
    "touch": of_file("touch", lambda b: [f"name: {b.path}"], makes_file=True, keeps=True, plain=False),
    "exists": of_file("exists", lambda b: [f"name: {b.other_path}"]),
    "missing": of_file("missing", lambda b: [f"name: {b.path}-{b.number}-missing"]),
    "recurse": of_file("recurse", lambda b: [f"name: {ROOT}/recursed-{b.id}", f"source: salt://folder/{b.file}"]),
    "recurse-clean": of_file(
        "recurse",
        lambda b: [
            f"name: {ROOT}/cleaned-{b.id}",
            f"source: salt://folder/{b.file}",
            "clean: True",
            f"file_mode: '06{b.number % 5}0'",
            "template: jinja",
        ],
    ),
    "archive": Kind(
        module="archive",
        fun="extracted",
        arguments=lambda b: [
            f"name: {ROOT}/unpacked-{b.id}",
            f"source: salt://files/{b.file}.tar",
            "enforce_toplevel: False",
        ],
    ),
}

_COMMANDS: dict[str, Kind] = {
    "creates": of_command(lambda b: [f"name: touch {b.path}-{b.number}", f"creates: {b.path}-{b.number}"]),
    "onlyif": of_command(lambda b: [f"name: echo {b.number} >> {b.path}-log", f"onlyif: test -e {b.other_path}"]),
    "grepped": of_command(
        lambda b: [f"name: echo line {b.number} >> {b.path}-log", f"unless: grep -q 'line {b.number}' {b.path}-log"]
    ),
    "command": of_command(lambda b: [f"name: echo {b.number} > {b.path}-out"]),
    "in-folder": of_command(
        lambda b: [f"name: pwd > {b.id}-pwd-{b.number}", f"cwd: {ROOT}", f"creates: {b.path}-pwd-{b.number}"]
    ),
    "failing": of_command(lambda b: [f"name: sh -c 'exit {b.number % 2}'"], plain=False),
    "stateful": of_command(
        lambda b: [f'name: "echo; echo changed={"yes" if b.number % 2 else "no"}"', "stateful: True"], plain=False
    ),
    "wait": of_command(lambda b: [f"name: echo {b.number} > {b.path}-waited"], fun="wait"),
    "script": of_command(
        lambda b: [
            f"source: salt://files/{b.file}.sh",
            f"args: {b.path}-script-{b.number}",
            f"creates: {b.path}-script-{b.number}",
        ],
        fun="script",
    ),
    "module": Kind(module="module", fun="run", arguments=lambda b: ["test.arg:", f"  - {b.number}"], plain=False),
    "event": Kind(
        module="event", fun="send", arguments=lambda b: [f"name: drawn/{b.id}", f"data: {{n: {b.number}}}"], plain=False
    ),
    "nop": of_test("nop"),
    "changes": of_test("succeed_with_changes"),
    "configurable": of_test("configurable_test_state", "changes: True", "result: True"),
    "quiet": of_test("configurable_test_state", "changes: False", "result: True"),
    "pillar-check": of_test("check_pillar", "present: [n0]"),
    "fails": of_test("fail_without_changes", plain=False),
    "environ": Kind(
        module="environ",
        fun="setenv",
        arguments=lambda b: [f"name: PREDICTED_{b.id}", f"value: '{b.number}'"],
        plain=False,
    ),
    "grains": Kind(
        module="grains",
        fun="present",
        arguments=lambda b: [f"name: drawn{b.number % 3}", f"value: v{b.number}"],
        plain=False,
    ),
}


SERVICES = ("alpha", "beta", "gamma", "delta")
"""Init scripts of the machines that minions have to themselves."""

_MACHINE: dict[str, Kind] = {
    "user": of_machine(
        "user", "present", "name: u%i", "shell: /bin/sh%d", f"home: {ROOT}/home-%i", "createhome: False"
    ),
    "user-grouped": of_machine(
        "user", "present", "name: v%i", "fullname: User %d", "usergroup: True", f"home: {ROOT}/home-%i"
    ),
    "group": of_machine("group", "present", "name: g%i", "gid: 40%d"),
    "user-absent": of_machine("user", "absent", "name: us%d"),
    "host": of_machine("host", "present", "name: host-%i", "ip: 10.0.0.%d"),
    "alias": of_machine("alias", "present", "name: alias-%i", "target: someone%d@example.org"),
    "running": of_machine("service", "running", "name: alpha"),
    "reloading": of_machine("service", "running", "name: beta", "reload: True"),
    "dead": of_machine("service", "dead", "name: gamma"),
    "owned": of_content(lambda b: [f"contents: owned {b.number}", f"user: {('root', 'daemon')[b.number % 2]}"]),
}

KINDS: dict[str, Kind] = {
    **_CONTENTS,
    **_EDITS,
    **_NODES,
    **_COMMANDS,
    **_MACHINE,
    **more_kinds.CONTENTS,
    **more_kinds.EDITS,
    **more_kinds.NODES,
    **more_kinds.COMMANDS,
    **more_kinds.MACHINE,
}
"""Name -> what it is."""
SINGLE = frozenset(("running", "reloading", "dead", "enabled", "zone", "authorized"))
"""Kinds of which an SLS has one at most: two would be about the same thing."""


def drawn(*, plain: bool, machine: bool) -> tuple[str, ...]:
    """Names of kinds that are drawn on such a rig."""
    return tuple(name for name, kind in KINDS.items() if kind.plain is plain and (machine or not kind.needs))


def lines(block: Block) -> list[str]:
    """A block as YAML."""
    kind = KINDS[block.kind]
    found = [f"{block.id}:", f"  {kind.module}.{kind.fun}:", *(f"    - {line}" for line in _indented(kind, block))]
    for requisite in dict.fromkeys(link[0] for link in block.links):
        found.append(f"    - {requisite}:")
        found += [f"      - {module}: {one}" for name, module, one in block.links if name == requisite]
    return [f"{{% if {block.only_if} %}}", *found, "{% endif %}"] if block.only_if else found


def _indented(kind: Kind, block: Block) -> list[str]:
    more = OPTIONS[block.option](block, f"{ROOT}/{block.asked}") if block.option else []
    found: list[str] = []
    for line in [*kind.arguments(block), *more]:
        if line.startswith("  "):  # what belongs to the line before
            found[-1] += f"\n    {line}"
        else:
            found.append(line)
    return found
