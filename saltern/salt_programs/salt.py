"""`salt TARGET FUNCTION [ARGUMENTS]`: functions on minions."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import click

from controller.cli.options import delimited
from minion.call.arguments import parse, value_of
from saltern.client import LocalClient
from saltern.salt_programs.common import (
    NO_MINIONS,
    Output,
    fail,
    one_name,
    options_of,
    output_of,
    run,
    shared_options,
)

_KINDS = {
    "pcre": ("-E", "--pcre"),
    "list": ("-L", "--list"),
    "grain": ("-G", "--grain"),
    "grain_pcre": ("-P", "--grain-pcre"),
    "nodegroup": ("-N", "--nodegroup"),
    "range": ("-R", "--range"),
    "compound": ("-C", "--compound"),
    "pillar": ("-I", "--pillar"),
    "pillar_pcre": ("-J", "--pillar-pcre"),
    "ipcidr": ("-S", "--ipcidr"),
}


def targeting(function: Any) -> Any:
    """Salt's flags of targets, as `kind_NAME`."""
    for kind, names in reversed(_KINDS.items()):
        function = click.option(*names, f"kind_{kind}", is_flag=True)(function)
    return function


def kind_of(given: dict[str, Any]) -> str:
    """The kind of the target that flags mean; they are taken out of `given`."""
    asked = [kind for kind in _KINDS if given.pop(f"kind_{kind}")]
    if len(asked) > 1:
        raise click.UsageError("The options " + ", ".join(_KINDS[kind][1] for kind in asked) + " are exclusive.")
    return asked[0] if asked else "glob"


@click.command("salt", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, metavar="TARGET FUNCTION [ARGUMENTS]...")
@targeting
@click.option("-t", "--timeout", type=float)
@click.option("-s", "--static", is_flag=True, help="Print everything at once.")
@click.option("-p", "--progress", is_flag=True)
@click.option("--failhard", is_flag=True, help="With -b: begin no more after one that failed.")
@click.option("--async", "detached", is_flag=True, help="Wait for nothing.")
@click.option("--subset", type=int, default=0)
@click.option("-v", "--verbose", is_flag=True)
@click.option("--hide-timeout", is_flag=True)
@click.option("--show-timeout", is_flag=True)
@click.option("--show-jid", is_flag=True)
@click.option("-b", "--batch", "--batch-size", "batch", default="")
@click.option("--batch-wait", "--bwait", "batch_wait", type=float, default=0.0)
@click.option("--batch-safe-limit", "safe_limit", type=int, default=0)
@click.option("--batch-safe-size", "safe_size", default="8")
@click.option("--return", "returners", default="")
@click.option("--return_config", "--return-config", "return_config", default="")
@click.option("--return_kwargs", "--return-kwargs", "return_kwargs", default="")
@click.option("--args-separator", "separator", default=",")
@click.option("--preview-target", "preview", is_flag=True)
@click.option("--summary", is_flag=True)
@click.option("-d", "--doc", "--documentation", "doc", is_flag=True)
@click.option("--metadata", "metadata", default="", metavar="YAML")
@click.option("--delimiter", default=":", help="In place of the colons of -G, -P, -I and -J.")
@click.option("--output-diff", is_flag=True, help="Leave out states that changed nothing.")
@shared_options
def command(words: Sequence[str], **given: Any) -> int:
    """Call FUNCTION on the minions that TARGET means. `saltern run` is the same under Saltern's name."""
    kind = kind_of(given)
    if given.pop("output_diff"):
        given["state_verbose"] = False
    output, opts = output_of(given), options_of(given)
    if not words or (len(words) < 2 and not (given["preview"] or given["doc"])):
        raise click.UsageError("Missing argument: TARGET FUNCTION")
    tgt: str | list[str] = words[0]
    if kind == "list":
        tgt = words[0].replace(",", " ").split()
    else:
        tgt, kind = delimited(words[0], kind, given["delimiter"])
    with LocalClient(mopts=opts) as local:
        if given["preview"]:
            output.show(local.gather_minions(tgt, kind))
            return 0
        if given["doc"]:
            return _show_documentation(local, tgt, kind, words[1:], output)
        return _Asked(local, tgt, kind, words[1], words[2:], output, given).call()


def main() -> None:
    """The program."""
    run(command)


def _show_documentation(local: LocalClient, tgt: Any, kind: str, words: Sequence[str], output: Output) -> int:
    """Print what functions are for: as text, or each by the outputter that was asked for."""
    names = words[1:] if words[:1] == ("sys.doc",) else words
    one_name(names)
    returns = local.cmd(tgt, "sys.doc", list(names), tgt_type=kind)
    if not returns:
        fail("No minions found to gather docs from", NO_MINIONS)
    docs: dict[str, Any] = {}
    for found in returns.values():
        docs |= found if isinstance(found, dict) else {}
    for name in sorted(docs):
        if output.outputter:
            output.show({name: docs[name]})
        else:
            click.echo(f"{name}:\n\n{docs[name]}\n")
    return 0 if docs else 1


class _Counts(NamedTuple):
    """For the exit code, and for --summary."""

    targeted: int
    returned: int
    silent: int
    failed: int


class _Asked:
    """One call."""

    def __init__(
        self,
        local: LocalClient,
        tgt: Any,
        kind: str,
        fun: str,
        words: Sequence[str],
        output: Output,
        given: dict[str, Any],
    ) -> None:
        self._local, self._tgt, self._kind, self._output, self._given = local, tgt, kind, output, given
        self._fun, self._arg = _functions(fun, words, given["separator"])
        self._kwarg: dict[str, Any] = {}
        if isinstance(self._fun, str):
            values, self._kwarg = parse(words)
            self._arg = list(values)

    def call(self) -> int:
        """The exit code."""
        if self._given["subset"]:
            self._choose()
        if self._given["detached"]:
            jid = self._local.cmd_async(
                self._tgt,
                self._fun,
                self._arg,
                self._kind,
                self._given["returners"],
                kwarg=self._kwarg,
                batch=self._given["batch"] or (self._given["safe_size"] if self._is_many() else ""),
                batch_wait=self._given["batch_wait"],
                failhard=self._given["failhard"],
                **self._with_job(),
            )
            if not jid:
                fail("No minions matched the target. No command was sent, no jid was assigned.", NO_MINIONS)
            click.echo(f"Executed command with job ID: {jid}")
            return 0
        if self._given["batch"] or self._is_many():
            return self._batch(self._given["batch"] or self._given["safe_size"])
        return self._all()

    def _choose(self) -> None:
        chosen = self._local.cmd_subset(
            self._tgt, "test.ping", (), self._kind, subset=self._given["subset"], full_return=True
        )
        self._tgt, self._kind = list(chosen), "list"

    def _is_many(self) -> bool:
        limit = self._given["safe_limit"]
        return bool(limit) and len(self._local.gather_minions(self._tgt, self._kind)) > limit

    def _metadata(self) -> dict[str, Any]:
        return {"metadata": value_of(self._given["metadata"])} if self._given["metadata"] else {}

    def _with_job(self) -> dict[str, Any]:
        """What is kept with the job, and the options of its returners."""
        more = self._metadata()
        if self._given["return_config"]:
            more["ret_config"] = self._given["return_config"]
        if self._given["return_kwargs"]:
            more["ret_kwargs"] = value_of(self._given["return_kwargs"])
        return more

    def _returns(self) -> Iterator[dict[str, Any]]:
        yield from self._local.cmd_cli(
            self._tgt,
            self._fun,
            self._arg,
            self._given["timeout"],
            self._kind,
            self._given["returners"],
            kwarg=self._kwarg,
            **self._with_job(),
        )

    def _all(self) -> int:
        static = self._given["static"]
        values: dict[str, Any] = {}
        silent = failed = 0
        jid = ""
        for one in self._returns():
            for minion, data in one.items():
                jid = self._announce(jid, data["jid"])
                missing = data.get("out") == "no_return"
                silent += missing
                failed += _failed(data["retcode"]) and not missing
                if missing and self._given["hide_timeout"]:
                    continue
                values[minion] = data["ret"]
                if not static:
                    self._output.show({minion: data["ret"]}, suits="highstate" if _is_run(data) else "nested")
        if not values and not silent:
            click.echo("No minions matched the target. No command was sent, no jid was assigned.", err=True)
            self._output.show({})
            fail("ERROR: No return received", NO_MINIONS)
        if static:
            self._output.show(values)
        counts = _Counts(len(values) + (silent if self._given["hide_timeout"] else 0), len(values), silent, failed)
        return self._end(counts)

    def _announce(self, known: str, jid: str) -> str:
        """Say the job's id, once; as Salt's program does, before JSON as well."""
        if jid == known:
            return jid
        if self._given["verbose"]:
            line = f"Executing job with jid {jid}"
            click.echo(f"{line}\n{'-' * len(line)}\n")
        elif self._given["show_jid"]:
            click.echo(f"jid: {jid}")
        return jid

    def _end(self, counts: _Counts) -> int:
        if self._given["summary"]:
            line = "-" * 43
            returned = counts.targeted - counts.silent
            click.echo(f"\n\n{line}\nSummary\n{line}\n# of minions targeted: {counts.targeted}")
            click.echo(f"# of minions returned: {returned}\n# of minions that did not return: {counts.silent}")
            click.echo(f"# of minions with errors: {counts.failed}\n{line}")
        if counts.failed or counts.silent:
            click.echo("ERROR: Minions returned with non-zero exit code", err=True)
            return 1
        return 0

    def _batch(self, size: str) -> int:
        static = self._given["static"]
        values: dict[str, Any] = {}
        failed = 0
        for one in self._local.cmd_batch(
            self._tgt,
            self._fun,
            self._arg,
            self._kind,
            self._given["returners"],
            self._kwarg,
            size,
            failhard=self._given["failhard"],
            batch_wait=self._given["batch_wait"],
            raw=True,
            **self._with_job(),
        ):
            data = one["data"]
            values[data["id"]] = data["return"]
            failed += _failed(data["retcode"])
            if not static:
                self._output.show({data["id"]: data["return"]}, suits="highstate" if _is_run(data) else "nested")
        if not values:
            fail("No minions matched the target.", NO_MINIONS)
        if static:
            self._output.show(values)
        away = [] if failed and self._given["failhard"] else self._not_begun(values)
        return self._end(_Counts(len(values) + len(away), len(values), len(away), failed))

    def _not_begun(self, values: Collection[str]) -> list[str]:
        """Those who were meant and did not answer when the batch began, which is told; none where they are hidden."""
        listed = self._tgt if self._kind == "list" else self._local.gather_minions(self._tgt, self._kind)
        away = [] if self._given["hide_timeout"] else sorted(set(listed) - set(values))
        for minion in away:
            click.echo(f"Minion {minion} did not respond. No job will be sent.", err=True)
        return away


def _functions(fun: str, words: Sequence[str], separator: str) -> tuple[str | list[str], list[Any]]:
    """One function and its words, or several with those between separators."""
    if "," not in fun:
        return fun, list(words)
    functions = [one.strip() for one in fun.split(",")]
    groups: list[list[Any]] = [[]]
    for word in words:
        if word == separator:
            groups.append([])
        else:
            groups[-1].append(word if "=" in word else value_of(word))
    groups += [[] for _ in range(len(functions) - len(groups))]
    return functions, groups


def _failed(retcode: Any) -> bool:
    return any(retcode.values()) if isinstance(retcode, dict) else bool(retcode)


def _is_run(data: dict[str, Any]) -> bool:
    return data.get("out") == "highstate"
