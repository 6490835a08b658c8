"""Groups of the minion's options, each as the part of the minion takes it that works by it.

`minion.config.rules` says which option of Salt's sets which field. Named tuples, as each start of `saltern call` makes
the classes anew: dataclasses would take ten times as long.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from extmods.folders import ModuleFolders

_NONE: Mapping[Any, Any] = {}


class StateOptions(NamedTuple):
    """How states are run."""

    test: bool = False
    """Whether functions that run states only predict, unless their call says otherwise."""
    queue: bool | int = False
    """`state_queue`: whether a run waits for others, or for how many fewer than that."""
    saltenv: str = "base"
    """Where SLS come from that a call names."""
    aggregate_packages: bool = False
    """`state_aggregate`: whether packages of several states are installed together."""
    most_parallel: int = 0
    """`state_max_parallel`: states that run at the same time; 0: any number."""


class FileBackupOptions(NamedTuple):
    """Copies of files that states overwrite or delete."""

    copies: int = 5
    """`file_backup_copies`: of each file; 0: none are kept."""
    megabytes: float = 100.0
    """`file_backup_size`: of all together. A file of more than a quarter of that is not kept."""
    days: float = 30.0
    """`file_backup_days`: how long they are kept."""


class OutputOptions(NamedTuple):
    """How much of a run of states is shown."""

    state_output: str = "full"
    """full: all; terse: a line each; mixed: a line for those that did not fail; changes: a line for those that have
    nothing to change; filter: as `exclude` and `terse` say. With `_id` at its end the id stands where the name would.
    """
    verbose: bool = True
    """False: states that succeeded without changes are left out."""
    diff: bool = False
    """`state_output_diff`: the same as `verbose: false`."""
    times: bool = True
    """When each began and how long it took (`state_output_profile`)."""
    profile: bool = False
    """After the summary, where the time went."""
    exclude: tuple[str, ...] = ()
    """`True`, `False`, `None`: results that `filter` leaves out."""
    terse: tuple[str, ...] = ()
    """Results that `filter` shows in a line."""
    percent: bool = False
    """Shares in the summary (`state_output_pct`)."""
    tabular: bool | str = False
    """Lines of states in columns, or in a form of their own (`state_tabular`)."""
    compress: bool = False
    """The states of one ID and result are one (`state_compress_ids`)."""


class GrainsOptions(NamedTuple):
    """What the collection of grains looks at, and how grains are laid over each other."""

    static: Mapping[Any, Any] = _NONE
    """The option `grains`."""
    master: Any = None
    """The option `master` or `controller` as it is written, for the grain of this name."""
    resources: Any = None
    """For the grain `salt_resources`."""
    blacklist: tuple[str, ...] = ()
    """Globs and regular expressions of grains that are left out."""
    deep_merge: bool = False
    """Whether mappings of several sources are merged."""
    fqdns: bool = True
    """Whether name servers are asked for `fqdns`."""
    gpus: bool = True
    lspci: bool = True
    """False: `gpus` stays empty."""
    metadata_server: bool = False
    """Whether the metadata server of the cloud is asked."""


class MineOptions(NamedTuple):
    """What of this minion others may ask for."""

    functions: Any = None
    """Salt's `mine_functions`, as they are written."""
    enabled: bool = True
    interval: float = 60.0
    """Minutes between collections."""

    @property
    def minutes(self) -> float:
        """Minutes between collections; 0: none by itself."""
        return self.interval if self.enabled else 0.0


class ReturnOptions(NamedTuple):
    """Where the value of each call goes besides the one who asked."""

    names: tuple[str, ...] = ()
    """Of returners."""
    of_schedule: tuple[str, ...] = ()
    """Of those that get what jobs of the schedule return, too."""
    raw_file: str = "/var/log/saltern/events"
    """The file of the returner rawfile_json."""


class ScheduleOptions(NamedTuple):
    """What the minion does by itself."""

    jobs: Mapping[Any, Any] = _NONE


class BeaconOptions(NamedTuple):
    """What the minion watches."""

    own: Any = None
    """The option `beacons` as it is written; whether it is right the beacons' own process says."""
    places: Mapping[str, str] = _NONE
    """Keys of what is in it, joined by slashes -> `file:line`; of an empty one that of the option."""


class PillarOptions(NamedTuple):
    """How functions read the pillar."""

    merge_lists: bool = False
    """Whether `pillar.get(..., merge=True)` joins lists in mappings."""


class StatusOptions(NamedTuple):
    """What `status.custom` gives."""

    custom: Mapping[str, tuple[str, ...]] = _NONE
    """Function of the module `status` -> keys of its value (`status.FUNCTION.custom`)."""


class VaultOptions(NamedTuple):
    """The server of secrets."""

    own: Mapping[Any, Any] = _NONE
    """The option `vault` as it is written, checked; empty: the controller says where it is."""


class MinionOptions(NamedTuple):
    """The options that are no setting of the process itself, in groups."""

    state: StateOptions = StateOptions()
    output: OutputOptions = OutputOptions()
    grains: GrainsOptions = GrainsOptions()
    mine: MineOptions = MineOptions()
    returners: ReturnOptions = ReturnOptions()
    schedule: ScheduleOptions = ScheduleOptions()
    beacons: BeaconOptions = BeaconOptions()
    pillar: PillarOptions = PillarOptions()
    status: StatusOptions = StatusOptions()
    file_backups: FileBackupOptions = FileBackupOptions()
    modules: ModuleFolders = ModuleFolders()
    vault: VaultOptions = VaultOptions()


DEFAULT_OPTIONS = MinionOptions()
"""Those of a configuration that says nothing."""
