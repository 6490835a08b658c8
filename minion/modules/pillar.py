"""The execution module `pillar`. It reads what was compiled for this minion."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from highstate.traverse import MISSING, traverse
from minion.arguments.types import AnyValue
from minion.execution.arguments import CompiledPillar
from minion.execution.context import Context
from minion.execution.errors import CallFailed
from minion.modules.state.runs import Pillar, compiler_of, good


class _NotGiven(str):
    """A default that nobody named, which is the empty text."""

    __slots__ = ()


_UNSET = _NotGiven()


class OfPillar(TypedDict, total=False):
    """What Salt's functions of pillar take besides."""

    pillar_enc: CompiledPillar
    pillarenv: CompiledPillar
    saltenv: CompiledPillar
    unmask: CompiledPillar


def get(
    context: Context,
    key: str,
    default: AnyValue = _UNSET,
    merge: bool = False,
    merge_nested_lists: bool | None = None,
    delimiter: str = ":",
    **ignored: Unpack[OfPillar],
) -> Any:
    """A value by its path (`nginx:port`), or the default."""
    value = traverse(context.pillar, key, MISSING, delimiter=delimiter)
    if value is MISSING:
        if default is _UNSET and context.opts.get("pillar_raise_on_missing"):
            raise CallFailed(f"Pillar key not found: {key} (pillar_raise_on_missing is set): give a default")
        return default
    if merge and isinstance(value, Mapping) and isinstance(default, Mapping):
        lists = context.options.pillar.merge_lists if merge_nested_lists is None else merge_nested_lists
        return _updated(context, default, value, bool(lists))
    if merge and isinstance(value, list) and isinstance(default, list):
        return [*default, *(one for one in value if one not in default)]
    return value


def _updated(context: Context, default: Mapping[str, Any], value: Mapping[str, Any], lists: bool) -> Any:
    from minion.execution.language import find

    update = find("slsutil.update")
    assert update is not None  # noqa: S101  (the language has it)
    return update(context, default, value, merge_lists=lists)


def items(context: Context, *keys: str, pillar: Pillar = None, **ignored: Unpack[OfPillar]) -> dict[str, Any]:
    """The whole pillar, or the values named; with `pillar` as it would be with these values over it."""
    if keys:
        return item(context, *keys)
    if not pillar:
        return dict(context.pillar)
    compiled = compiler_of(context).highstate(pillar)
    good(compiled)
    return dict(compiled.pillar)


def item(
    context: Context, *keys: str, default: AnyValue = "", delimiter: str = ":", **ignored: Unpack[OfPillar]
) -> dict[str, Any]:
    """The values named; one that is not there is the default."""
    return {key: traverse(context.pillar, key, default, delimiter=delimiter) for key in keys}


def keys(context: Context, key: str = "", delimiter: str = ":", unmask: CompiledPillar = None) -> list[Any]:
    """Keys of the pillar, or of a mapping within it."""
    value = traverse(context.pillar, key, MISSING, delimiter=delimiter) if key else context.pillar
    if value is MISSING:
        raise CallFailed(f"Pillar key {key} is not there")
    if not isinstance(value, Mapping):
        raise CallFailed(f"Pillar key {key} holds a {type(value).__name__}, which has no keys")
    return list(value)


def ls(context: Context, **ignored: Unpack[OfPillar]) -> list[Any]:
    """Keys of the pillar."""
    return list(context.pillar)


def obfuscate(context: Context, **ignored: Unpack[OfPillar]) -> dict[str, Any]:
    """The pillar with the kind of each value in its place."""
    hidden: dict[str, Any] = _hidden(context.pillar)
    return hidden


def _hidden(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _hidden(inner) for key, inner in value.items()}
    return [_hidden(one) for one in value] if isinstance(value, list) else f"<{type(value).__name__}>"


FUNCTIONS: Mapping[str, Any] = {
    "obfuscate": obfuscate,
    "data": items,
    "get": get,
    "item": item,
    "items": items,
    "keys": keys,
    "ls": ls,
}
