"""What a stock minion asks: Salt's commands, each with what answers it.

A command that is not here gets no answer, as on a master that does not know it. What is refused on purpose stands in
`_REFUSED`.

Source: `AESFuncs` in `salt/master.py`.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.minions.files import StockFiles
from gateway.minions.mine import MinionMine
from gateway.minions.questions import NoAnswer, OpenQuestions
from highstate.traverse import merge
from minion.call.arguments import parse_mixed
from wire.messages import BLOB_CHUNK, GetOptions, OptionsFound, PublishCall, Published, PushFile

log = logging.getLogger(__name__)

_REFUSED: Mapping[str, Any] = {
    "_syndic_return": False,  # a syndic would speak for minions that have shown no key here
    "revoke_auth": False,  # `allow_minion_key_revoke`: `saltern key delete` takes a key out
    "_register_resources": {},
    "_file_list_emptydirs": [],  # git has no empty folders
}
"""Command -> its answer, which says no."""
_REFUSED_WHY: Mapping[str, str] = {
    "_syndic_return": "a syndic speaks for minions that have shown no key here: point their `master` at the gateway",
}
"""Reasons for whoever reads the log."""
_MOST_RETURNS = 4
"""Publications of a minion whose returns are kept until it asks for them."""
_OF_ENVIRONMENTS = ("top_file_merging_strategy", "env_order", "default_top")
"""Options that a minion asks for alone where it wants to know the environments."""
_DEFAULTS: Mapping[str, Any] = {
    "top_file_merging_strategy": "merge",
    "env_order": [],
    "default_top": "base",
    "renderer": "jinja|yaml",
    "failhard": False,
    "state_top": "top.sls",
    "state_top_saltenv": None,
    "nodegroups": {},
    "state_auto_order": True,
    "state_events": False,
    "state_aggregate": False,
    "jinja_env": {},
    "jinja_sls_env": {},
    "jinja_lstrip_blocks": False,
    "jinja_trim_blocks": False,
}
"""Options that a minion which compiles by itself follows its master in, as Salt has them where nobody sets them."""
_OLD_START = "minion_start"
USUAL_WAIT = 5.0
MOST_WAIT = 50.0
"""Seconds for the returns of other minions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandPorts:
    """What answers commands.

    Args:
        pillar: gives the pillar of the minion, which has these grains.
        returned: takes what the minion returns.
        event: takes an event of the minion, tag and data.
        started: is told that the minion has started, and which grains its event has.
        top_sls: gives the SLS of the document, by saltenv.
    """

    files: StockFiles
    mine: MinionMine
    questions: OpenQuestions
    pillar: Callable[[Mapping[str, Any]], Awaitable[Mapping[str, Any]]]
    returned: Callable[[Mapping[str, Any]], None]
    event: Callable[[str, Mapping[str, Any]], None]
    started: Callable[[object], None]
    top_sls: Callable[[], Mapping[str, Sequence[str]]]
    nonce: Callable[[], str]


class Commands:
    """Answers one minion's commands.

    Args:
        minion_id: of it.
        ports: see `CommandPorts`.
    """

    def __init__(self, minion_id: str, ports: CommandPorts) -> None:
        self._id = minion_id
        self._ports = ports
        self._returns: dict[str, Mapping[str, Any]] = {}
        files, mine = ports.files, ports.mine
        self._asked: Mapping[str, Callable[[Mapping[str, Any]], Awaitable[Any]]] = {
            "_pillar": self._pillar,
            "_file_find": files.find,
            "_file_hash": files.hash,
            "_file_hash_and_stat": files.hash_and_stat,
            "_serve_file": files.serve,
            "_file_list": files.listed,
            "_dir_list": files.folders,
            "_symlink_list": files.symlinks,
            "_file_envs": lambda _: files.saltenvs(),
            "_mine_get": mine.get,
            "_master_opts": self._options,
            "_master_tops": self._tops,
            "_ext_nodes": self._tops,  # its name before
            "_file_recv": self._receive,
            "minion_publish": self._publish,
            "minion_pub": self._publish,
            "minion_runner": self._runner,
        }
        self._known: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
            "pub_ret": self._published_returns,
            "_mine": mine.put,
            "_mine_delete": mine.delete,
            "_mine_flush": lambda _: mine.flush(),
            "_minion_event": self._event,
            "_return": self._return,
            "verify_minion": lambda _: True,  # it has shown its token
        }

    def name_of(self, cmd: str) -> str:
        """The command as metrics name it: a minion may send any text."""
        return cmd if cmd in self._asked or cmd in self._known or cmd in _REFUSED else "(others)"

    async def answer(self, cmd: str, load: Mapping[str, Any]) -> Any:
        """The answer. NoAnswer where the controller gives none."""
        if cmd in self._asked:
            return await self._asked[cmd](load)
        if cmd in self._known:
            return self._known[cmd](load)
        level = logging.DEBUG if cmd in _REFUSED and cmd not in _REFUSED_WHY else logging.WARNING
        why = _REFUSED_WHY.get(cmd, "")
        log.log(level, "event=command_refused minion=%s command=%s why=%s", self._id, cmd, why)
        return _REFUSED.get(cmd, False)

    async def _pillar(self, load: Mapping[str, Any]) -> Mapping[str, Any]:
        """Its pillar, what it gives beside merged over that as by a master; templates of pillar see none of it."""
        grains, over = load.get("grains"), load.get("pillar_override")
        pillar = await self._ports.pillar(grains if isinstance(grains, dict) else {})
        return merge(pillar, over) if isinstance(over, dict) else pillar

    async def _options(self, load: Mapping[str, Any]) -> Mapping[str, Any]:
        """`_master_opts`: what a minion that compiles by itself follows its master in."""
        followed = {**_DEFAULTS, **(await self._followed()).options}
        roots: dict[str, Any] = {"file_roots": {saltenv: [] for saltenv in await self._ports.files.saltenvs()}}
        names = _OF_ENVIRONMENTS if load.get("env_only") else _DEFAULTS
        return {**roots, **{name: followed[name] for name in names}}

    async def _tops(self, _: Mapping[str, Any]) -> Mapping[str, Any]:
        """`_master_tops`: what the controller's external tops say stands in the document, which it was compiled by."""
        return self._ports.top_sls() if (await self._followed()).tops else {}

    async def _followed(self) -> OptionsFound:
        found: OptionsFound = await self._ports.questions.ask(lambda number: GetOptions(request=number))
        return found

    async def _receive(self, load: Mapping[str, Any]) -> bool:
        """`_file_recv`: a piece of a file that the controller keeps, where its `file_recv` says so."""
        path, offset, data = load.get("path"), load.get("loc"), load.get("data")
        names = [path] if isinstance(path, str) else path
        data = data.encode() if isinstance(data, str) else data
        if not isinstance(names, list) or not all(isinstance(each, str) for each in names):
            return False
        if not isinstance(offset, int) or offset < 0 or not isinstance(data, bytes):
            return False
        try:
            for at in range(0, len(data) or 1, BLOB_CHUNK):
                await self._push(tuple(names), offset + at, data[at : at + BLOB_CHUNK])
        except NoAnswer as error:
            log.warning("event=pushed_file_refused minion=%s why=%s", self._id, error)
            return False
        return True

    async def _push(self, path: tuple[str, ...], offset: int, data: bytes) -> None:
        await self._ports.questions.ask(lambda number: PushFile(request=number, path=path, offset=offset, data=data))

    def tells_start(self, cmd: str, load: Mapping[str, Any]) -> bool:
        """Whether a minion says by this command that it has started."""
        return cmd == "_minion_event" and self._is_tag_of_start(load.get("tag"))

    def _is_tag_of_start(self, tag: object) -> bool:
        return tag in (_OLD_START, f"salt/minion/{self._id}/start")

    def _event(self, load: Mapping[str, Any]) -> bool:
        events = load.get("events")
        for each in events if isinstance(events, list) else [load]:
            if not isinstance(each, dict) or not isinstance(each.get("tag"), str):
                continue
            tag, data = each["tag"], each.get("data")
            if self._is_tag_of_start(tag):  # the controller says so itself
                self._ports.started(load.get("grains"))
            else:
                self._ports.event(tag, data if isinstance(data, dict) else {"data": data})
        return True

    def _return(self, load: Mapping[str, Any]) -> bool:
        self._ports.returned(load)
        return True

    async def _publish(self, load: Mapping[str, Any]) -> Mapping[str, Any]:
        """`minion_pub`: who has returned in time, and the id by which `pub_ret` gives what."""
        wait = load.get("tmo") or load.get("timeout")
        seconds = min(float(wait), MOST_WAIT) if isinstance(wait, int | float) else USUAL_WAIT
        found = await self._published(load, "minion", seconds)
        if found is None or not found.returns:
            return {}
        self._returns[found.jid] = {minion: {"ret": value} for minion, value in found.returns.items()}
        while len(self._returns) > _MOST_RETURNS:
            del self._returns[next(iter(self._returns))]
        return {"jid": found.jid, "minions": list(found.returns)}

    def _published_returns(self, load: Mapping[str, Any]) -> Mapping[str, Any]:
        """`pub_ret`: only of what this minion has published."""
        return self._returns.get(str(load.get("jid")), {})

    async def _runner(self, load: Mapping[str, Any]) -> Any:
        found = await self._published(load, "runner", MOST_WAIT)
        return {} if found is None else found.returns.get("value", {})

    async def _published(self, load: Mapping[str, Any], kind: Any, seconds: float) -> Published | None:
        """What others have returned; None where the controller does not allow it, or cannot do it."""
        given = load.get("arg")
        args, kwargs = parse_mixed(
            [each for each in (given if isinstance(given, list) else [given]) if each is not None]
        )
        nonce, target = self._ports.nonce(), load.get("tgt", "")
        try:
            found: Published = await self._ports.questions.ask(
                lambda number: PublishCall(
                    request=number,
                    nonce=nonce,
                    kind=kind,
                    target=",".join(map(str, target)) if isinstance(target, list) else str(target),
                    target_kind=str(load.get("tgt_type") or load.get("expr_form") or "glob"),
                    fun=str(load.get("fun", "")),
                    args=tuple(args),
                    kwargs=kwargs,
                    timeout=seconds,
                ),
                seconds + 5,
            )
        except NoAnswer as error:
            log.warning("event=publication_refused minion=%s why=%s", self._id, error)
            return None
        return found
