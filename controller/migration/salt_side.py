"""Real Salt as a process that compiles minions. Runs in the Python that Salt is installed for; imports nothing of ours.

Started by `salt_process` by its path. The first line of stdin is the world: files and options (see `SaltWorld` there);
it is answered by {"version", "ordered"} or {"fatal"}. Each further line is {"id", "grains"}, answered by {"low"} or
{"errors"}, with "asked": functions of the machine that templates called and nobody recorded. Those are not run, since
this is not that machine. Nothing is written but below the folder that the world names.

The pillar is compiled as the master does it (salt/master.py: `_pillar`), with its own configuration; the states as a
minion does it, with the options that a master gives its minions (salt/state.py: `__gen_opts`).
"""

from __future__ import annotations

import copy
import importlib
import json
import logging
import os
import random
import sys
from pathlib import Path
from typing import Any

FROM_MASTER = (
    "default_top", "env_order", "failhard", "file_ignore_glob", "file_ignore_regex", "fileserver_followsymlinks",
    "fileserver_ignoresymlinks", "hash_type", "jinja_env", "jinja_lstrip_blocks", "jinja_sls_env", "jinja_trim_blocks",
    "nodegroups", "renderer", "state_aggregate", "state_auto_order", "state_top", "state_top_saltenv",
    "top_file_merging_strategy",
)  # fmt: skip
"""Options that a minion takes over from its master, or that shape how its files are listed."""


class LiveMachine(Exception):
    """A template asks the machine."""


def main() -> None:
    """Answer until there are no more lines."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what Salt prints is no answer
    here = str(Path(__file__).parent)
    sys.path[:] = [place for place in sys.path if place not in ("", here)]
    world = json.loads(sys.stdin.readline())
    try:
        salt = Salt(world)
    except Exception as error:  # the border of this process
        answers.write(json.dumps({"fatal": f"{type(error).__name__}: {error}"}) + "\n")
        return
    answers.write(json.dumps({"version": salt.version, "ordered": salt.ordered}) + "\n")
    for line in sys.stdin:
        minion = json.loads(line)
        try:
            answer = json.dumps(salt.answer(minion["id"], minion["grains"]), default=_other)
        except Exception as error:  # one that cannot be compiled or written is its own answer
            answer = json.dumps({"errors": [f"{type(error).__name__}: {error}"], "asked": salt.take_asked()})
        answers.write(answer + "\n")


def _other(value: Any) -> str:
    if isinstance(value, (set, frozenset)) and value:
        return "{%s}" % ", ".join(sorted(map(repr, value)))  # noqa: UP031  (easier to read than four braces)
    return str(value)


def _short(errors: Any) -> list[str]:
    """Errors without the tracebacks that Salt puts into them."""
    return [str(error).partition("\nTraceback")[0][:10000] for error in errors]


class Salt:
    """Salt, set up once for all minions."""

    def __init__(self, world: dict[str, Any]) -> None:
        logging.disable(logging.CRITICAL)
        config = importlib.import_module("salt.config")
        self.version = str(importlib.import_module("salt.version").__version__)
        self._pillars = importlib.import_module("salt.pillar")
        self._states = importlib.import_module("salt.state")
        # Before it, requisites change the order of chunks while they run, and not when they are compiled.
        self.ordered = hasattr(self._states, "DependencyGraph")
        self._loader = importlib.import_module("salt.loader")
        self._merge = importlib.import_module("salt.utils.dictupdate").merge
        self._watched = world["watched"]
        self._asked: list[str] = []
        folder = Path(world["folder"])
        self._master = _master_options(dict(config.master_config(world["master"])), world, folder)
        self._minion = _minion_options(config, self._master, folder)
        answer_from_facts(world, self._asked)
        draw_by_id()
        compile_once()

    def take_asked(self) -> list[str]:
        """What templates asked since the last time."""
        asked = sorted(set(self._asked))
        del self._asked[:]
        return asked

    def answer(self, minion_id: str, grains: dict[str, Any]) -> dict[str, Any]:
        """The low chunks of a minion, or the errors in their place."""
        master = copy.deepcopy(self._master)
        pillar = self._pillars.get_pillar(master, copy.deepcopy(grains), minion_id, None).compile_pillar()
        if pillar.get("_errors"):
            return {"errors": _short(pillar["_errors"]), "asked": self.take_asked()}
        opts = copy.deepcopy(self._minion)
        opts.update(id=minion_id, grains=grains, pillar=pillar)
        state = self._states.HighState(opts, initial_pillar=pillar)
        try:
            answer = self._low(state, self._external_tops(opts, grains))
        finally:
            if hasattr(state, "destroy"):
                state.destroy()
        return dict(answer, asked=self.take_asked())

    def _low(self, state: Any, tops: dict[str, Any]) -> dict[str, Any]:
        state.client.master_tops = lambda: tops
        for name in self._watched:  # on this machine a state module may not load that does on the minion
            state.state.states[f"{name}.mod_watch"] = print
        problems = state.verify_tops(state.get_top())
        low = problems or state.compile_low_chunks()
        if problems or any(not isinstance(chunk, dict) for chunk in low):
            return {"errors": _short(low)}
        return {"low": low}

    def _external_tops(self, opts: dict[str, Any], grains: dict[str, Any]) -> dict[str, Any]:
        """As the master does it for its minions (salt/daemons/masterapi.py: `_master_tops`)."""
        wanted = self._master.get("master_tops") or {}
        found: dict[str, Any] = {}
        if wanted:
            functions = self._loader.tops(self._master)
            for name in functions:
                if name in wanted:
                    found = self._merge(found, functions[name](opts=opts, grains=grains), merge_lists=True)
        return found


def _master_options(master: dict[str, Any], world: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The options of the master: its trees are the folders that were given, its caches lie in the scratch folder."""
    kept = [each for each in master.get("ext_pillar") or [] if not (isinstance(each, dict) and "git" in each)]
    master.update(
        file_roots=world["file_roots"],
        pillar_roots=world["pillar_roots"],
        fileserver_backend=["roots"],
        ext_pillar=kept,
        cachedir=str(folder / "master"),
        sock_dir=str(folder / "sock"),
        pki_dir=str(folder / "pki"),
        pillar_cache=False,
        minion_data_cache=False,
        file_client="local",
        log_file=os.devnull,
        __fs_update=True,  # folders need none
    )
    if world["root"] != "/" and master.get("extension_modules"):
        master["extension_modules"] = world["root"] + str(master["extension_modules"])
    Path(master["cachedir"]).mkdir(parents=True, exist_ok=True)
    return master


def _minion_options(config: Any, master: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Options as a minion has them that took over what its master says."""
    file = folder / "minion"
    lines = [f"root_dir: {folder}", "file_client: local", "local: true", "user: root", "grains_cache: false"]
    file.write_text("\n".join([*lines, ""]))
    minion = dict(config.minion_config(str(file), minion_id="minion"))
    minion.update({name: master[name] for name in FROM_MASTER if name in master})
    for name in ("file_roots", "pillar_roots", "fileserver_backend", "file_client", "extension_modules", "__fs_update"):
        if name in master:
            minion[name] = master[name]
    minion["cachedir"] = str(folder / "cache")
    Path(minion["cachedir"]).mkdir(parents=True, exist_ok=True)
    return minion


def answer_from_facts(world: dict[str, Any], asked: list[str]) -> None:
    """Templates get what was recorded in place of a function of the machine, and an error where nothing was."""
    templates: Any = importlib.import_module("salt.utils.templates")
    live, pure = frozenset(world["live"]), frozenset(world["pure"])
    facts = {(one["fun"], _question(one.get("args"), one.get("kwargs"))): one.get("ret") for one in world["facts"]}
    named = frozenset(fun for fun, _ in facts)

    def is_live(name: str) -> bool:
        return name not in pure and name.partition(".")[0] in live

    def answering(name: str) -> Any:
        def answer(*args: Any, **kwargs: Any) -> Any:
            question = (name, _question(args, {key: kwargs[key] for key in kwargs if not key.startswith("__")}))
            if question not in facts:
                asked.append(name)
                raise LiveMachine(name)
            return copy.deepcopy(facts[question])

        return answer

    class Module:
        def __init__(self, name: str, functions: Any) -> None:
            self.__name, self.__functions = name, functions

        def __getattr__(self, name: str) -> Any:
            full = f"{self.__name}.{name}"
            return answering(full) if is_live(full) else getattr(self.__functions(), name)

    class Recorded(templates.AliasedLoader):  # type: ignore[misc]
        def __getitem__(self, name: str) -> Any:
            return answering(name) if is_live(name) else super().__getitem__(name)

        def __contains__(self, name: str) -> bool:
            if not is_live(name):
                return bool(super().__contains__(name))
            if name not in named:
                asked.append(name)
                raise LiveMachine(name)
            return True

        def get(self, name: str, default: Any = None) -> Any:
            return self[name] if name in self else default  # noqa: SIM401  (this is `get`)

        def __getattr__(self, name: str) -> Any:
            found = super().__getattr__
            return Module(name, lambda: found(name)) if name in live else found(name)

    templates.AliasedLoader = Recorded


def _question(args: Any, kwargs: Any) -> str:
    return json.dumps([list(args or ()), dict(kwargs or {})], sort_keys=True, default=str)


def draw_by_id() -> None:
    """`|random` gives what it gives in Saltern: the same for a minion each time."""
    jinja2 = importlib.import_module("jinja2")
    decorators = importlib.import_module("salt.utils.decorators.jinja")
    pass_context: Any = getattr(jinja2, "pass_context", None) or jinja2.contextfunction

    @pass_context  # type: ignore[untyped-decorator]
    def choose(context: Any, values: Any) -> Any:
        return random.Random(context["opts"]["id"]).choice(list(values))  # noqa: S311  (no secret)

    decorators.JinjaFilter.salt_jinja_filters["random"] = choose


def compile_once() -> None:
    """Keep the code of templates, of which Salt forgets all at each render: nine tenths of the time here."""
    environment = importlib.import_module("jinja2.environment").Environment
    compile_template: Any = environment.compile
    codes: dict[Any, Any] = {}
    options = ("trim_blocks", "lstrip_blocks", "block_start_string", "variable_start_string", "line_statement_prefix")

    def kept(self: Any, source: Any, name: Any = None, filename: Any = None, *rest: Any, **named: Any) -> Any:
        if not isinstance(source, str) or rest or named:
            return compile_template(self, source, name, filename, *rest, **named)
        key = (type(self), source, name, filename, *(getattr(self, option) for option in options))
        if key not in codes:
            codes[key] = compile_template(self, source, name, filename)
        return codes[key]

    environment.compile = kept


if __name__ == "__main__":
    main()
