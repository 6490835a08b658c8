"""Which options of Salt's set the fields of `minion.config.groups`, and how their values are read.

Called by `minion.config.rules` when there are options to read. Where Salt takes any value for true or false, or passes
over one that it does not know, so does this; what nothing could be made of is a fault.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeAlias

from extmods.folders import ModuleFolders
from minion.config.files import BadMinionSettings
from minion.config.groups import (
    BeaconOptions,
    FileBackupOptions,
    GrainsOptions,
    MineOptions,
    MinionOptions,
    OutputOptions,
    PillarOptions,
    ReturnOptions,
    ScheduleOptions,
    StateOptions,
    StatusOptions,
    VaultOptions,
)
from minion.config.names import names_in
from options.convert import convert_options
from options.document import Fault, Option
from options.kinds import Prepare, Wanted, one_as_list


def _queue(value: Any) -> Any:
    return value if isinstance(value, bool | int) else False


def _aggregate(value: Any) -> Any:
    return value is True or (isinstance(value, list) and "pkg" in value)


def _most_parallel(value: Any) -> Any:
    return int(value) if isinstance(value, int) and value > 0 else 0


def _texts(value: Any) -> Any:
    listed = one_as_list(value or ())
    if not isinstance(listed, list | tuple):
        raise ValueError
    return [str(one) for one in listed]


def _vault(value: Any) -> Any:
    from options.vault import BadVault, VaultSettings  # few minions have the option

    if not isinstance(value, Mapping):
        raise ValueError("a mapping")
    try:
        VaultSettings.parse_of_minion(value)
    except BadVault as error:
        raise ValueError(f"a vault that can be used ({error})") from error
    return value


def _minutes(value: Any) -> Any:
    if isinstance(value, bool):
        raise ValueError
    return value


Truth: TypeAlias = Annotated[bool, Prepare(bool)]
"""What Python takes for true."""
TrueAlone: TypeAlias = Annotated[bool, Prepare(lambda value: value is True)]
TextOrBase: TypeAlias = Annotated[str, Prepare(lambda value: str(value or "base"))]
RunQueue: TypeAlias = Annotated[bool | int, Prepare(_queue)]
Aggregated: TypeAlias = Annotated[bool, Prepare(_aggregate)]
MostParallel: TypeAlias = Annotated[int, Prepare(_most_parallel)]
CommaNames: TypeAlias = Annotated[tuple[str, ...], Prepare(names_in)]
TextOrTexts: TypeAlias = Annotated[tuple[str, ...], Wanted("a list of texts"), Prepare(_texts)]
Tabular: TypeAlias = Annotated[
    bool | str, Prepare(lambda value: value if value and isinstance(value, str) else bool(value))
]
Minutes: TypeAlias = Annotated[float, Wanted("a number of minutes", ge=0), Prepare(_minutes)]
Copies: TypeAlias = Annotated[int, Wanted("a number of copies", ge=0), Prepare(_minutes)]
Megabytes: TypeAlias = Annotated[float, Wanted("a number of MiB", ge=0), Prepare(_minutes)]
Days: TypeAlias = Annotated[float, Wanted("a number of days", ge=0), Prepare(_minutes)]
RawFile: TypeAlias = Annotated[str, Prepare(lambda value: str(value or ReturnOptions().raw_file))]
MappingOrEmpty: TypeAlias = Annotated[
    Mapping[Any, Any], Prepare(lambda value: value if isinstance(value, Mapping) else {})
]

GROUPS: Mapping[str, tuple[Any, Mapping[str, tuple[str, Any]]]] = {
    "state": (
        StateOptions,
        {
            "test": ("test", Truth),
            "state_queue": ("queue", RunQueue),
            "saltenv": ("saltenv", TextOrBase),
            "state_aggregate": ("aggregate_packages", Aggregated),
            "state_max_parallel": ("most_parallel", MostParallel),
        },
    ),
    "file_backups": (
        FileBackupOptions,
        {
            "file_backup_copies": ("copies", Copies),
            "file_backup_size": ("megabytes", Megabytes),
            "file_backup_days": ("days", Days),
        },
    ),
    "output": (
        OutputOptions,
        {
            "state_verbose": ("verbose", Truth),
            "state_output_diff": ("diff", Truth),
            "state_output_profile": ("times", Truth),
            "state_output_profile_table": ("profile", Truth),
            "state_output_exclude": ("exclude", CommaNames),
            "state_output_terse": ("terse", CommaNames),
            "state_output_pct": ("percent", Truth),
            "state_tabular": ("tabular", Tabular),
            "state_compress_ids": ("compress", Truth),
        },
    ),
    "grains": (
        GrainsOptions,
        {
            "grains": ("static", MappingOrEmpty),
            "controller": ("master", Any),
            "master": ("master", Any),
            "resources": ("resources", Any),
            "grains_blacklist": ("blacklist", TextOrTexts),
            "grains_deep_merge": ("deep_merge", TrueAlone),
            "enable_fqdns_grains": ("fqdns", Truth),
            "enable_gpu_grains": ("gpus", Truth),
            "enable_lspci": ("lspci", Truth),
            "metadata_server_grains": ("metadata_server", TrueAlone),
        },
    ),
    "mine": (
        MineOptions,
        {
            "mine_functions": ("functions", Any),
            "mine_enabled": ("enabled", Annotated[bool, Prepare(lambda value: value is not False)]),
            "mine_interval": ("interval", Minutes),
        },
    ),
    "returners": (
        ReturnOptions,
        {
            "return": ("names", CommaNames),
            "schedule_returner": ("of_schedule", CommaNames),
            "rawfile_json.filename": ("raw_file", RawFile),
        },
    ),
    "schedule": (ScheduleOptions, {"schedule": ("jobs", MappingOrEmpty)}),
    "pillar": (PillarOptions, {"pillar_merge_lists": ("merge_lists", Truth)}),
    "vault": (VaultOptions, {"vault": ("own", Annotated[Mapping[Any, Any], Prepare(_vault)])}),
    "modules": (
        ModuleFolders,
        {
            "module_dirs": ("modules", TextOrTexts),
            "beacons_dirs": ("beacons", TextOrTexts),
            "grains_dirs": ("grains", TextOrTexts),
            "returner_dirs": ("returners", TextOrTexts),
            "states_dirs": ("states", TextOrTexts),
            "utils_dirs": ("utils", TextOrTexts),
        },
    ),
}
"""Group -> its type, and option -> field and type of the field. Of options of one field the last counts."""

GROUPED = frozenset(option for _, rules in GROUPS.values() for option in rules)
"""Options that set a field of a group."""


def read_groups(options: Mapping[str, Option], faults: list[Fault]) -> MinionOptions:
    """The groups that the options make; what is wrong with one is appended to the faults."""
    made: dict[str, Any] = {}
    for group, (make, rules) in GROUPS.items():
        kinds = {option: kind for option, (_, kind) in rules.items() if option in options}
        values = convert_options(options, kinds, faults)
        if values:
            made[group] = make(**{field: values[option] for option, (field, _) in rules.items() if option in values})
    if custom := convert_options(
        options, {option: TextOrTexts for option in options if is_custom_status(option)}, faults
    ):
        made["status"] = StatusOptions(custom={option.split(".")[1]: keys for option, keys in custom.items()})
    if (beacons := options.get("beacons")) is not None:
        inner = {"/".join(map(str, inside)): place for inside, place in beacons.inner.items()}
        made["beacons"] = BeaconOptions(own=beacons.value, places={**inner, "": beacons.place})
    return MinionOptions(**made)


def options_of(opts: Mapping[str, Any]) -> MinionOptions:
    """The same of options that are in no file. Raises BadMinionSettings."""
    faults: list[Fault] = []
    found = read_groups({name: Option(value, "") for name, value in opts.items()}, faults)
    if faults:
        raise BadMinionSettings("\n".join(str(fault) for fault in faults))
    return found


def is_custom_status(option: str) -> bool:
    """Whether an option is one of `status.FUNCTION.custom`."""
    words = option.split(".")
    return len(words) == 3 and words[0] == "status" and words[2] == "custom"
