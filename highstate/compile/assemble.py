"""SLS names -> high data: render SLS by SLS, include depth-first, give every declaration its place and order.

Called by `compile_minion` with what the top file matched (or by `compile_sls` with the names given). It renders
through `highstate.render` only, and never raises for a bad tree: what is wrong goes to `High.problems`.
Source: salt/state.py `render_highstate` and `render_state`.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from highstate.compile.declare import read_excludes, read_extends, read_states
from highstate.compile.extend import without_duplicates
from highstate.compile.high import Body, High, first_key, states_of
from highstate.compile.positions import SourceFile, SourceLocation, near, source_excerpt
from highstate.data_limits import unbounded
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.types import Files, Pos, Problem, Stage, Value

Taken = Callable[[str, str, str, dict[Value, Value]], dict[Value, Value]]

Whence = Callable[[], Pos]
"""Where an SLS is named, found when it is asked for: most never are."""

NOTHING: dict[Value, Value] = {}
"""The data of an SLS that has none."""

_RENDERING = re.compile(r"^Rendering SLS '[^']*' failed: ")
_FIRST_ORDER = 10000
_DEEPEST = 150
"""Includes within includes beyond this are refused; no person writes them."""


def assemble(
    matches: Mapping[str, Sequence[str]],
    contexts: Mapping[str, RenderContext],
    files: Files,
    *,
    auto_order: bool = True,
    locations: Mapping[tuple[str, str], Pos],
    taken: Taken | None = None,
) -> High:
    """Render all SLS that `matches` (saltenv -> SLS names or globs) names, and what they include.

    `contexts` has one for each saltenv; `locations` says where each (saltenv, name) of `matches` was written.
    `taken` is called with each rendered SLS (saltenv, path, name, data) and returns the data to go on with.
    """
    assembler = _Assembler(contexts, files, auto_order, taken or _as_rendered)
    for saltenv, names in matches.items():
        if saltenv not in contexts:
            pos = next(
                (locations[saltenv, name] for name in names if (saltenv, name) in locations), Pos(file="top.sls")
            )
            message = f"There is no saltenv {saltenv!r}"
            assembler.high.problems.append(Problem(message=message, pos=pos, hint=_envs_hint(files)))
            continue
        for name in names:
            assembler.add_matched(name, saltenv, locations.get((saltenv, name), Pos(file="top.sls", saltenv=saltenv)))
    assembler.high.extends = without_duplicates(assembler.high.extends)
    return assembler.high


def _as_rendered(saltenv: str, path: str, sls: str, data: dict[Value, Value]) -> dict[Value, Value]:
    return dict(data)


def render_cause(message: str) -> str:
    """The message of a problem without the words that say which SLS could not be rendered."""
    return _RENDERING.sub("", message)


def sls_path(files: Files, sls: str, saltenv: str) -> str | None:
    """The file of an SLS: `a.b` is a/b.sls, else a/b/init.sls; None when there is neither."""
    return next((path for path in _candidates(sls) if files.oid(path, saltenv) is not None), None)


def sls_names(files: Files, saltenv: str) -> list[str]:
    """Every SLS of an environment, sorted."""
    names = set()
    for path in files.list("", saltenv):
        if path.endswith(".sls"):
            stem = path.removesuffix(".sls").removesuffix("/init")
            names.add(stem.replace("/", "."))
    return sorted(names)


def _candidates(sls: str) -> tuple[str, str]:
    # `p.`, which `include: [.]` of p/q.sls means, is p/init.sls.
    stem = sls.replace(".", "/").rstrip("/")
    return f"{stem}.sls", f"{stem}/init.sls"


class _Assembler:
    """The walk over the includes: what was rendered, and the running order number."""

    def __init__(self, contexts: Mapping[str, RenderContext], files: Files, auto_order: bool, taken: Taken) -> None:
        self.taken = taken
        self.contexts = contexts
        self.files = files
        self.auto_order = auto_order
        self.high = High()
        self.rendered: set[tuple[str, str]] = set()
        self.next_order = _FIRST_ORDER

    def add_matched(self, name: str, saltenv: str, pos: Pos) -> None:
        """Add the SLS that one entry of the top file names, or all those that it globs."""
        for sls in self._expand(name, saltenv):
            if (saltenv, sls) not in self.rendered:
                self._merge(self.high.bodies, self._render(sls, saltenv, (), lambda: pos))

    def _expand(self, name: str, saltenv: str) -> list[str]:
        if not any(char in name for char in "*?["):
            return [name]
        return fnmatch.filter(sls_names(self.files, saltenv), name) or [name]

    def _render(self, sls: str, saltenv: str, chain: tuple[str, ...], whence: Whence) -> dict[str, Body]:
        """Bodies of an SLS and of what it includes; `chain` are the SLS above it, `whence` says where it is named."""
        self.rendered.add((saltenv, sls))
        if len(chain) > _DEEPEST:
            message = f"SLS {sls!r} is included through more than {_DEEPEST} others"
            shown = source_excerpt(self.files, whence())
            self.high.problems.append(Problem(message=message, pos=whence(), excerpt=shown))
            return {}
        path = sls_path(self.files, sls, saltenv)
        if path is None:
            self._not_found(sls, saltenv, chain, whence())
            return {}
        through = (*chain, sls) if chain else ()
        try:
            rendered = render_sls(path, self.contexts[saltenv], sls=sls)
        except RecursionError:
            self.high.incomplete = True
            pos = Pos(file=path, saltenv=saltenv, stage=Stage.RENDER, include_chain=through)
            self.high.problems.append(Problem(message=f"SLS {sls!r} is nested too deeply to be read", pos=pos))
            return {}
        except RenderFailed as error:
            self.high.incomplete = True
            pos = replace(error.problem.pos, include_chain=through)
            message = f"Rendering SLS '{saltenv}:{sls}' failed: {error.problem.message}"
            self.high.problems.append(replace(error.problem, message=message, pos=pos))
            return {}
        location = SourceLocation(
            SourceFile(
                file=path,
                sls=sls,
                saltenv=saltenv,
                include_chain=through,
                lines=rendered.lines,
                text=rendered.text,
                files=self.files,
            )
        )
        if not rendered.data:
            self.taken(saltenv, path, sls, NOTHING)
            return {}
        if not isinstance(rendered.data, dict):
            kind = type(rendered.data).__name__
            self._problem(location, f"SLS {sls!r} does not render to a dictionary but to a {kind}")
            return {}
        too_much = unbounded(rendered.data)
        if too_much:
            self._problem(location, f"What SLS {sls!r} renders to {too_much}")
            return {}
        return self._declare(self.taken(saltenv, path, sls, rendered.data), location, (*chain, sls))

    def _declare(self, data: dict[Value, Value], location: SourceLocation, chain: tuple[str, ...]) -> dict[str, Body]:
        includes = data.pop("include", [])
        if not isinstance(includes, list):
            self._problem(location, f"The include of SLS {location.sls!r} is not formed as a list", "include")
            includes = []
        if "extend" in data:
            read_extends(self.high, data.pop("extend"), location)
        if "exclude" in data:
            read_excludes(self.high, data.pop("exclude"), location)
        bodies = read_states(self.high, data, location)
        for index, entry in enumerate(includes):
            for target in self._include(entry, location, index):
                self._merge(bodies, self._included(target, chain, location.below("include", index).pos))
        if self.auto_order:
            self._number(bodies)
        return bodies

    def _included(self, target: tuple[str, str], chain: tuple[str, ...], whence: Whence) -> dict[str, Body]:
        saltenv, sls = target
        if target in self.rendered:
            return {}
        bodies = self._render(sls, saltenv, chain, whence)
        for id_, body in bodies.items():
            if not id_.startswith("__"):
                body["__sls_included_from__"] = [*body.get("__sls_included_from__", ()), chain[-1]]
        return bodies

    def _include(self, entry: Value, location: SourceLocation, index: int) -> list[tuple[str, str]]:
        """(saltenv, SLS) of everything that one entry of an `include` means."""
        saltenv, sls = location.saltenv, entry
        if isinstance(entry, dict) and len(entry) == 1:
            saltenv, sls = next(iter(entry.items()))
        if not isinstance(sls, str):
            self._problem(
                location, f"{entry!r} in the include of SLS {location.sls!r} is not an SLS name", "include", index
            )
            return []
        if saltenv not in self.contexts:
            message = f"There is no saltenv {saltenv!r}, named in the include of SLS {location.sls!r}"
            self._problem(location, message, "include", index, hint=_envs_hint(self.files))
            return []
        if sls.startswith("."):
            absolute = _absolute(sls, location)
            if absolute is None:
                message = f"The relative include {sls!r} of SLS {location.sls!r} goes beyond the top of the tree"
                self._problem(location, message, "include", index)
                return []
            sls = absolute
        return [(saltenv, name) for name in self._expand(sls, saltenv)]

    def _merge(self, into: dict[str, Body], bodies: dict[str, Body]) -> None:
        for id_, body in bodies.items():
            if id_ in into and into[id_] != body:
                first, second = into[id_], body
                self.high.problems.append(
                    self.high.locations[id_].problem(
                        f"Conflicting IDs: {id_!r} is declared in SLS {first['__env__']}:{first['__sls__']} "
                        f"and in SLS {second['__env__']}:{second['__sls__']}",
                        hint="IDs are unique over all SLS of a minion; give one another ID and set `name`",
                    )
                )
        into.update(bodies)

    def _number(self, bodies: dict[str, Body]) -> None:
        """Give every declaration that has no order the next number."""
        for body in bodies.values():
            for state in states_of(body):
                run = body[state]
                if state.startswith("_") or not isinstance(run, list):
                    continue
                for argument in run:
                    if isinstance(argument, dict) and "order" in argument and first_key(argument) == "order":
                        break
                else:
                    run.append({"order": self.next_order})
                    self.next_order += 1

    def _not_found(self, sls: str, saltenv: str, chain: tuple[str, ...], whence: Pos) -> None:
        tried = " and ".join(_candidates(sls))
        names = sls_names(self.files, saltenv)
        others = [env for env in self.files.saltenvs() if env != saltenv and sls_path(self.files, sls, env)]
        hint = near(sls, names) or (f"it is there in saltenv {', '.join(others)}" if others else "")
        message = f"No matching sls found for '{sls}' in env '{saltenv}' (tried {tried})"
        if chain:
            message = f"Specified SLS {sls} in saltenv {saltenv} is not available (tried {tried})"
            message += f", included by SLS {chain[-1]!r}"
        shown = source_excerpt(self.files, whence)
        self.high.problems.append(Problem(message=message, pos=whence, excerpt=shown, hint=hint))
        self.high.incomplete = True

    def _problem(self, location: SourceLocation, message: str, *keys: Value, hint: str = "") -> None:
        self.high.problems.append(location.problem(message, *keys, hint=hint))


def _absolute(sls: str, location: SourceLocation) -> str | None:
    """A relative include as an absolute one: one dot is the package of the SLS, each more goes up."""
    match = re.fullmatch(r"(\.+)(.*)", sls, re.DOTALL)
    assert match  # noqa: S101 - the caller saw the leading dot
    up, rest = len(match[1]), match[2]
    parts = location.sls.split(".")
    if f"/{location.file}".endswith("/init.sls"):
        parts.append("init")
    if up > len(parts):
        return None
    return ".".join([*parts[:-up], rest])


def _envs_hint(files: Files) -> str:
    return "there is " + ", ".join(files.saltenvs()) if files.saltenvs() else "the tree is empty"
