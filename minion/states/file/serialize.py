"""file.serialize and file.decode: files made from data rather than from text.

Behaviour: doc/ref/states/all/salt.states.file, serialize and decode.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from highstate.traverse import MISSING, traverse
from minion.arguments.types import AnyValue, BackupDir, Mode, NumberOrText, Owner, Pairs, TextOrFalse
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Plan, Reader, Value
from minion.states.file.paths import behind, checked
from minion.states.file.perms import Perms
from minion.states.file.target import WantedFile, check_of, file_changes

_NOT_READ = "The 'deserializer_opts' option is ignored unless merge_if_exists is set to True."

FORMATS = ("json", "yaml", "toml", "configparser", "python", "plist")


def serialize(
    machine: Reader,
    name: str,
    *,
    dataset: AnyValue = None,
    dataset_pillar: str | None = None,
    user: Owner | None = None,
    group: Owner | None = None,
    mode: Mode | None = None,
    backup: bool | str = "",
    makedirs: bool = False,
    show_changes: bool = True,
    create: bool = True,
    merge_if_exists: bool = False,
    encoding: str | None = None,
    encoding_errors: str = "strict",
    serializer: str | None = None,
    formatter: str | None = None,
    serializer_opts: Pairs | None = None,
    deserializer_opts: Pairs | None = None,
    check_cmd: TextOrFalse = "",
    tmp_dir: str = "",
    tmp_ext: str = "",
    backup_dir: BackupDir = "",
) -> Plan:
    """A file that holds the data in a format. With `merge_if_exists` what else the file holds stays."""
    path, found = behind(machine, checked(name, "serialize"))
    if found is None and not create:
        return Plan(comment=f"File {name} is not present and is not set for creation")
    if found is not None and found.kind != "file":
        raise StateFailed(f"Specified target {name} is a {found.kind}")
    if serializer and formatter:
        raise StateFailed("Only one of serializer and formatter are allowed")
    kind = str(serializer or formatter or "yaml").lower()
    if kind not in FORMATS:
        raise StateFailed(f"The {kind} serializer could not be found. There are: {', '.join(FORMATS)}.")
    data = _data(machine, dataset, dataset_pillar)
    if merge_if_exists and found is not None:
        old = _read(kind, machine.read(path), deserializer_opts or {})
        merged = old if data == old else _merged(old, data)
        if old is not None and merged == old:
            return Plan(comment=f"The file {name} is in the correct state")
        data = merged
    codec = encoding or "utf-8"
    wanted = WantedFile(
        path=path,
        data=_written(kind, data, serializer_opts or {}, encoding is not None).encode(codec, encoding_errors),
        perms=Perms(user=user, group=group, mode=mode),
        makedirs=makedirs,
        show_changes=show_changes,
        backup=backup_dir if backup in (True, "minion", "both") else "",
        check=check_of(check_cmd, tmp_dir, tmp_ext),
    )
    return Plan(
        changes=file_changes(machine, wanted, found),
        comment=f"File {name} is in the correct state",
        pending=f"Dataset will be serialized and stored into {name}",
        done=f"File {name} updated",
        warnings=(_NOT_READ,) if deserializer_opts and not merge_if_exists else (),
    )


def decode(
    machine: Reader,
    name: str,
    *,
    encoded_data: NumberOrText | None = None,
    contents_pillar: str | None = None,
    encoding_type: str = "base64",
    checksum: str = "md5",
) -> Plan:
    """A file that holds what the base64 text stands for. `changes` has digests, never the content."""
    if bool(encoded_data) == bool(contents_pillar):
        raise StateFailed("Specify either the 'encoded_data' or 'contents_pillar' argument.")
    if encoding_type != "base64":
        raise StateFailed(f"encoding_type {encoding_type} is not supported; it can be base64")
    text: Value = encoded_data
    if contents_pillar:
        text = traverse(machine.pillar, contents_pillar, MISSING)
        if text is MISSING:
            raise StateFailed("Pillar data not found.")
    try:
        data = base64.b64decode("".join(str(text).split()), validate=True)
        digest = hashlib.new(checksum, usedforsecurity=False)
    except (binascii.Error, ValueError) as error:
        raise StateFailed(f"What {name} is to hold is no base64, or {checksum} is no digest: {error}") from None
    path, found = behind(machine, checked(name, "decode"))
    old = machine.read(path) if found is not None and found.kind == "file" else None
    if old == data:
        return Plan(comment="File is in the correct state.")
    before = digest.copy()
    before.update(old or b"")
    digest.update(data)
    shown = (None if old is None else before.hexdigest(), digest.hexdigest())
    return Plan(
        changes=(
            Change(key="old", reported=shown[0] or "", act=lambda machine: machine.write(path, data)),
            Change(key="new", reported=shown[1], act=lambda machine: None),
        ),
        pending="File is set to be updated.",
        done="File was updated.",
    )


def _data(machine: Reader, dataset: Value, key: str | None) -> Value:
    if dataset and key:
        raise StateFailed("Only one of 'dataset' and 'dataset_pillar' is permitted")
    if key:
        dataset = traverse(machine.pillar, key, MISSING)
        if dataset is MISSING:
            raise StateFailed(f"Pillar {key} does not exist")
    if dataset is None:
        raise StateFailed("Neither 'dataset' nor 'dataset_pillar' was defined")
    return dataset


def _merged(old: Value, new: Value) -> Value:
    """The new data over the old, mappings key by key."""
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    return {**old, **{key: _merged(old[key], value) if key in old else value for key, value in new.items()}}


def _read(kind: str, data: bytes, options: Mapping[str, Value]) -> Value:
    readers: dict[str, Callable[..., Value]] = {
        "configparser": _ini_read,
        "json": _json_read,
        "toml": _toml_read,
        "yaml": _yaml_read,
    }
    if kind not in readers:
        raise StateFailed(f"merge_if_exists is not supported for the {kind} serializer")
    try:
        return readers[kind](data, **options)
    except Exception as error:
        raise StateFailed(f"Failed to deserialize existing data: {error}") from None


def _json_read(data: bytes, **options: Value) -> Value:
    return json.loads(data, **options) if data.strip() else None


def _yaml_read(data: bytes) -> Value:
    import yaml

    return yaml.safe_load(data)


def _toml_read(data: bytes) -> Value:
    import tomllib

    return tomllib.loads(data.decode())


def _ini_read(data: bytes, **options: Value) -> Value:
    import configparser

    # With options a %(name)s stands for a value, as in Salt; without, text that has a % is read as well.
    parser = configparser.ConfigParser(**(options or {"interpolation": None}))
    parser.read_string(data.decode())
    shared = {key: value for key, value in parser.defaults().items() if key not in options.get("defaults", {})}
    sections = {
        section: {key: value for key, value in parser[section].items() if key not in shared or value != shared[key]}
        for section in parser.sections()
    }
    return {**({parser.default_section: shared} if shared else {}), **sections}


def _written(kind: str, data: Value, options: Mapping[str, Value], unicode: bool) -> str:
    try:
        match kind:
            case "json":
                given = {"indent": 2, "separators": (",", ": "), "sort_keys": True, "ensure_ascii": False}
                return json.dumps(data, **{**given, **options}) + "\n"
            case "yaml":
                return _yaml(data, options, unicode)
            case "toml":
                return _toml(data)
            case "configparser":
                return _ini(data, options)
            case "plist":
                import plistlib

                return plistlib.dumps(data).decode()
            case _:
                import pprint

                return pprint.pformat(data, **options) + "\n"
    except (TypeError, ValueError, AttributeError) as error:
        raise StateFailed(f"The dataset cannot be written as {kind}: {error}") from None


def _yaml(data: Value, options: Mapping[str, Value], unicode: bool) -> str:
    import yaml

    class Plain(yaml.SafeDumper):
        """Equal values are written out each time, as Salt does."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    given = {"default_flow_style": False, "allow_unicode": unicode}
    text: str = yaml.dump(data, Dumper=Plain, **{**given, **options})
    return text


def _toml(data: Value) -> str:
    from minion.states.file.toml_text import toml_text

    return toml_text(data)


def _ini(data: Value, options: Mapping[str, Value]) -> str:
    import configparser
    import io

    parser = configparser.ConfigParser(**{"interpolation": None, **options})
    parser.read_dict({str(section): values for section, values in data.items()})
    text = io.StringIO()
    parser.write(text)
    return text.getvalue() + "\n"
