"""The texts of the trees with what a machine has, state by state: each value where it is written, and nothing else.

Called by `adoptions` in a thread; reads trees and mirrors, writes nothing. What cannot be written raises `NotAdopted`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from controller.adoption.differences import CONTENT, FUNCTION, Difference
from controller.adoption.exposure import added, refuse_code, refuse_exposing
from controller.adoption.function_edit import with_function
from controller.adoption.literal_lines import with_literal_lines
from controller.adoption.refusal import NotAdopted
from controller.adoption.scalar_edit import JINJA, CannotEdit, with_value
from controller.observe.blame import Blamer, PillarKeyPlaces
from controller.observe.value_places import Lines, block_of
from gitfs.source import Trees
from gitfs.tree.git_layer import GitLayer
from highstate.content_arguments import ContentSource
from highstate.types import Chunk, Value

_EXPRESSION = re.compile(r"""^\s*(?:- +)?[^:]+:\s+(?P<before>.*?)\{\{(?P<inside>.*?)\}\}(?P<behind>.*?)\s*$""")
_KEY = r"""\s*(?:- +)?["']?{}["']?\s*:"""
_MOST_DIFF = 200
"""Lines of what differs that are told."""

Where = tuple[bool, str, str]
"""Whether it is in the pillar's tree, saltenv and path."""


@dataclass(slots=True)
class RepositoryFiles:
    """Files of one repository with their new contents."""

    remote: str
    mirror: str
    base: str
    """Whole id of the commit that they are changed in."""
    files: dict[str, bytes] = field(default_factory=dict)
    """Path in the repository -> content."""


@dataclass(slots=True)
class TreeEditor:
    """Changes of the trees for one minion.

    Args:
        trees: those that are live.
        blamer: of these trees and the minion's document.
        is_secret: whether a value may not be shown, by its path of keys and what it holds.
    """

    trees: Trees
    blamer: Blamer
    is_secret: Callable[[str, Value], bool]
    repositories: dict[str, RepositoryFiles] = field(default_factory=dict)
    """By the path of the mirror."""
    _changed_as: dict[tuple[str, str], Where] = field(default_factory=dict)

    def write(self, chunk: Chunk, difference: Difference, rendered: str | None) -> str:
        """Write what the machine has; the place, `pillar/web.sls:3 (nginx:version)`.

        Args:
            chunk: the state.
            difference: a value of it.
            rendered: the text of its template, where it has one.
        """
        match difference.argument:
            case argument if argument == FUNCTION:
                return self._function(chunk, difference)
            case argument if argument == CONTENT:
                return self._content(chunk, difference, rendered)
            case argument:
                return self._argument(chunk, argument, difference.wanted, difference.found, difference.item)

    def _function(self, chunk: Chunk, difference: Difference) -> str:
        path, block, text = self._sls(chunk)
        try:
            new, line = with_function(text, block, chunk.state, str(difference.wanted), str(difference.found))
        except CannotEdit as error:
            raise NotAdopted(str(error), f"change the state {chunk.id} in {path}") from None
        return self._replace((False, chunk.saltenv, path), new, line)

    def _content(self, chunk: Chunk, difference: Difference, rendered: str | None) -> str:
        arguments, found = chunk.arguments, bytes(difference.found)
        if arguments.get("contents") is not None:
            return self._contents(chunk, arguments["contents"], _text_of(found))
        if arguments.get("contents_pillar") is not None:
            return self._contents_pillar(chunk, _text_of(found))
        source = source_of(chunk)
        refuse_code(source.path)
        where, now = (False, source.saltenv, source.path), _text_of(found)
        text, diff = self._text(where), unified(bytes(difference.wanted), found)
        if not arguments.get("template"):
            return self._replace(where, now, 0)
        if rendered is None:
            raise NotAdopted(f"{source.path} is a template that the minion alone renders", "change it by hand", diff)
        try:
            new, line = with_literal_lines(text, rendered, now)
        except CannotEdit as error:
            hint = "change the template, or the pillar that it reads"
            raise NotAdopted(f"{source.path} is a template: {error}", hint, diff) from None
        return self._replace(where, new, line)

    def _contents(self, chunk: Chunk, contents: Value, found: str) -> str:
        new: Value
        if isinstance(contents, list):
            new = found.splitlines()
        else:
            new = found if str(contents).endswith("\n") else found.removesuffix("\n")
        return self._argument(chunk, "contents", contents, new, "")

    def _contents_pillar(self, chunk: Chunk, found: str) -> str:
        keys = next((one.keys for one in self.blamer.values(chunk) if one.name == "contents_pillar"), ())
        if len(keys) != 1 or not isinstance(keys[0][1], str | list):
            raise NotAdopted("contents_pillar names no single text", "change the pillar by hand")
        old = keys[0][1]
        new: Value = found.splitlines() if isinstance(old, list) else found
        if isinstance(old, str) and not old.endswith("\n"):
            new = found.removesuffix("\n")
        return self._pillar(keys[0], new)

    def _argument(self, chunk: Chunk, argument: str, wanted: Value, found: Value, item: str) -> str:
        """Change an argument in the SLS, or the key of pillar that it is made of."""
        path, block, text = self._sls(chunk)
        lines = self.blamer.arguments(text, block, chunk).get("pkgs" if item else argument)
        if lines is not None and item:
            lines = _line_of(text, lines, item)
        if lines is None:
            shown = f"the version of {item}" if item else argument
            raise NotAdopted(
                f"{shown} of {chunk.id} is not written below its ID in {path}", "change it where it comes from"
            )
        written = text.splitlines()[lines.first - 1]
        if JINJA.search(written):
            keys = self.blamer.keys_read(chunk, text, written, wanted)
            return self._made_of_pillar(argument, written, keys, (str(wanted), str(found)))
        try:
            new = with_value(text, lines, found)
        except CannotEdit as error:
            raise NotAdopted(
                f"{argument} at {path}:{lines.first} is not edited: {error}", "change it by hand"
            ) from None
        return self._replace((False, chunk.saltenv, path), new, lines.first)

    def _made_of_pillar(
        self, argument: str, line: str, keys: tuple[PillarKeyPlaces, ...], values: tuple[str, str]
    ) -> str:
        """Change the one key of pillar that a line is made of, by what stands beside it in the line."""
        wanted, found = values
        match = _EXPRESSION.match(line)
        if match is None or JINJA.search(match["behind"]) or len(keys) != 1:
            raise NotAdopted(f"{argument} is made by Jinja, and not of one key of pillar alone", "change it by hand")
        before, behind = match["before"].lstrip("\"'"), match["behind"].rstrip("\"'")
        key = keys[0]
        if wanted != f"{before}{key[1]}{behind}" or isinstance(key[1], list | dict):
            raise NotAdopted(f"{argument} is computed from pillar {key[0]}", "change the pillar by hand")
        if not (found.startswith(before) and found.endswith(behind) and len(found) >= len(before + behind)):
            raise NotAdopted(f"what is beside pillar {key[0]} in {argument} is another, too", "change it by hand")
        return self._pillar(key, _typed(found[len(before) : len(found) - len(behind)], key[1]))

    def _pillar(self, key: PillarKeyPlaces, value: Value) -> str:
        path, old, places = key
        if self.is_secret(path, old) or self.is_secret(path, value):
            raise NotAdopted(f"pillar {path} is a secret", "change it where secrets are kept")
        if len(places) != 1:
            told = ", ".join(f"{file}:{line}" for _, _, file, line in places) or "no file that can be read as text"
            raise NotAdopted(f"pillar {path} is written in {told}", "change the one that counts by hand")
        _, saltenv, file, line = places[0]
        where = True, saltenv, file
        text = self._text(where)
        lines = text.splitlines()
        if not re.match(_KEY.format(re.escape(path.rpartition(":")[2])), lines[line - 1]):
            raise NotAdopted(f"pillar {path} is not written in {file} as a key of its own", "change it by hand")
        try:
            new = with_value(text, Lines(line, len(lines)), value)
        except CannotEdit as error:
            raise NotAdopted(f"pillar {path} at {file}:{line} is not edited: {error}", "change it by hand") from None
        return f"{self._replace(where, new, line)} ({path})"

    def _sls(self, chunk: Chunk) -> tuple[str, Lines, str]:
        """Path of the SLS, the lines of the ID, and the text."""
        place = self.blamer.block(chunk)
        if place is None:
            raise NotAdopted(f"the SLS {chunk.sls} is no text that can be read", "change it by hand")
        text = self._text((False, chunk.saltenv, place[0]))
        block = block_of(text, chunk.id)
        if block is None:
            raise NotAdopted(f"{chunk.id} is not written in {place[0]} as an ID", "change it by hand")
        return place[0], block, text

    def _text(self, where: Where) -> str:
        """The text as it is by now."""
        text = self.blamer.text(*where)
        is_pillar, saltenv, path = where
        if text is None:
            raise NotAdopted(f"{path} is no file of the trees, or too large to be edited", "change it by hand")
        layer = self._layer(where)
        if layer.path not in self.repositories.get(layer.git.mirror, _NOTHING).files:
            _text_of(self.blamer.tree(is_pillar).read(path, saltenv))
        return text

    def _replace(self, where: Where, text: str, line: int) -> str:
        """Give a file a new text; its place, with the line where it is known."""
        layer, old = self._layer(where), self._text(where)
        refuse_exposing(old, text)
        if self.is_secret("", "\n".join(added(old, text))):
            raise NotAdopted("it holds a secret, which is not written to git", "change it where secrets are kept")
        git, path = layer.git, layer.path
        if self._changed_as.setdefault((git.mirror, path), where) != where:
            raise NotAdopted(
                f"{path} stands in the trees twice, and another value of it is changed", "adopt one by one"
            )
        found = self.repositories.setdefault(git.mirror, RepositoryFiles(git.remote, git.mirror, git.commit))
        found.files[path] = text.encode()
        self.blamer.replace_text(*where, text)
        return f"{path}:{line}" if line else path

    def _layer(self, where: Where) -> _GitFile:
        is_pillar, saltenv, path = where
        layer = self.blamer.tree(is_pillar).layer_of(path, saltenv)
        if layer is None:
            raise NotAdopted(f"salt://{path} is not in the trees", "change it by hand")
        git, inner = layer
        if not isinstance(git, GitLayer):
            raise NotAdopted(f"{path} is in a folder of this machine, not in git", "change the file there")
        base = self.trees.revision.remotes.get(git.remote)
        if base is None or base.commit != git.commit:
            raise NotAdopted(
                f"{path} is in a submodule, or on another branch than the base of {git.remote}",
                "change it there by hand",
            )
        return _GitFile(git, git.path_in_repository(inner))


@dataclass(frozen=True, slots=True)
class _GitFile:
    git: GitLayer
    path: str
    """In the repository."""


_NOTHING = RepositoryFiles("", "", "")


def source_of(chunk: Chunk) -> ContentSource:
    """The one file of the tree that the state copies or renders."""
    given = chunk.arguments.get("source")
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    source = ContentSource.parse(given, chunk.saltenv) if isinstance(given, str) else None
    if source is None:
        raise NotAdopted("its content comes from no single file of the tree", "change it where it comes from")
    return source


def unified(wanted: bytes, found: bytes) -> str:
    """What differs, for people; from git to the machine."""
    one, other = (text.decode(errors="replace").splitlines() for text in (wanted, found))
    lines = list(difflib.unified_diff(one, other, "git", "machine", lineterm="", n=2))
    more = [f"({len(lines) - _MOST_DIFF} more lines)"] if len(lines) > _MOST_DIFF else []
    return "\n".join([*lines[:_MOST_DIFF], *more])


def _text_of(data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        raise NotAdopted("it is no text in UTF-8", "change it by hand") from None
    if "\0" in text:
        raise NotAdopted("it is no text: it has zero bytes", "change it by hand")
    return text


def _line_of(text: str, lines: Lines, item: str) -> Lines | None:
    """The line of a package in `pkgs`."""
    pattern = re.compile(rf"""\s*- +["']?{re.escape(item)}["']?\s*:""")
    for number in range(lines.first + 1, lines.last + 1):
        if pattern.match(text.splitlines()[number - 1]):
            return Lines(number, number)
    return None


def _typed(text: str, old: Value) -> Value:
    """What a line of a machine says, as a value of the kind that pillar has there."""
    if isinstance(old, bool):
        return {"true": True, "false": False}.get(text.lower(), text)
    try:
        return type(old)(text) if isinstance(old, int | float) and str(type(old)(text)) == text else text
    except ValueError:
        return text
