"""`saltern call`: one execution function on this machine, and its value on stdout.

Called by the CLI's verb (`main`). What is not needed for every call is imported when it is needed, since the start of
this process is what a person waits for. stdout is data, stderr is everything else.

Exit codes: 0 done, 1 failed, 2 there are changes to make (test=True), 4 the tree does not compile, 64 the configuration
or the command line cannot be used.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, TextIO

from minion.call.arguments import BadArgument, parse
from minion.call.local_minion import LocalMinion
from minion.call.options import OUTPUTTERS, CallOptions
from minion.config.files import UNUSABLE, BadMinionSettings
from minion.config.groups import OutputOptions
from minion.config.names import LOG_LEVELS, names_in
from minion.config.settings import MinionSettings, load_settings
from minion.execution import CallFailed, CompileFailed, Context, Modules, OthersRun
from minion.execution.success import failure_of, is_running


def main(options: CallOptions, stdout: TextIO | None = None, stderr: TextIO | None = None) -> int:
    """Call the function and print its value; gives the exit code and raises nothing for what goes wrong."""
    out, err = stdout or sys.stdout, stderr or sys.stderr
    if options.out and options.out not in OUTPUTTERS:
        return _refuse(err, f"--out {options.out} is not known: take one of {', '.join(OUTPUTTERS)}", UNUSABLE)
    try:
        settings = _settings(options)
        args, kwargs = parse(options.args, options.no_parse)
    except (BadMinionSettings, BadArgument) as error:
        return _refuse(err, str(error), UNUSABLE)
    try:
        _log_to(err, settings)
    except OSError as error:
        return _refuse(err, f"{settings.log_file}: {error.strerror}")
    try:
        context = LocalMinion(options, settings).context()
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
    return _deliver(options, settings, context, value, out, err)


def _deliver(
    options: CallOptions, settings: MinionSettings, context: Context, value: Any, out: TextIO, err: TextIO
) -> int:
    """Print the value and hand it to the returners; the exit code."""
    asked = context.user_modules.outputter(options.fun) if context.has_user_modules() else ""
    code = _exit_code(options, value, context.retcode)
    try:
        if options.metadata:
            _print_metadata(options, settings, value, code, asked, out)
        else:
            _print(options, settings, value, out, asked)
        out.flush()
    except BrokenPipeError:
        _let_go(out)  # its reader has closed it
    except OSError as error:
        return _refuse(err, f"{options.out_file or 'standard output'}: {error.strerror}")
    _return(options, context, value, code, out, err)
    return code


def _let_go(out: TextIO) -> None:
    """Send what is still buffered for a closed pipe to /dev/null, so that the interpreter ends without an error."""
    import os

    if out is sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())


def _return(options: CallOptions, context: Context, value: Any, code: int, out: TextIO, err: TextIO) -> None:
    """Hand the value to the returners that are asked for."""
    asked = names_in(options.returners) or context.options.returners.names
    if not asked:
        return
    from minion.worker.returners import answer, hand_over

    ret = answer(context, options.fun, options.args, value, success=code == 0, retcode=code)
    if is_running(value):
        ret["out"] = "highstate"
    elif options.fun == "cmd.retcode" and isinstance(value, int):
        ret |= {"retcode": value, "success": True}
    for said in hand_over(context, asked, ret, out):
        print(f"warning: {said}", file=err)


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
        from minion.log import LogShape, log_to

        shape = LogShape(form=settings.log_format, bound={"minion": settings.id})
        log_to(err, settings.log_level, settings.log_file, settings.log_level_logfile, shape)


def _print_refusal(options: CallOptions, settings: MinionSettings, texts: list[str], out: TextIO) -> None:
    """Why no state is run: to a person as Salt's highstate outputter has it, to programs as a list."""
    if options.out in ("", "highstate") and options.out_file is None:
        print("local:\n    Data failed to compile:", *(f"----------\n    {text}" for text in texts), sep="\n", file=out)
    else:
        _print(options, settings, texts, out)


def _print(options: CallOptions, settings: MinionSettings, value: Any, out: TextIO, asked: str = "") -> None:
    """Print a value; `asked`: the outputter that its function asks for."""
    from minion.call.outputters.render import render

    is_run = is_running(value)
    known = asked if asked in OUTPUTTERS else ""
    outputter = options.out or known or ("highstate" if is_run else "nested")
    text = render(
        value,
        outputter if is_run or outputter != "highstate" else "nested",
        minion_id="local",
        shown=_shown(options, settings) if is_run else None,
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
    configured = settings.options.output
    shown = configured._replace(
        state_output=options.state_output or settings.state_output, profile=options.profile or configured.profile
    )
    return shown if options.state_verbose is None else shown._replace(verbose=options.state_verbose, diff=False)


def _colored(out: TextIO) -> bool:
    import os

    return out.isatty() and not os.environ.get("NO_COLOR")


def _exit_code(options: CallOptions, value: Any, retcode: int) -> int:
    if is_running(value):
        pending = any(entry["result"] is None for entry in value.values())
        return 1 if failure_of(value, retcode) else 2 if pending else 0
    if retcode and options.retcode_passthrough and 0 < retcode < 256:
        return retcode
    return 1 if failure_of(value, retcode) else 0


def _refuse(err: TextIO, message: str, code: int = 1) -> int:
    print(f"error: {message}", file=err)
    return code


def _said(error: Exception) -> str:
    text = str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
