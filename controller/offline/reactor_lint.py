"""Reactors while a tree is linted: their SLS as written, what native rules call, and tags that nobody fires.

Called by `linting`. There is no event, so SLS are not rendered: both branches of each condition are read, and nothing
is said of what an expression would give.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal

from controller.offline.schedule_lint import wrong_jobs
from controller.runners import registry
from highstate.compile.chunks import drafts_of
from highstate.compile.declare import read_states
from highstate.compile.high import High
from highstate.compile.order import ordered
from highstate.compile.positions import SourceFile, SourceLocation
from highstate.compile.verify import verify
from highstate.files import MemoryFiles
from highstate.lint import CallableNames, Finding, KnownMinions
from highstate.lint.findings import ignored_lines, kept
from highstate.lint.recovery import MARK, is_text, readable_entries
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.render.problems import excerpt
from highstate.render.steps import shebang
from highstate.types import Chunk, Files, Minion, Problem, Value
from minion.beacons.registry import MODULES as BEACONS
from options.near_names import did_you_mean
from reactors.controller_jobs import ControllerJob
from reactors.fired_tags import FIRED, globs_meet, unfired
from reactors.rules.native_rule import NativeRules
from reactors.rules.reaction import Parameters, ReactionCall
from reactors.rules.reaction_arguments import reaction_of
from reactors.rules.reactor_map import ReactorMap
from reactors.rules.rule_action import RuleAction

Path = tuple[str, str]
"""(saltenv, path)"""

_FOLDERS = frozenset(("reactor", "reactors"))
_REACTION = re.compile(r"^[ \t]+(?:local|cmd|runner|wheel|caller)\.\w", re.MULTILINE)
_FIRES = re.compile(r"event\.(?:send|fire)|fire_event|fire_master|send_event")
_TEXTS = (".sls", ".py", ".jinja", ".jinja2", ".j2", ".yaml", ".yml", ".sh")
_MOST_BYTES = 1024 * 1024
"""Of a file that is looked at for tags."""
_EXPRESSION = re.compile(r"\{\{.*?\}\}|\{[^{}\n]*\}|%\(\w+\)s|%s", re.DOTALL)
_WORD = re.compile(r"[\w.:@/*+-]+")
_HEARD = re.compile(r"^\s*(?:-\s*)?(?:tag|regex):")
_CALLED: Mapping[str, Literal["execution", "runner", "wheel"]] = {
    "local": "execution",
    "caller": "execution",
    "runner": "runner",
    "wheel": "wheel",
}


def reactor_paths(files: Files, reactors: ReactorMap) -> frozenset[Path]:
    """The SLS of a tree that are reactors: those that are named, and what looks so in folders of that name."""
    named = {_path_of(sls) for entry in reactors.entries for sls in entry.sls if sls.startswith("salt://")}
    for saltenv in files.saltenvs():
        for path in files.list("", saltenv):
            in_folder = path.endswith(".sls") and _FOLDERS & set(path.split("/")[:-1])
            if in_folder and _REACTION.search(_text(files, path, saltenv)):
                named.add((saltenv, path))
    return frozenset(each for each in named if files.oid(each[1], each[0]) is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorLint:
    """What is looked at, and what is known."""

    files: Files
    functions: CallableNames
    minions: KnownMinions
    policy_file: str
    reactors: ReactorMap = field(default_factory=ReactorMap)
    """Of the tree."""
    rules: NativeRules = field(default_factory=NativeRules)
    """Of the tree, too."""
    pillar: Files
    """Beacons may be named there."""
    on_disk: Mapping[str, str] = field(default_factory=dict)
    """Reactors that the controller's file names by absolute paths -> their texts."""
    jobs: Mapping[str, ControllerJob] = field(default_factory=dict)
    """Of the schedules of the tree and of the controller's file."""

    def findings(self, paths: Iterable[Path]) -> Iterator[Finding]:
        """Findings about these SLS, the rules, and the tags that are answered."""
        for saltenv, path in sorted(paths):
            yield from self._of_sls(self.files, saltenv, path)
        for path, text in sorted(self.on_disk.items()):
            alone = MemoryFiles({"base": {path: text.encode()}})
            ignored = {("states", "base", path): ignored_lines(text)}
            yield from kept(self._of_sls(alone, "base", path), ignored)
        for job in wrong_jobs(self.jobs, self.functions, self.minions):
            yield self._in_policy(job.rule, job.place, job.message, job.hint)
        for rule in self.rules.rules:
            for action in (*rule.do, *rule.escalated):
                yield from self._of_action(action)
        yield from self._of_tags()

    def _of_sls(self, files: Files, saltenv: str, path: str) -> Iterator[Finding]:
        text = _text(files, path, saltenv)
        if not is_text(text):
            yield from _of_program(text, saltenv, path)
            return
        if "{{" not in text and "{%" not in text:
            yield from _unreadable(files, saltenv, path)
        for entry, data, lines in readable_entries(text):
            source = SourceFile(file=path, sls=path, saltenv=saltenv, lines=lines, text=entry)
            for found in self._of_entry(source, data):
                if MARK not in found.message:
                    yield replace(found, excerpt=excerpt(text, found.line, max(found.column, 1)))

    def _of_entry(self, source: SourceFile, data: dict[Value, Value]) -> Iterator[Finding]:
        high, location = High(), SourceLocation(source)
        high.bodies.update(read_states(high, data, location, dotted_functions=True))
        verify(high)
        drafts = drafts_of(high)
        locations = {(draft.state, draft.id, draft.name): draft.location for draft in drafts}
        chunks, problems = ordered(drafts)
        for problem in (*high.problems, *problems):
            if "Referenced state does not exist" not in problem.message:  # another entry may declare it
                yield Finding.of(problem, "form")
        for chunk in chunks if not high.problems else ():
            yield from self._of_reaction(chunk, locations[chunk.state, chunk.id, chunk.name])

    def _of_reaction(self, chunk: Chunk, location: SourceLocation) -> Iterator[Finding]:
        warnings: list[Problem] = []
        call = reaction_of(chunk, location, _any_parameters, warnings)
        if isinstance(call, Problem):
            rule = "no-target" if "says nothing of its minions" in call.message else "form"
            yield Finding.of(call, rule)
            return
        yield from (Finding.of(warning, "no-effect") for warning in warnings)
        kind = _CALLED.get(call.type)
        if kind is not None and MARK not in call.fun and (wrong := self.functions.why_not(kind, call.fun)):
            yield Finding.of(location.problem(wrong.message, chunk.state, hint=wrong.hint), "unknown-function")
        if call.tgt is not None or call.type == "local":
            yield from self._of_target(call, chunk, location)

    def _of_target(self, call: ReactionCall, chunk: Chunk, location: SourceLocation) -> Iterator[Finding]:
        if call.tgt in ("", None, []):
            text = f"the reaction {call.id!r} names no minion"
            found = location.problem(text, chunk.state, "tgt", hint="give `tgt` a pattern")
            yield Finding.of(found, "no-target")
        elif MARK not in str(call.tgt):
            why, hint = self.minions.why_nobody(call.tgt, call.tgt_type or "glob")
            if why:
                text = f"the reaction {call.id!r} reaches nobody: {why}"
                yield Finding.of(location.problem(text, chunk.state, "tgt", hint=hint), "nobody")

    def _of_action(self, action: RuleAction) -> Iterator[Finding]:
        kind = _CALLED.get(action.type)
        if kind is not None and (wrong := self.functions.why_not(kind, action.fun)):
            yield self._in_policy("unknown-function", action.place, wrong.message, wrong.hint)
        tgt = action.options.get("tgt")
        if isinstance(tgt, str | list | tuple):
            kind_of_tgt = str(action.options.get("tgt_type") or "glob")
            why, hint = self.minions.why_nobody(tgt if isinstance(tgt, str) else list(map(str, tgt)), kind_of_tgt)
            if why:
                text = f"{action.type}.{action.fun} reaches nobody: {why}"
                yield self._in_policy("nobody", action.place, text, hint)

    def _of_tags(self) -> Iterator[Finding]:
        heard = [(entry.tag, entry.place) for entry in self.reactors.entries]
        heard += [(rule.match.tag, rule.place) for rule in self.rules.rules if rule.match.tag]
        beacons, own = {*BEACONS, *self._own_beacons()}, self._fired_in_tree()
        for tag, place in heard:
            why = unfired(tag, beacons)
            if why and not any(globs_meet(tag, one) for one in own):
                near = did_you_mean(tag, [*FIRED, *own], cutoff=0.75).replace("+", "*")
                hint = near or "where a program or an engine fires it, switch the rule off with a comment"
                yield self._in_policy("unfired-tag", place, why, hint)

    def _own_beacons(self) -> Iterator[str]:
        """Names of beacons that are of the tree, or that its pillar and policy have."""
        for path in self.files.list("_beacons", "base"):
            yield path.rpartition("/")[2].removesuffix(".py")
        pillar = (
            _text(self.pillar, path, saltenv)
            for saltenv in self.pillar.saltenvs()
            for path in self.pillar.list("", saltenv)
            if path.endswith(_TEXTS)
        )
        for text in (*pillar, _text(self.files, self.policy_file, "base")):
            if "beacons:" in text:
                yield from set(re.findall(r"^\s+([\w-]+):", text, re.MULTILINE)) - {"target", "beacons"}

    def _fired_in_tree(self) -> list[str]:
        """What may be a tag in files that fire events; an expression in it may be anything."""
        places = {entry.place for entry in self.reactors.entries}
        found: set[str] = set()
        for saltenv in self.files.saltenvs():
            for path in self.files.list("", saltenv):
                text = _text(self.files, path, saltenv) if path.endswith(_TEXTS) else ""
                if not _FIRES.search(text):
                    continue
                for number, row in enumerate(_EXPRESSION.sub("*", text).split("\n"), 1):
                    if path == self.policy_file and (_HEARD.match(row) or f"{path}:{number}" in places):
                        continue
                    words = (word.strip(":") for word in _WORD.findall(row))
                    found.update(f"{word}*" if word.endswith("/") else word for word in words)
        return sorted(word for word in found if word.strip("*/.:-"))

    def _in_policy(self, rule: str, place: str, message: str, hint: str) -> Finding:
        file, _, number = place.rpartition(":")
        line = int(number) if number.isdecimal() else 0
        if file != self.policy_file and not file.startswith("/"):
            file, line = self.policy_file, 0
        text = _text(self.files, self.policy_file, "base") if file == self.policy_file else ""
        shown = excerpt(text, line, 1) if line and text else ""
        return Finding(rule=rule, message=message, file=file, line=line, excerpt=shown, hint=hint)


def _unreadable(files: Files, saltenv: str, path: str) -> Iterator[Finding]:
    """An SLS without templates is rendered as it is."""
    context = RenderContext(minion=Minion(id="sample"), files=files, saltenv=saltenv)
    try:
        render_sls(path, context, sls=path, extra={"tag": "", "data": {}})
    except RenderFailed as error:
        yield Finding.of(error.problem, "yaml")
    except RecursionError:
        yield Finding(rule="yaml", message="this is nested too deeply to be read", saltenv=saltenv, file=path)


def _of_program(text: str, saltenv: str, path: str) -> Iterator[Finding]:
    """A reactor whose first line names a renderer that is no text: it is not run, and of Python the syntax is read."""
    first = text.split("\n", 1)[0]
    hint = "try it on an event: saltern reactor test TAG DATA.json"
    if shebang(text).split("|")[-1].split()[:1] == ["py"]:
        try:
            names = {one.name for one in ast.parse(text).body if isinstance(one, ast.FunctionDef)}
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            line = error.lineno or 0 if isinstance(error, SyntaxError) else 0
            shown = excerpt(text, line, 1) if line else ""
            said = f"this is no Python: {error}"
            yield Finding(rule="syntax", message=said, saltenv=saltenv, file=path, line=line, excerpt=shown)
            return
        if "run" not in names:
            message = "a reactor in Python has a function run(), which returns the reactions"
            yield Finding(rule="form", message=message, saltenv=saltenv, file=path, line=1)
            return
    message = f"what this reactor asks for is not checked: it is a program ({first.strip()[:40]})"
    yield Finding(rule="unchecked", message=message, saltenv=saltenv, file=path, line=1, hint=hint)


def _any_parameters(kind: Literal["runner", "wheel"], fun: str) -> Parameters:
    """Those of a function; of one that is not known any, as that is told by itself."""
    return registry.parameters_of(kind, fun) or Parameters((), (), any_name=True)


def _path_of(sls: str) -> Path:
    path, _, saltenv = sls.removeprefix("salt://").partition("?saltenv=")
    return saltenv or "base", path


def _text(files: Files, path: str, saltenv: str) -> str:
    if files.oid(path, saltenv) is None:
        return ""
    return files.read(path, saltenv)[:_MOST_BYTES].decode("utf-8-sig", errors="replace")
