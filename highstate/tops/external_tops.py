"""What external sources give a minion beside the top files (Salt's `master_tops`). Called by compile after `top`.

Sources are ports; here is only how their answers join the top files': behind them, or before with `master_tops_first`,
each SLS once. A source that fails is an error of this minion, where Salt would go on with less: what a minion holds
must not shrink because a program was away.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from highstate.memo.tracked import Recorder
from highstate.ports import CompilePorts, SourceFailed
from highstate.render.problems import near
from highstate.tops.top import TopResult
from highstate.types import Minion, Pos, Problem, Stage, Value

_LOCATION = Pos(file="master_tops", stage=Stage.TOP)


def with_sources(
    top: TopResult,
    entries: Mapping[str, Value],
    minion: Minion,
    ports: CompilePorts,
    reads: Recorder,
    *,
    first: bool = False,
) -> TopResult:
    """The top files' result with what the sources of `master_tops` (name -> arguments) know of the minion.

    `first`: their SLS come before those of the top files. Asked sources are noted in `reads`: they may say something
    else at any time.
    """
    matches, locations, errors = dict(top.matches), dict(top.locations), list(top.errors)
    for name, arguments in entries.items():
        reads.live[f"master_tops.{name}"] = None
        try:
            found = _asked(name, arguments, minion, ports)
        except SourceFailed as error:
            hint = "" if name in ports.top_sources else near(name, ports.top_sources)
            errors.append(Problem(message=f"master_tops {name}: {error}", pos=_LOCATION, hint=hint))
            continue
        for saltenv, names in found.items():
            own = matches.get(saltenv, ())
            ahead, behind = (names, own) if first else (own, names)
            matches[saltenv] = (*ahead, *(sls for sls in behind if sls not in ahead))
            locations |= {(saltenv, sls): _LOCATION for sls in names if (saltenv, sls) not in locations}
    return replace(top, matches=matches, locations=locations, errors=tuple(errors))


def _asked(name: str, arguments: Value, minion: Minion, ports: CompilePorts) -> Mapping[str, list[str]]:
    """Saltenv -> SLS of one source, checked."""
    source = ports.top_sources.get(name)
    if source is None:
        raise SourceFailed("there is no such source")
    found = source.tops(minion, arguments)
    for saltenv, names in found.items():
        if not isinstance(names, list) or not all(isinstance(sls, str) and sls for sls in names):
            raise SourceFailed(f"saltenv {saltenv!r} holds no list of SLS names")
    return found
