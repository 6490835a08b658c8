"""`saltern call`: one execution function on this machine, and its value on stdout.

Called by the CLI's verb (`main`). It is the composition root of masterless runs: everything is made on first use, and
imported then, since the start of this process is what a person waits for. stdout is data, stderr is everything else.

Exit codes: 0 done, 1 failed, 2 there are changes to make (test=True), 4 the tree does not compile.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from minion.call.arguments import BadArgument, parse
from minion.config.files import BadMinionSettings
from minion.config.settings import DEFAULT_CONFIG_DIR, LOG_LEVELS, MinionSettings, load_settings
from minion.execution import CallFailed, CompileFailed, Context, Modules, OthersRun
from minion.spool.state_queue import StateQueue

if TYPE_CHECKING:
    from highstate.run.ports import RunHooks
    from highstate.types import Files
    from minion.call.output_highstate import OutputOptions
    from minion.execution import LowstateSource
    from minion.worker.lowstate_sources import RootsCompiler

OUTPUTTERS = ("highstate", "json", "nested", "pprint", "quiet", "raw", "table", "txt", "yaml")


@dataclass(frozen=True, slots=True, kw_only=True)
class CallOptions:
    """The command line, words as typed."""

    fun: str
    args: tuple[str, ...] = ()
    """`value` or `key=value`, each read as YAML."""
    local: bool = False
    config_dir: Path = DEFAULT_CONFIG_DIR
    file_root: tuple[str, ...] = ()
    """Folders of the base environment, instead of `file_roots`; the first that has a file wins."""
    pillar_root: tuple[str, ...] = ()
    id: str = ""
    out: str = ""
    """One of OUTPUTTERS; empty: `highstate` for state runs, `nested` for the rest."""
    state_output: str = ""
    """One of `minion.call.output_highstate.STATE_OUTPUTS`; empty: as configured."""
    state_verbose: bool | None = None
    """Whether states that succeeded without changes are shown; None: as configured."""
    profile: bool = False
    """Show where the time went."""
    output_diff: bool = False
    """Show only states that changed something or failed."""
    metadata: bool = False
    """Show exit code, jid and outputter besides the value."""
    module_dirs: tuple[str, ...] = ()
    """Folders with folders of modules, instead of the option of this name."""
    states_dir: tuple[str, ...] = ()
    """Folders with state modules, instead of `states_dirs`."""
    cachedir: str = ""
    skip_grains: bool = False
    no_parse: tuple[str, ...] = ()
    """Names of arguments whose values stay text."""
    hard_crash: bool = False
    """Let what a function raises come through."""
    log_level: str = ""
    log_file: str = ""
    log_file_level: str = ""
    retcode_passthrough: bool = False
    """cmd.*: exit with the command's code."""
    out_file: Path | None = None
    """Where the value goes instead of stdout."""
    out_append: bool = False
    """Put it at the end of that file."""
    out_indent: int | None = 4
    """Of JSON; None: all in one line."""
    color: bool | None = None
    """None: when stdout is a terminal and NO_COLOR is not set."""
    returners: str = ""
    """Names with commas; empty: those of the configuration."""


def main(options: CallOptions, stdout: TextIO | None = None, stderr: TextIO | None = None) -> int:
    """Call the function and print its value; gives the exit code and raises nothing for what goes wrong."""
    out, err = stdout or sys.stdout, stderr or sys.stderr
    if options.out and options.out not in OUTPUTTERS:
        return _refuse(err, f"--out {options.out} is not known: take one of {', '.join(OUTPUTTERS)}")
    try:
        settings = _settings(options)
        args, kwargs = parse(options.args, options.no_parse)
    except (BadMinionSettings, BadArgument) as error:
        return _refuse(err, str(error))
    try:
        _log_to(err, settings)
    except OSError as error:
        return _refuse(err, f"{settings.log_file}: {error.strerror}")
    try:
        context = _Local(options, settings).context()
        value = Modules(context).call(options.fun, args, kwargs)
    except CompileFailed as error:
        _print_refusal(options, settings, [str(problem) for problem in error.problems], out)
        return 4
    except OthersRun as error:
        _print_refusal(options, settings, str(error).splitlines(), out)
        return 1
    except CallFailed as error:
        return _refuse(err, str(error))
    except KeyboardInterrupt:
        import signal

        from minion.processes import end_descendants

        end_descendants(signal.SIGTERM)
        return 130
    except Exception as error:
        if options.hard_crash:
            raise
        return _refuse(err, f"{options.fun} failed: {_said(error)}")
    asked = context.user_modules.outputter(options.fun) if context.has_user_modules() else ""
    code = _exit_code(options, value, context.retcode)
    try:
        if options.metadata:
            _print_metadata(options, settings, value, code, asked, out)
        else:
            _print(options, settings, value, out, asked)
        out.flush()
    except BrokenPipeError:
        _let_go(out)  # whoever reads has seen enough
    except OSError as error:
        return _refuse(err, f"{options.out_file or 'standard output'}: {error.strerror}")
    _return(options, context, value, code, out, err)
    return code


def _let_go(out: TextIO) -> None:
    """Have what is still to be written to a closed pipe go nowhere, so that the end of the process is a quiet one."""
    import os

    if out is sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _return(options: CallOptions, context: Context, value: Any, code: int, out: TextIO, err: TextIO) -> None:
    """Hand the value to the returners that are asked for."""
    asked = options.returners or context.opts.get("return")
    if not asked:
        return
    from minion.worker.returners import answer, hand_over, names_of

    ret = answer(context, options.fun, options.args, value, success=code == 0, retcode=code)
    if is_running(value):
        ret["out"] = "highstate"
    elif options.fun == "cmd.retcode" and isinstance(value, int):
        ret |= {"retcode": value, "success": True}
    for said in hand_over(context, names_of(asked), ret, out):
        print(f"warning: {said}", file=err)


@dataclass(frozen=True)
class _Local:
    """This machine, put together as the options and the configuration ask for."""

    options: CallOptions
    settings: MinionSettings

    def context(self) -> Context:
        local = self.options.local or self.settings.file_client == "local"
        return Context(
            minion_id=self.settings.id,
            opts={**self.settings.opts, "id": self.settings.id, "file_client": "local" if local else "remote"},
            make_grains=lambda: self.grains,
            read_again=lambda what: self.grains_again() if what == "grains" else self.pillar_again(local),
            make_pillar=self.local_pillar if local else lambda: self.held.pillar,
            make_files=(lambda: self.roots) if local else self.held_files,
            make_compiler=self.roots_compiler if local else self.held_compiler,
            state_queue=StateQueue(self.settings.cachedir, self.options.fun),
            failhard=self.settings.failhard,
            backup_dir=str(self.settings.cachedir / "file_backup"),
            cachedir=str(self.settings.cachedir),
            config_dir=str(self.settings.config_dir),
            make_run_hooks=self.run_hooks,
        )

    @cached_property
    def grains(self) -> Mapping[str, Any]:
        if self.options.skip_grains:
            return {}
        from minion.agent.grains import known_grains

        return known_grains(self.settings)

    @cached_property
    def roots(self) -> Files:
        return _tree(self.options.file_root, self.settings.file_roots, "/srv/saltern/states")

    @cached_property
    def pillar_roots(self) -> Files:
        return _tree(self.options.pillar_root, self.settings.pillar_roots, "/srv/saltern/pillar")

    def roots_compiler(self) -> RootsCompiler:
        from highstate.types import Minion
        from minion.worker.lowstate_sources import RootsCompiler

        minion = Minion(id=self.settings.id, grains=self.grains)
        return RootsCompiler(files=self.roots, pillar_files=self.pillar_roots, minion=minion, opts=self.settings.opts)

    def grains_again(self) -> Mapping[str, Any]:
        from minion.agent.grains import collect_grains

        self.__dict__["grains"] = found = collect_grains(self.settings)
        return found

    def pillar_again(self, local: bool) -> Mapping[str, Any]:
        self.__dict__.pop("pillar_roots", None)
        return self.local_pillar() if local else self.held.pillar

    def local_pillar(self) -> Mapping[str, Any]:
        return self.roots_compiler().pillar()

    @cached_property
    def held(self) -> Any:
        """The desired state that the controller sent; CallFailed when there is none."""
        from minion.spool.desired_state import FILE_NAME, read_document

        path = self.settings.cachedir / FILE_NAME
        try:
            return read_document(path).desired
        except FileNotFoundError:
            raise CallFailed(
                f"this minion holds no desired state yet ({path}): start `saltern minion`, or compile here with --local"
            ) from None
        except PermissionError:
            raise CallFailed(f"{path} is not yours to read: run this as the user that the minion runs as") from None
        except (OSError, ValueError) as error:
            raise CallFailed(f"{path} cannot be read: {error}") from error

    def held_files(self) -> Files:
        from minion.worker.lowstate_sources import held_files

        return held_files(self.held, self.settings.cachedir)

    def held_compiler(self) -> LowstateSource:
        from minion.worker.lowstate_sources import HeldCompiler

        return HeldCompiler(minion_id=self.settings.id, desired=self.held)

    def run_hooks(self) -> RunHooks:
        """Threads, and the triggers that are owed, where there is a cache to keep them in."""
        from minion.worker.run_hooks import TriggerFile, run_hooks
        from minion.worker.termination import Stop

        there = self.settings.cachedir.is_dir()
        stop = Stop(self.settings.stop_grace, has_agent=False)
        stop.follow()
        return run_hooks(self.settings.opts, TriggerFile(self.settings.cachedir) if there else None, stop)


def _tree(given: Sequence[str], configured: Mapping[str, Sequence[str]], default: str) -> Files:
    from gitfs.errors import GitfsError
    from gitfs.tree.snapshot import directory_snapshot

    roots: Mapping[str, Sequence[str]] = {"base": list(given)} if given else configured
    missing = [folder for folder in given if not _folders(folder)]
    if missing:
        raise CallFailed(f"{missing[0]} is not a directory")
    roots = roots or {"base": [default]}
    there = {env: [str(found) for folder in folders for found in _folders(folder)] for env, folders in roots.items()}
    try:
        return directory_snapshot(there)
    except GitfsError as error:
        raise CallFailed(str(error)) from error


def _folders(folder: str) -> list[Path]:
    """The folders that one names: those that fit, when it is a pattern."""
    import glob

    named = glob.glob(folder) if glob.has_magic(folder) else [folder]  # noqa: PTH207
    return [Path(one).absolute() for one in named if Path(one).is_dir()]


def _settings(options: CallOptions) -> MinionSettings:
    """The configuration, with what the command line says over it."""
    for option, level in (("-l", options.log_level), ("--log-file-level", options.log_file_level)):
        if level and level not in LOG_LEVELS:
            raise BadMinionSettings(f"{option} {level} is not known: take one of {', '.join(LOG_LEVELS)}")
    overrides = {
        "id": options.id,
        "cachedir": options.cachedir and str(Path(options.cachedir).absolute()),
        "module_dirs": list(options.module_dirs),
        "states_dirs": list(options.states_dir),
        "state_output_diff": options.output_diff,
        "log_level": options.log_level,
        "log_file": options.log_file and str(Path(options.log_file).absolute()),
        "log_level_logfile": options.log_file_level,
    }
    return load_settings(options.config_dir, {option: value for option, value in overrides.items() if value})


def _log_to(err: TextIO, settings: MinionSettings) -> None:
    """Warnings of the configuration, and the log where it is asked for (logging is not even imported otherwise)."""
    if settings.log_level not in ("quiet", "critical", "error"):
        for warning in settings.warnings:
            print(f"warning: {warning}", file=err)
    if settings.log_file is not None or settings.log_level in ("all", "garbage", "trace", "debug", "profile", "info"):
        from minion.agent.log import log_to

        log_to(err, settings.log_level, settings.log_file, settings.log_level_logfile)


def _print_refusal(options: CallOptions, settings: MinionSettings, texts: list[str], out: TextIO) -> None:
    """Why no state is run: to a person as Salt's highstate outputter has it, to programs as a list."""
    if options.out in ("", "highstate") and options.out_file is None:
        print("local:\n    Data failed to compile:", *(f"----------\n    {text}" for text in texts), sep="\n", file=out)
    else:
        _print(options, settings, texts, out)


def _print(options: CallOptions, settings: MinionSettings, value: Any, out: TextIO, asked: str = "") -> None:
    """Print a value; `asked`: the outputter that its function asks for."""
    from minion.call.output import render

    is_run = is_running(value)
    known = asked if asked in OUTPUTTERS else ""
    outputter = options.out or known or ("highstate" if is_run else "nested")
    text = render(
        value,
        outputter if is_run or outputter != "highstate" else "nested",
        minion_id="local",
        shown=_shown(options, settings),
        color=options.out_file is None and _colored(out) if options.color is None else options.color,
        indent=options.out_indent,
    )
    if not text:
        return
    if options.out_file is None:
        print(text, file=out)
        return
    with options.out_file.open("a" if options.out_append else "w") as file:
        print(text, file=file)


def _print_metadata(
    options: CallOptions, settings: MinionSettings, value: Any, code: int, asked: str, out: TextIO
) -> None:
    """What Salt's jobs hold of a call, as a mapping."""
    import time

    outputter = asked or ("highstate" if is_running(value) else "")
    ret = {"fun": options.fun, "fun_args": list(options.args), "id": settings.id, "retcode": code, "return": value}
    ret |= {"jid": time.strftime("%Y%m%d%H%M%S") + f"{time.time_ns() // 1000 % 1_000_000:06}"}
    _print(options, settings, ret | ({"out": outputter} if outputter else {}), out)


def _shown(options: CallOptions, settings: MinionSettings) -> OutputOptions:
    """How much of a run is shown, as options and configuration say."""
    from dataclasses import replace

    from minion.call.output_highstate import shown_of

    shown = shown_of(settings.opts)
    verbose = shown.verbose if options.state_verbose is None else options.state_verbose
    output = options.state_output or settings.state_output
    return replace(shown, state_output=output, verbose=verbose, profile=options.profile or shown.profile)


def _colored(out: TextIO) -> bool:
    import os

    return out.isatty() and not os.environ.get("NO_COLOR")


def is_running(value: Any) -> bool:
    """Whether a value is a running dictionary."""
    return (
        isinstance(value, Mapping)
        and bool(value)
        and all(isinstance(entry, Mapping) and "__run_num__" in entry for entry in value.values())
    )


def _exit_code(options: CallOptions, value: Any, retcode: int) -> int:
    if is_running(value):
        results = [entry["result"] for entry in value.values()]
        return 1 if False in results else 2 if None in results else 0
    if retcode:
        return retcode if options.retcode_passthrough and 0 < retcode < 256 else 1
    well = not isinstance(value, Mapping) or all(value.get(key, True) for key in ("result", "success"))
    return 0 if well else 1


def _refuse(err: TextIO, message: str) -> int:
    print(f"error: {message}", file=err)
    return 1


def _said(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
