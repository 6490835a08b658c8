"""file.*, as far as it changes what is in a file. The editing itself is that of the states."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from minion.arguments.commands import Words
from minion.arguments.patterns import Flags
from minion.arguments.sources import Bytes
from minion.execution.apply_state import act, changes_of, plan
from minion.execution.arguments import BufferSize, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.cmd import as_salt
from minion.modules.file.look import contains_regex, expanded


def write(context: Context, path: str, *args: Any, **kwargs: Any) -> str:
    """Write lines to a file, instead of what it holds."""
    lines = _lines(args, kwargs)
    context.machine.write(str(expanded(path)), "".join(f"{line}\n" for line in lines).encode())
    return f'Wrote {len(lines)} lines to "{path}"'


def append(context: Context, path: str, *args: Any, **kwargs: Any) -> str:
    """Write lines to the end of a file."""
    lines, place = _lines(args, kwargs), expanded(path)
    old = place.read_bytes() if place.exists() else b""
    joint = b"\n" if old and not old.endswith(b"\n") else b""
    context.machine.write(str(place), old + joint + "".join(f"{line}\n" for line in lines).encode())
    return f'Wrote {len(lines)} lines to "{path}"'


def prepend(context: Context, path: str, *args: Any, **kwargs: Any) -> str:
    """Write lines to the beginning of a file."""
    lines, place = _lines(args, kwargs), expanded(path)
    old = place.read_bytes() if place.exists() else b""
    context.machine.write(str(place), "".join(f"{line}\n" for line in lines).encode() + old)
    return f'Prepended {len(lines)} lines to "{path}"'


def truncate(context: Context, path: str, length: int) -> None:
    """Cut a file off at so many bytes."""
    os.truncate(expanded(path), length)


def seek_write(context: Context, path: str, data: Bytes, offset: int) -> int:
    """Write over a file from an offset on; how many bytes."""
    with expanded(path).open("r+b") as file:
        file.seek(offset)
        return file.write(data)


def replace(
    context: Context, path: str, pattern: str, repl: str, count: int = 0, flags: Flags = 8,
    bufsize: BufferSize = 1, append_if_not_found: bool = False, prepend_if_not_found: bool = False,
    not_found_content: str | None = None, backup: str | bool = ".bak", dry_run: bool = False,
    search_only: bool = False, show_changes: bool = True, ignore_if_missing: bool = False,
    preserve_inode: NotSupported = True, backslash_literal: bool = False, encoding: str | None = None,
) -> Any:  # fmt: skip
    """Put a text where a regular expression fits; the diff, or with `show_changes=False` whether anything changed."""
    place = expanded(path)
    if not place.exists():
        if ignore_if_missing:
            return False
        raise CallFailed(f"File not found: {path}")
    if search_only:
        from minion.modules.file.look import search

        return search(context, path, pattern, flags)
    made = (plan if dry_run else act)(
        context,
        "file.replace",
        str(place),
        pattern=pattern,
        repl=repl,
        count=count,
        flags=flags,
        append_if_not_found=append_if_not_found,
        prepend_if_not_found=prepend_if_not_found,
        not_found_content=not_found_content,
        backup=backup,
        backslash_literal=backslash_literal,
        encoding=encoding,
    )
    return changes_of(made).get("diff", "") if show_changes else bool(made.changes)


def line(
    context: Context,
    path: str,
    content: str | None = None,
    match: str | None = None,
    mode: str | None = None,
    location: str | None = None,
    before: str | None = None,
    after: str | None = None,
    show_changes: bool = True,
    backup: bool = False,
    quiet: bool = False,
    indent: bool = True,
) -> Any:
    """Put, replace or take away one line of a file; the diff, or with `show_changes=False` whether anything changed."""
    if quiet and context.machine.stat(str(expanded(path))) is None:
        return False
    made = act(
        context,
        "file.line",
        str(expanded(path)),
        content=content,
        match=match,
        mode=mode,
        location=location,
        before=before,
        after=after,
        backup=backup,
        indent=indent,
    )
    return changes_of(made).get("diff", "") if show_changes else bool(made.changes)


def blockreplace(
    context: Context,
    path: str,
    marker_start: str = "#-- start managed zone --",
    marker_end: str = "#-- end managed zone --",
    content: str = "",
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    backup: str | bool = ".bak",
    dry_run: bool = False,
    show_changes: bool = True,
    append_newline: bool | None = False,
    insert_before_match: str | None = None,
    insert_after_match: str | None = None,
) -> Any:
    """Put a text between two marks; the diff, or with `show_changes=False` whether anything changed."""
    if not expanded(path).exists():
        raise CallFailed(f"File not found: {path}")
    made = (plan if dry_run else act)(
        context,
        "file.blockreplace",
        str(expanded(path)),
        marker_start=marker_start,
        marker_end=marker_end,
        content=content,
        append_if_not_found=append_if_not_found,
        prepend_if_not_found=prepend_if_not_found,
        backup=backup,
        append_newline=append_newline,
        insert_before_match=insert_before_match,
        insert_after_match=insert_after_match,
    )
    return changes_of(made).get("diff", "") if show_changes else bool(made.changes)


def comment(context: Context, path: str, regex: str, char: str = "#", backup: str = ".bak") -> Any:
    """Comment out the lines that a regular expression fits; the diff, or false when there is none."""
    return _commented(context, "file.comment", path, regex, char, backup)


def uncomment(context: Context, path: str, regex: str, char: str = "#", backup: str = ".bak") -> Any:
    """Bring commented lines back; the diff, or false when there is none."""
    return _commented(context, "file.uncomment", path, regex, char, backup)


def comment_line(
    context: Context, path: str, regex: str, char: str = "#", cmnt: bool = True, backup: str = ".bak"
) -> Any:
    """Comment lines out, or with `cmnt=False` bring them back; the diff, or false when there is none."""
    return _commented(context, "file.comment" if cmnt else "file.uncomment", path, regex, char, backup)


def sed(
    context: Context, path: str, before: str, after: str, limit: str = "", backup: str = ".bak",
    options: str = "-r -e", flags: str = "g", escape_all: NotSupported = False, negate_match: bool = False,
) -> dict[str, Any]:  # fmt: skip
    """Change a file with sed(1). Old; file.replace does the same without its quoting."""
    chosen = f"/{_slashed(limit)}/{'!' if negate_match else ''}" if limit else ""
    expression = f"{chosen}s/{_slashed(before)}/{_slashed(after)}/{flags}"
    words = [word for word in options.split() if word != "-e"]
    return as_salt(
        context.machine.run(["sed", f"-i{backup}" if backup else "-i", *words, "-e", expression, str(expanded(path))])
    )


def sed_contains(context: Context, path: str, text: str, limit: str = "", flags: str = "g") -> bool:
    """Whether sed(1) finds a text in a file."""
    chosen = f"/{_slashed(limit)}/" if limit else ""
    argv = ["sed", "-n", "-r", "-e", f"{chosen}s/{_slashed(text)}/$/{flags}p", str(expanded(path))]
    return bool(expanded(path).exists() and context.machine.run(argv).stdout)


def patch(
    context: Context, originalfile: str, patchfile: str, options: str | Words = "", dry_run: bool = False
) -> dict[str, Any]:
    """Change a file or directory by patch(1)."""
    words = list(options) if isinstance(options, list) else options.split()
    place = expanded(originalfile)
    if not any(word.startswith(("-N", "--forward")) for word in words):
        words.append("--forward")
    if not any(word.startswith(("-r", "--reject-file")) for word in words):
        words.append("--reject-file=-")
    where = ["-d", str(place)] if place.is_dir() else [str(place)]
    words += ["--dry-run"] if dry_run else []
    return as_salt(context.machine.run(["patch", *words, "-i", str(expanded(patchfile)), *where]))


def _commented(context: Context, state: str, path: str, regex: str, char: str, backup: str) -> Any:
    place = expanded(path)
    if not place.exists():
        raise CallFailed(f"File not found: {path}")
    bare = regex.lstrip("^").rstrip("$")
    if not contains_regex(context, path, bare):
        return False
    made = act(context, state, str(place), regex=regex, char=char, backup=backup)
    return _touched(str(changes_of(made).get("diff", ""))) or False


def _touched(diff: str) -> str:
    """The diff of the lines that changed alone, as Salt shows it."""
    import difflib

    lines = diff.splitlines(keepends=True)[2:]
    old, new = ([line[1:] for line in lines if line.startswith(sign)] for sign in "-+")
    return "".join(difflib.unified_diff(old, new))


def _slashed(text: str) -> str:
    return text.replace("/", r"\/")


def _lines(args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str]:
    """The lines, given one by one or as `args=`."""
    given: Any = kwargs.get("args", args)
    strange = [key for key in kwargs if key != "args"]
    if strange:
        raise CallFailed(f"The following keyword arguments are not valid: {', '.join(strange)}")
    listed = given if isinstance(given, list | tuple) else [given]
    return [str(one).removesuffix("\n") for one in listed]


FUNCTIONS: Mapping[str, Any] = {
    "append": append,
    "blockreplace": blockreplace,
    "comment": comment,
    "comment_line": comment_line,
    "line": line,
    "patch": patch,
    "prepend": prepend,
    "replace": replace,
    "sed": sed,
    "sed_contains": sed_contains,
    "seek_write": seek_write,
    "truncate": truncate,
    "uncomment": uncomment,
    "write": write,
}
