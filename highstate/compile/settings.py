"""The options that shape a compile: Salt's minion and master options of the same names, parsed once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from highstate.types import Value


@dataclass(frozen=True, slots=True, kw_only=True)
class CompileOptions:
    """Names and defaults are Salt's (https://docs.saltproject.io/en/latest/ref/configuration/minion.html)."""

    top_file_merging_strategy: str = "merge"
    default_top: str = "base"
    env_order: tuple[str, ...] = ()
    state_top: str = "top.sls"
    state_top_saltenv: str | None = None
    """The only environment whose top file is read."""
    saltenv: str | None = None
    """The only environment that a highstate takes SLS from."""
    pillarenv: str | None = None
    """The only environment of the pillar tree that is used."""
    state_auto_order: bool = True
    disabled_requisites: tuple[str, ...] = ()
    pillar_source_merging_strategy: str = "smart"
    pillar_merge_lists: bool = False
    pillar_includes_override_sls: bool = False
    ext_pillar: tuple[Value, ...] = ()
    """External pillars as in Salt's option: `{name: arguments}`, served by `Ports.pillar_sources`."""
    ext_pillar_first: bool = False
    master_tops: Mapping[str, Value] = field(default_factory=dict)
    """External tops as in Salt's option: name -> arguments, served by `Ports.top_sources`."""
    master_tops_first: bool = False
    pillar_opts: bool = False
    """Put the options into the pillar as `master`."""
    decrypt_pillar: tuple[Value, ...] = ()
    decrypt_pillar_delimiter: str = ":"
    nodegroups: Mapping[str, Value] = field(default_factory=dict)
    jinja_env: Mapping[str, Value] = field(default_factory=dict)
    jinja_sls_env: Mapping[str, Value] = field(default_factory=dict)
    opts: Mapping[str, Value] = field(default_factory=dict)
    """Further minion options that templates may read through `opts` and `config.get`."""
