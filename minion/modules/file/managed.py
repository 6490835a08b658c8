"""file.*, as far as it is what file.managed is made of: a source, a template, a file that holds what comes of them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypedDict, Unpack

from minion.arguments.sources import Sources
from minion.arguments.types import Ignored, LinesOfText, Map, Mode, Owner, Reads, TextOrFalse, Unfit
from minion.execution.apply_state import act, changes_of, plan
from minion.execution.arguments import InnerArgument, NotSupported
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.states.file.digests import SignatureOptions


def as_source_sum(value: Any) -> str:
    """A digest as `source_hash` has it, or as `file.get_source_sum` gives it; what is false is none."""
    if isinstance(value, Mapping):
        return f"{value['hash_type']}={value['hsum']}" if value.get("hsum") else ""
    if value and not isinstance(value, str):
        raise Unfit("text, or a mapping of hash_type and hsum")
    return value or ""


SourceSum = Annotated[str, Reads(as_source_sum, null=True)]


ChangesAsTheyAre = Annotated[Any, Ignored("the answer has all changes")]


class _OfTheCheck(TypedDict, total=False):
    """What Salt's functions take besides."""

    ignore_comment_characters: ChangesAsTheyAre
    ignore_ordering: ChangesAsTheyAre
    ignore_whitespace: ChangesAsTheyAre
    keep_mode: NotSupported
    new_file_diff: ChangesAsTheyAre
    verify_ssl: NotSupported


class _Comparison(TypedDict, total=False):
    """How contents are compared and shown, as the state takes it."""

    ignore_comment_characters: LinesOfText
    ignore_ordering: bool
    ignore_whitespace: bool
    new_file_diff: bool


class _OfTheState(_Comparison, SignatureOptions, total=False):
    """What file.manage_file of Salt takes besides."""

    serange: NotSupported
    serole: NotSupported
    setype: NotSupported
    seuser: NotSupported
    use_etag: bool
    verify_ssl: bool


def manage_file(
    context: Context, name: str, sfn: InnerArgument = None, ret: InnerArgument = None, source: str | None = None,
    source_sum: SourceSum = "", user: Owner | None = None, group: Owner | None = None, mode: Mode | None = None,
    attrs: str | None = None, saltenv: str = "base", backup: NotSupported = None, makedirs: bool = False,
    template: str | None = None, show_changes: bool = True, contents: str | None = None, dir_mode: Mode | None = None,
    follow_symlinks: bool = True, skip_verify: bool = False, keep_mode: NotSupported = None,
    encoding: str | None = None, encoding_errors: str = "strict", **more: Unpack[_OfTheState],
) -> dict[str, Any]:  # fmt: skip
    """Have a file hold what its source or `contents` is, with this owner, group and mode."""
    arguments = _managed(source, source_sum, user, group, mode, saltenv, contents, template)
    made = act(context, "file.managed", name, **arguments, **more, makedirs=makedirs, show_changes=show_changes,
               dir_mode=dir_mode or None, follow_symlinks=follow_symlinks, skip_verify=skip_verify, attrs=attrs,
               encoding=encoding, encoding_errors=encoding_errors)  # fmt: skip
    shown = dict(changes_of(made))
    comment = f"File {name} updated" if shown else f"File {name} is in the correct state"
    skipped = {"skip_req": True} if made.skip_req else {}
    return {"name": name, "changes": shown, "comment": comment, "result": True, **skipped}


def check_managed_changes(
    minion: Context, name: str, source: str | None = None, source_hash: SourceSum = "",
    source_hash_name: InnerArgument = None, user: Owner | None = None, group: Owner | None = None,
    mode: Mode | None = None, attrs: str | None = None, template: str | None = None, context: Map | None = None,
    defaults: Map | None = None, saltenv: str = "base", contents: str | None = None, skip_verify: bool = False,
    keep_mode: NotSupported = None, seuser: NotSupported = None, serole: NotSupported = None,
    setype: NotSupported = None, serange: NotSupported = None, verify_ssl: bool = True,
    follow_symlinks: bool = True, ignore_ordering: bool = False,
    ignore_whitespace: bool = False, ignore_comment_characters: LinesOfText = (),
    new_file_diff: bool = False,
) -> Any:  # fmt: skip
    """What would change if a file was managed with these arguments; nothing is changed.

    With `ignore_…`: whether anything changes that is not ignored, and the changes.
    """
    arguments = _managed(source, source_hash, user, group, mode, saltenv, contents, template)
    made = plan(minion, "file.managed", name, **arguments, context=context, defaults=defaults, attrs=attrs,
                skip_verify=skip_verify, verify_ssl=verify_ssl, follow_symlinks=follow_symlinks,
                ignore_ordering=ignore_ordering, ignore_whitespace=ignore_whitespace,
                ignore_comment_characters=ignore_comment_characters, new_file_diff=new_file_diff)  # fmt: skip
    changes = dict(changes_of(made))
    if not (ignore_ordering or ignore_whitespace or ignore_comment_characters):
        return changes
    return [bool(changes) and not made.skip_req, changes]


def check_managed(
    minion: Context, name: str, source: str | None = None, source_hash: SourceSum = "",
    source_hash_name: InnerArgument = None, user: Owner | None = None, group: Owner | None = None,
    mode: Mode | None = None, attrs: NotSupported = None, template: str | None = None, context: Map | None = None,
    defaults: Map | None = None, saltenv: str = "base", contents: str | None = None, skip_verify: bool = False,
    seuser: NotSupported = None, serole: NotSupported = None, setype: NotSupported = None,
    serange: NotSupported = None, follow_symlinks: NotSupported = None, **unsupported: Unpack[_OfTheCheck],
) -> list[Any]:  # fmt: skip
    """Whether a file is as it would be managed: null and what would change, or true."""
    changes = check_managed_changes(
        minion, name, source, source_hash, user=user, group=group, mode=mode, template=template, context=context,
        defaults=defaults, saltenv=saltenv, contents=contents, skip_verify=skip_verify,
    )  # fmt: skip
    if not changes:
        return [True, f"The file {name} is in the correct state"]
    lines = "\n".join(f"{key}: {value}" for key, value in changes.items())
    return [None, f"The following values are set to be changed:\n{lines}\n"]


def apply_template_on_contents(
    minion: Context, contents: str, template: str, context: Map, defaults: Map, saltenv: str
) -> str:
    """A text rendered as a template."""
    return minion.machine.render_text(contents, template, saltenv or "base", {**defaults, **context}).decode()


def source_list(context: Context, source: Sources, source_hash: TextOrFalse, saltenv: str) -> list[str]:
    """The first of several sources that is there, and its digest."""
    for url, digest in source:
        if _is_there(context, url, saltenv or "base"):
            return [url, digest or source_hash]
    raise CallFailed(f"None of the specified sources were found: {', '.join(url for url, _ in source)}")


def get_source_sum(
    context: Context, file_name: str = "", source: str = "", source_hash: str = "", source_hash_name: str = "",
    saltenv: str = "base",
) -> dict[str, str]:  # fmt: skip
    """The digest that a source must have: its kind and its digits."""
    from minion.states.file.digests import digest_of

    found = digest_of(context.machine, source_hash, source, source_hash_name, file_name, saltenv)
    return {"hash_type": found.kind, "hsum": found.value}


def _is_there(context: Context, url: str, saltenv: str) -> bool:
    from highstate.salt_urls import split_salt_url

    if url.startswith("salt://"):
        path, env = split_salt_url(url, saltenv)
        try:
            context.machine.source(path, env)
        except FileNotFoundError:
            return False
        return True
    if url.startswith(("http://", "https://", "ftp://")):
        return context.machine.fetch(url) is not None
    return context.machine.stat(url.removeprefix("file://")) is not None


def _managed(
    source: str | None, digest: str, user: str | None, group: str | None, mode: str | None, saltenv: str,
    contents: str | None, template: str | None,
) -> dict[str, Any]:  # fmt: skip
    return {
        "source": source or None,
        "source_hash": digest or None,
        "user": user or None,
        "group": group or None,
        "mode": mode or None,
        "saltenv": saltenv or "base",
        "contents": contents,
        "template": template or None,
    }


FUNCTIONS: Mapping[str, Any] = {
    "apply_template_on_contents": apply_template_on_contents,
    "check_managed": check_managed,
    "check_managed_changes": check_managed_changes,
    "get_source_sum": get_source_sum,
    "manage_file": manage_file,
    "source_list": source_list,
}
