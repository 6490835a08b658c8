"""`LocalClient`: execution functions on minions, with the names and results of Salt's client.

Each method is a request of the command line's API (`saltern run`). Where Salt waits for `timeout` seconds and then asks
who still works, so does this: a minion that is connected is waited for.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

from controller.schema.minions import StatusView
from extmods.salt_compat.exceptions import SaltInvocationError
from saltern.client.batches import Batch, failed
from saltern.client.connection import CREDENTIALS, Connection, NoMinions, explained
from saltern.client.controller_functions import RunnerClient
from saltern.client.events import ControllerEvents
from saltern.client.jobs import FunctionJobs, Job, JobRequest, is_missing, target_of
from saltern.client.opts import client_config

Returns = dict[str, Any]
"""Id of a minion -> what it returned, or (`full_return`, and where a method says so) `{"ret", "retcode", "jid"}`."""


class LocalClient:
    """Calls execution functions on minions: `LocalClient().cmd("web*", "test.ping")`.

    Arguments that the methods share:
        tgt: who is meant; with `tgt_type="list"` also a list.
        fun: the function, `test.ping`. With a list of functions `arg` is a list of their lists of arguments; each is a
            job of its own, one after the other, and the value is a mapping by function.
        arg: positional arguments; texts `name=value` are named ones, as on a command line.
        timeout: seconds of silence after which minions that are not connected are given up; None: the option `timeout`
            of the controller, 5. Those that are connected are waited for.
        tgt_type: `glob`, `pcre`, `list`, `grain`, `grain_pcre`, `pillar`, `pillar_pcre`, `pillar_exact`, `nodegroup`,
            `range`, `compound` or `ipcidr`.
        ret: returners that get the values as well, with commas.
        jid: Salt's; it must be empty, as the controller gives a job its id.
        kwarg: named arguments.
        kwargs: `ret_config`, `ret_kwargs`; `token`, or `username`, `password` and `eauth`, of who asks
            (docs/access.md); and Salt's that mean nothing here.

    All of them raise SaltClientError when no controller answers or it refuses, AuthorizationError where who asks may
    not do it, EauthAuthenticationError for wrong credentials, and SaltInvocationError for arguments that cannot be
    meant. A target that nobody matches gives what Salt gives: nothing.

    Args:
        c_path: of the controller's configuration, `/etc/saltern/controller`, or of its folder; empty:
            `SALTERN_CONFIG_DIR`, or `/etc/saltern`.
        mopts: options as `client_config` gives them, in place of `c_path`.
        ignored: Salt's other arguments (`skip_perm_errors`, `io_loop`, `keep_loop`, `auto_reconnect`, `listen`).

    Source: salt.client.LocalClient.
    """

    def __init__(self, c_path: str = "", mopts: Mapping[str, Any] | None = None, **ignored: Any) -> None:
        self.opts: dict[str, Any] = dict(mopts) if mopts else client_config(c_path)
        self._connection = Connection(self.opts)
        self._events: ControllerEvents | None = None

    def __enter__(self) -> LocalClient:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.destroy()

    def destroy(self) -> None:
        """End the reading of events, where it has begun."""
        if self._events is not None:
            self._events.destroy()

    @property
    def event(self) -> ControllerEvents:
        """The events of the controller; reading begins with the first use."""
        if self._events is None:
            self._events = ControllerEvents(self.opts, listen=False)
        return self._events

    def cmd(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        jid: str = "",
        full_return: bool = False,
        kwarg: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Returns:
        """What the minions returned. One that gave nothing back has a text that says why."""
        found: Returns = {}
        for one in self._begun(tgt, fun, arg, timeout, tgt_type, ret, jid, kwarg, kwargs).returns():
            for minion, data in one.items():
                found[minion] = data if full_return else data.get("ret")
        return found

    def cmd_async(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        tgt_type: str = "glob",
        ret: str = "",
        jid: str = "",
        kwarg: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> str | int:
        """The id of a job that is begun and not waited for; 0 when nobody is meant.

        `kwargs`: also `batch`, `batch_wait` and `failhard`, as for `cmd_batch`; the controller begins the batches.
        """
        begun = self.run_job(tgt, fun, arg, tgt_type, ret, None, jid, kwarg, **kwargs)
        return str(begun["jid"]) if begun else 0

    def run_job(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        tgt_type: str = "glob",
        ret: str = "",
        timeout: float | None = None,
        jid: str = "",
        kwarg: Mapping[str, Any] | None = None,
        listen: bool = False,
        **kwargs: Any,
    ) -> dict[str, Any]:
        """Begin a job: `{"jid": ..., "minions": [...]}`; empty when nobody is meant. `listen` is Salt's."""
        request = self._request(tgt, fun, arg, tgt_type, ret, jid, kwarg, kwargs)
        return Job(self._connection.of(kwargs), request, self._timeout(timeout)).begin()

    def cmd_iter(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Iterator[Returns]:
        """`{minion: {"ret": ..., "retcode": ..., "jid": ...}}` as they come.

        Minions that give nothing back are left out, unless `expect_minions=True`: then `{minion: {"failed": True}}`.
        With `yield_pub_data=True` what `run_job` gives comes first.
        """
        shown, announced = kwargs.pop("expect_minions", False), kwargs.pop("yield_pub_data", False)
        job = self._begun(tgt, fun, arg, timeout, tgt_type, ret, "", kwarg, kwargs)
        if announced and job.minions:
            yield {"jid": job.jid, "minions": list(job.minions)}
        for one in job.returns():
            if not is_missing(one):
                yield one
            elif shown:
                yield {minion: {"failed": True} for minion in one}

    def cmd_iter_no_block(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, Any] | None = None,
        show_jid: bool = False,
        verbose: bool = False,
        **kwargs: Any,
    ) -> Iterator[Returns | None]:
        """As `cmd_iter`; None stands where 10 ms have brought nothing, for other work between."""
        job = self._begun(tgt, fun, arg, timeout, tgt_type, ret, "", kwarg, kwargs)
        for one in job.returns_or_none():
            if one is None or not is_missing(one):
                yield one

    def cmd_cli(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        verbose: bool = False,
        kwarg: Mapping[str, Any] | None = None,
        progress: bool = False,
        **kwargs: Any,
    ) -> Iterator[Returns]:
        """As `cmd_iter`; minions that give nothing back have a text that says why. `verbose`, `progress`: Salt's."""
        yield from self._begun(tgt, fun, arg, timeout, tgt_type, ret, "", kwarg, kwargs).returns()

    def cmd_full_return(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        timeout: float | None = None,
        tgt_type: str = "glob",
        ret: str = "",
        verbose: bool = False,
        kwarg: Mapping[str, Any] | None = None,
        **kwargs: Any,
    ) -> Returns:
        """`{minion: {"ret": ..., "success": ...}}`, of states with `out`; when all have returned. `verbose`: Salt's."""
        every = self.cmd(tgt, fun, arg, timeout, tgt_type, ret, full_return=True, kwarg=kwarg, **kwargs)
        return {
            minion: {
                "ret": data["ret"],
                **({"out": data["out"]} if "out" in data else {}),
                "success": not failed(data["retcode"]),
            }
            for minion, data in every.items()
        }

    def cmd_subset(
        self,
        tgt: str | Sequence[str],
        fun: str,
        arg: Sequence[Any] = (),
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, Any] | None = None,
        subset: int = 3,
        cli: bool = False,
        progress: bool = False,
        full_return: bool = False,
        **kwargs: Any,
    ) -> Returns | Iterator[Returns]:
        """As `cmd` on some minions that have the function, chosen by chance; `cli`: as `cmd_cli`.

        `progress` is Salt's.
        """
        subset = kwargs.pop("sub", subset)  # its old name
        who = {name: kwargs[name] for name in CREDENTIALS if name in kwargs}
        has_function = self.cmd(tgt, "sys.list_functions", [fun], tgt_type=tgt_type, **who)
        able = [
            minion for minion, functions in has_function.items() if isinstance(functions, list) and fun in functions
        ]
        chosen = random.sample(able, min(subset, len(able)))
        if cli:
            return self.cmd_cli(chosen, fun, arg, tgt_type="list", ret=ret, kwarg=kwarg, **kwargs)
        return self.cmd(chosen, fun, arg, tgt_type="list", ret=ret, full_return=full_return, kwarg=kwarg, **kwargs)

    def cmd_batch(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any] = (),
        tgt_type: str = "glob",
        ret: str = "",
        kwarg: Mapping[str, Any] | None = None,
        batch: str | int = "10%",
        **kwargs: Any,
    ) -> Iterator[Returns]:
        """`{minion: value}` as they come, on so many connected minions at a time.

        Args:
            tgt: as for all methods, and so the others that are not named here.
            fun: the function.
            arg: its arguments.
            tgt_type: kind of the target.
            ret: returners.
            kwarg: named arguments.
            batch: a number, or a part of the minions as `10%`.
            kwargs: `failhard=True` begins no more after the first minion that fails; `batch_wait`: seconds between a
                return and the minion that takes its place; `timeout`; `raw=True`: `{"data": {"id", "return", ...}}`.
        """
        timeout = kwargs.pop("timeout", None)
        rules = {name: kwargs.pop(name) for name in ("failhard", "batch_wait", "raw") if name in kwargs}
        who = {name: kwargs[name] for name in CREDENTIALS if name in kwargs}
        pinged = self.cmd(tgt, "test.ping", (), timeout, tgt_type, **who)
        up = [minion for minion, value in pinged.items() if value is True]

        def begin(minion: str) -> Job | FunctionJobs:
            return self._begun([minion], fun, arg, timeout, "list", ret, "", kwarg, dict(kwargs))

        yield from Batch(up, batch, begin, **rules).returns()

    def get_cache_returns(self, jid: str) -> Returns:
        """What the job cache has of a job now: `{minion: {"ret", "retcode", "jid"}}`."""
        found = RunnerClient(self.opts).cmd("jobs.list_job", [jid], print_event=False)
        results = found.get("Result", {}) if isinstance(found, Mapping) else {}
        return {
            minion: {
                "ret": one.get("return"),
                "retcode": one.get("retcode", 0),
                "jid": jid,
                **({"out": one["out"]} if "out" in one else {}),
            }
            for minion, one in results.items()
        }

    def get_full_returns(self, jid: str, minions: Sequence[str], timeout: float | None = None) -> Returns:
        """What these minions returned for a job that was begun before: `{minion: {"ret": ...}}`."""
        found: Returns = {}
        for one in self.get_cli_returns(jid, minions, timeout):
            found |= one
        return found

    def get_returns(self, jid: str, minions: Sequence[str], timeout: float | None = None) -> Returns:
        """As `get_full_returns`, values alone."""
        return {minion: one["ret"] for minion, one in self.get_full_returns(jid, minions, timeout).items()}

    def get_cli_returns(
        self,
        jid: str,
        minions: Sequence[str],
        timeout: float | None = None,
        tgt: str | Sequence[str] = "*",
        tgt_type: str = "glob",
        verbose: bool = False,
        show_jid: bool = False,
        **kwargs: Any,
    ) -> Iterator[Returns]:
        """What these minions return for a job that was begun before, as it comes: what the job cache has comes first.

        Ends when all have returned, or after `timeout` seconds in which none did.
        """
        if verbose or show_jid:
            print(f"jid: {jid}")  # noqa: T201  (asked for)
        with ControllerEvents(self.opts) as events:  # before the job cache is read: nothing falls between
            seen: set[str] = set()
            while True:
                found = {minion: one for minion, one in self.get_cache_returns(jid).items() if minion not in seen}
                if found:
                    yield found
                seen |= set(found)
                missing = set(minions) - seen
                if not missing or not self._returned(events, missing, self._timeout(timeout)):
                    return

    get_iter_returns = get_cli_returns

    def get_event_iter_returns(
        self, jid: str, minions: Sequence[str], timeout: float | None = None
    ) -> Iterator[Returns]:
        """As `get_cli_returns`."""
        return self.get_cli_returns(jid, minions, timeout)

    def gather_minions(self, tgt: str | Sequence[str], expr_form: str = "glob") -> list[str]:
        """The ids of the minions that a target means, connected or not."""
        target = target_of(tgt, expr_form)
        if target is None:
            return []
        try:
            with explained(), self._connection.open() as client:
                view = client.get("/status", StatusView, expression=target.expression, kind=target.kind)
        except NoMinions:
            return []
        return [one.minion for one in view.minions]

    @staticmethod
    def _returned(events: ControllerEvents, minions: set[str], timeout: float) -> bool:
        """Wait until one of these minions has returned something; False when none did in so many seconds."""
        while (news := events.get_event(timeout, "salt/job/", full=True)) is not None:
            if "/ret/" in news["tag"] and news["data"].get("id") in minions:
                return True
        return False

    def _begun(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any],
        timeout: float | None,
        tgt_type: str,
        ret: str,
        jid: str,
        kwarg: Mapping[str, Any] | None,
        kwargs: dict[str, Any],
    ) -> Job | FunctionJobs:
        connection = self._connection.of(kwargs)
        if isinstance(fun, str):
            request = self._request(tgt, fun, arg, tgt_type, ret, jid, kwarg, kwargs)
            return Job(connection, request, self._timeout(timeout)).follow()
        requests = [
            self._request(tgt, one, arguments, tgt_type, ret, jid, kwarg, kwargs)
            for one, arguments in zip(fun, _lists_of(arg, len(fun)), strict=True)
        ]
        return FunctionJobs(fun, [Job(connection, one, self._timeout(timeout)) for one in requests])

    def _request(
        self,
        tgt: str | Sequence[str],
        fun: str | Sequence[str],
        arg: Sequence[Any],
        tgt_type: str,
        ret: str,
        jid: str,
        kwarg: Mapping[str, Any] | None,
        kwargs: dict[str, Any],
    ) -> JobRequest:
        if jid:
            raise SaltInvocationError("jid: the controller gives a job its id; `run_job` returns it")
        return JobRequest.of(tgt, fun, arg, tgt_type, ret, kwarg or {}, kwargs)

    def _timeout(self, given: Any) -> float:
        try:
            return float(self.opts.get("timeout", 5) if given is None else given)
        except (TypeError, ValueError):
            return 5.0


def _lists_of(arg: Sequence[Any], functions: int) -> Sequence[Sequence[Any]]:
    """The arguments of each of several functions; SaltInvocationError for what is no list of lists."""
    lists = list(arg) or [[] for _ in range(functions)]
    if len(lists) != functions or not all(isinstance(one, list | tuple) for one in lists):
        raise SaltInvocationError(f"{functions} functions need a list of {functions} lists of arguments")
    return lists
