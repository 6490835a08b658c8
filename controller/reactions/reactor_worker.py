"""The process in which SLS of reactors are rendered: apart from that of compiles, so that no compile delays a reaction.

Requests come pickled from the controller, which is trusted; answers go back as msgpack. It has the sandbox of compile
workers, and asks the controller for secrets and answers about the fleet as they do (`compile_rpc`).
"""

from __future__ import annotations

import pickle
import socket
import sys
from contextlib import suppress
from dataclasses import replace

import msgspec

from controller.compilation.compile_rpc import PortAnswer, PortCall, RpcClient, fleet_over, ports_over
from controller.compilation.recorded_facts import MinionFacts
from controller.compilation.workers.channel import ChannelClosed
from controller.compilation.workers.entry import begin
from controller.compilation.workers.settings import WorkerSettings
from controller.reactions.controller_machine import controller_id
from controller.reactions.messages import ReactorRequest, RenderedReactions
from controller.reactions.reactor_files import ReactorFiles
from controller.reactions.rendering import ReactorRenderer
from highstate.memo.memo import Memo
from highstate.types import Pos, Problem, Stage

_ENCODER = msgspec.msgpack.Encoder()


def answer(request: ReactorRequest, memo: Memo, rpc: RpcClient) -> RenderedReactions:
    """The reactions to one event."""
    ask_fleet = fleet_over(rpc, controller_id(), {}) if request.capabilities.fleet else None
    facts = MinionFacts({}, (), ask_fleet)
    renderer = ReactorRenderer(
        language=request.language,
        grains=request.grains,
        ports=replace(ports_over(rpc, request.capabilities), facts=facts),
        memo=memo,
    )
    try:
        made = renderer.reactions(
            ReactorFiles(tree=request.tree, files=request.files),
            tag=request.tag,
            data=request.data,
            parameters_of=lambda kind, fun: request.parameters.get((kind, fun)),
        )
    except MemoryError:
        return _failed("rendering needs more memory than a compile may have")
    except OSError as error:  # the tree was removed meanwhile
        return _failed(f"the tree cannot be read: {error}")
    return RenderedReactions(reactions=made.reactions, problems=made.problems, warnings=made.warnings)


def _failed(message: str) -> RenderedReactions:
    return RenderedReactions(problems=(Problem(message=message, pos=Pos(file="reactor", stage=Stage.RENDER)),))


def main(sock: socket.socket, settings: WorkerSettings) -> None:
    """Serve requests from this socket until the controller closes it."""
    with suppress(ChannelClosed):
        channel = begin(sock, settings)

        def rpc(call: PortCall) -> PortAnswer:
            channel.send(_ENCODER.encode(call))
            said: PortAnswer = pickle.loads(channel.receive())  # noqa: S301 - from the controller alone
            return said

        memo = Memo()
        while True:
            request = pickle.loads(channel.receive())  # noqa: S301 - from the controller alone
            found = answer(request, memo, rpc)
            try:
                channel.send(_ENCODER.encode(found))
            except (OverflowError, TypeError, ValueError, RecursionError) as error:
                channel.send(_ENCODER.encode(_failed(f"the reactions have a value that cannot be sent: {error}")))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), WorkerSettings.from_argument(sys.argv[2]))
