"""The state module `augeas`: a file is changed by commands on the tree that a lens of Augeas makes of it.

Behaviour: doc/ref/states/all/salt.states.augeas. What the file will hold is known beforehand to the byte.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from typing import Annotated

from minion.arguments.types import Reads, ToCome, Unfit, Value
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Change, Plan, Reader, StateFunction
from minion.providers.augeas.commands import AugeasCommand, parsed
from minion.providers.augeas.paths import FILES, path_of
from minion.providers.augeas.trees import AugeasTrees, FileChange
from minion.states.file.paths import behind

_AGAIN = "A second run would change the file again: find what is there by the paths, or add `unless` or `onlyif`"


def _commands(value: Value) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(one, str) for one in value):
        raise Unfit("", "'changes' must be specified as a list")
    return tuple(value)


def _folders(value: Value) -> tuple[str, ...]:
    if value is not None and not isinstance(value, list):
        raise Unfit("", "'load_path' must be specified as a list")
    return tuple(map(str, value or ()))


def change(
    machine: Reader, name: str, *, context: str | None = None,
    changes: Annotated[tuple[str, ...], Reads(_commands, null=True)] = (), lens: str | None = None,
    load_path: Annotated[tuple[str, ...], Reads(_folders, null=True)] = (), to_come: ToCome = frozenset(),
) -> Plan:  # fmt: skip
    """Commands set, move, insert and remove values of one file: below `context`, or by whole paths below /files."""
    _commands(list(changes))
    if context is not None and not context.startswith(f"{FILES}/"):
        raise StateFailed(f"Error: context must begin with {FILES}/, as in {FILES}/etc/hosts")
    commands = [parsed(one).within(context) for one in changes]
    wrong = [one.text for one in commands for number in one.paths if not one.words[number].startswith(f"{FILES}/")]
    if wrong:
        raise StateFailed(
            f"Error: Changes should be prefixed with {FILES} if no context is provided, change: {wrong[0]}"
        )

    def trees(**replacing: Mapping[str, bytes | None]) -> AugeasTrees:
        return AugeasTrees(machine, behind, lens, load_path, to_come, **replacing)

    found = _made(trees(), commands, context)
    if found is None:
        return Plan(comment="No changes made")
    again = _again(trees(replacing={found.name: found.new}), commands, context)
    where = f' in file "{context}":\n' if context else ""
    return Plan(
        changes=(Change(key="diff", reported=_diff(found), act=lambda machine: found.make(machine)),),
        pending=f"Executing commands{where}" + "\n".join(changes),
        done="Changes have been saved",
        converges=not again,
        warnings=(_AGAIN,) if again else (),
    )


def _made(trees: AugeasTrees, commands: Sequence[AugeasCommand], context: str | None) -> FileChange | None:
    """What the commands make of the one file that they are about."""
    if context is not None:
        trees.load(trees.file_of(context, new=True) or path_of(context))
    for one in commands:
        trees.perform(one)
    names = trees.loaded()
    if len(names) > 1:
        raise StateFailed(
            "Error: Changes should be made to one file at a time, detected changes to " + " and ".join(names)
        )
    return next(iter(trees.changes()), None)


def _again(trees: AugeasTrees, commands: Sequence[AugeasCommand], context: str | None) -> bool:
    try:
        return _made(trees, commands, context) is not None
    except ContentUnknown:
        return False
    except StateFailed:  # it moves what is then gone
        return True


def _diff(found: FileChange) -> str:
    old, new = ((one or b"").decode().splitlines(keepends=True) for one in (found.old, found.new))
    return "".join(difflib.unified_diff(old, new, n=0))


STATES: Mapping[str, StateFunction] = {"change": change}
