"""The options that shape a compile: Salt's minion and master options of the same names, parsed once.

The type of a field is also the rule by which `options.convert` reads it from a configuration file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeAlias

from highstate.types import Value
from options.kinds import Flag, Items, Names, OptionText, Prepare, TextMapping, Wanted

MissingSource: TypeAlias = Literal["refuse", "fail_state"]
"""What a source that is not in the tree does: it fails the compile, or its own state on the minion."""


def _none_as_word(value: Any) -> Any:
    """YAML reads the strategy `none` as a word, but people write null."""
    return "none" if value is None else value


def _pillar_keys(value: Any) -> Any:
    """A list of `a:b` or `{a:b: renderer}`, or one mapping of such."""
    entries = [{key: renderer} for key, renderer in value.items()] if isinstance(value, Mapping) else value
    if not isinstance(entries, list) or not all(isinstance(entry, str | Mapping) for entry in entries):
        raise ValueError
    return entries


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """Names and defaults are Salt's (https://docs.saltproject.io/en/latest/ref/configuration/minion.html)."""

    top_file_merging_strategy: Literal["merge", "same", "merge_all"] = "merge"
    default_top: OptionText = "base"
    env_order: Names = ()
    state_top: OptionText = "top.sls"
    state_top_saltenv: OptionText | None = None
    """The only environment whose top file is read."""
    saltenv: OptionText | None = None
    """The only environment that a highstate takes SLS from."""
    pillarenv: OptionText | None = None
    """The only environment of the pillar tree that is used."""
    state_auto_order: Flag = True
    disabled_requisites: Names = ()
    pillar_source_merging_strategy: Annotated[
        Literal["smart", "recurse", "aggregate", "overwrite", "list", "none"], Prepare(_none_as_word)
    ] = "smart"
    pillar_merge_lists: Flag = False
    pillar_includes_override_sls: Flag = False
    ext_pillar: Items = ()
    """External pillars as in Salt's option: `{name: arguments}`, served by `Ports.pillar_sources`."""
    ext_pillar_first: Flag = False
    master_tops: TextMapping = field(default_factory=dict)
    """External tops as in Salt's option: name -> arguments, served by `Ports.top_sources`."""
    master_tops_first: Flag = False
    pillar_opts: Flag = False
    """Put the options into the pillar as `master`."""
    decrypt_pillar: Annotated[
        tuple[Any, ...],
        Wanted("a list of pillar keys, like [- 'secrets:vpn', - 'secrets:web': gpg]"),
        Prepare(_pillar_keys),
    ] = ()
    decrypt_pillar_delimiter: OptionText = ":"
    nodegroups: TextMapping = field(default_factory=dict)
    jinja_env: TextMapping = field(default_factory=dict)
    jinja_sls_env: TextMapping = field(default_factory=dict)
    missing_source: MissingSource = "refuse"
    """Not an option of Salt's, where it is always the state that fails. The policy of a tree sets it, but for
    `saltern call --local`."""
    opts: Mapping[str, Value] = field(default_factory=dict)
    """Further minion options that templates may read through `opts` and `config.get`."""

    def __post_init__(self) -> None:
        """Take the path out of a `state_top` that is an address (`salt://tops/web.sls`)."""
        object.__setattr__(self, "state_top", self.state_top.removeprefix("salt://").strip("/"))
