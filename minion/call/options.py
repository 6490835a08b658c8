"""The command line of `saltern call`, as its verb hands it over."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from minion.config.settings import DEFAULT_CONFIG_DIR

OUTPUTTERS = ("highstate", "json", "nested", "pprint", "quiet", "raw", "table", "txt", "yaml")
STATE_OUTPUTS = tuple(
    f"{mode}{suffix}" for mode in ("full", "terse", "mixed", "changes", "filter") for suffix in ("", "_id")
)


class CallOptions(NamedTuple):
    """The command line, words as typed. (A dataclass of so many fields would take 2 % of the start of a call.)"""

    fun: str
    args: tuple[str, ...] = ()
    """`value` or `key=value`, each read as YAML."""
    local: bool = False
    config_dir: Path = DEFAULT_CONFIG_DIR
    file_root: tuple[str, ...] = ()
    """Folders of the base environment, instead of `file_roots`; the first that has a file wins."""
    pillar_root: tuple[str, ...] = ()
    id: str = ""
    out: str = ""
    """One of OUTPUTTERS; empty: `highstate` for state runs, `nested` for the rest."""
    state_output: str = ""
    """One of `STATE_OUTPUTS`; empty: as configured."""
    state_verbose: bool | None = None
    """Whether states that succeeded without changes are shown; None: as configured."""
    profile: bool = False
    """Show where the time went."""
    output_diff: bool = False
    """Show only states that changed something or failed."""
    metadata: bool = False
    """Show exit code, jid and outputter besides the value."""
    module_dirs: tuple[str, ...] = ()
    """Folders with folders of modules, instead of the option of this name."""
    states_dir: tuple[str, ...] = ()
    """Folders with state modules, instead of `states_dirs`."""
    cachedir: str = ""
    skip_grains: bool = False
    no_parse: tuple[str, ...] = ()
    """Names of arguments whose values stay text."""
    hard_crash: bool = False
    """Let what a function raises come through."""
    log_level: str = ""
    log_file: str = ""
    log_file_level: str = ""
    retcode_passthrough: bool = False
    """cmd.*: exit with the command's code."""
    out_file: Path | None = None
    """Where the value goes instead of stdout."""
    out_append: bool = False
    """Put it at the end of that file."""
    out_indent: int | None = 4
    """Of JSON; None: all in one line."""
    color: bool | None = None
    """None: when stdout is a terminal and NO_COLOR is not set."""
    returners: str = ""
    """Names with commas; empty: those of the configuration."""
