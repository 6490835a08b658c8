"""What the content of a file should be, and what of a state may be shown at all. Pure but for reads of the trees."""

from __future__ import annotations

from controller.adoption.edits import source_of
from controller.adoption.refusal import NotAdopted
from gitfs.source import Trees
from highstate.desired import Desired
from highstate.redaction import Redaction
from highstate.traverse import traverse
from highstate.types import Chunk, Value

_PRIVATE_KEY = "PRIVATE KEY-----"


def refuse_unshown(chunk: Chunk, redaction: Redaction) -> None:
    """NotAdopted for a state that its author keeps from being shown, or that is given a secret."""
    if chunk.arguments.get("show_changes", True) is not True:
        raise NotAdopted("its SLS has show_changes: False", "what it holds is not shown; change it by hand")
    if redaction.value(chunk.arguments) != chunk.arguments or redaction.text(chunk.name) != chunk.name:
        raise NotAdopted("it is given a secret", "change it where secrets are kept")


def secret_in(redaction: Redaction, value: Value, path: str = "") -> bool:
    """Whether a value may not be written to git or shown.

    Args:
        redaction: knows the secrets of the minion.
        value: text, bytes or plain data.
        path: keys that lead to it, by whose names it may be a secret.
    """
    plain = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
    if redaction.value(plain) != plain or (path and redaction.named(path, plain) != plain):
        return True
    return isinstance(plain, str) and _PRIVATE_KEY in plain


def expected_content(chunk: Chunk, desired: Desired, trees: Trees, rendered: str | None) -> bytes | None:
    """What a file should hold; None where the state writes no content. NotAdopted where that is not known here.

    Args:
        chunk: the state.
        desired: the document that it is of.
        trees: what the document was compiled from.
        rendered: the text of its template, where it has a source that is one.
    """
    arguments = chunk.arguments
    if chunk.state != "file" or arguments.get("replace", True) is not True:
        return None
    for name in ("contents", "contents_pillar", "contents_grains"):
        given = arguments.get(name)
        if given is None:
            continue
        if arguments.get("template") or name == "contents_grains":
            raise NotAdopted(f"the minion alone knows what {name} gives", "change it by hand")
        delimiter = str(arguments.get("contents_delimiter") or ":")
        value = given if name == "contents" else traverse(desired.pillar, given, None, delimiter=delimiter)
        return _as_text(value, newline=arguments.get("contents_newline", True) is True).encode()
    if arguments.get("source") is None:
        return None
    source = source_of(chunk)
    if arguments.get("template"):
        if rendered is None:
            raise NotAdopted(f"{source.path} is a template that the minion alone renders", "change it by hand")
        return rendered.encode()
    try:
        return trees.files.read(source.path, source.saltenv)
    except (OSError, ValueError) as error:
        raise NotAdopted(f"{source.path} cannot be read: {error}") from None


def _as_text(value: Value, *, newline: bool) -> str:
    lines = value if isinstance(value, list) else [value]
    if not lines or not all(isinstance(one, str) for one in lines):
        raise NotAdopted("its contents are no text", "change it by hand")
    text = "\n".join(lines)
    return text + "\n" if newline and not text.endswith("\n") else text
