"""The execution module `raid`: software RAID by mdadm.

Behaviour: doc/ref/modules/all/salt.modules.mdadm_raid. What mdadm refuses is an error, with its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from minion.arguments.types import AnyValue, CommaList, Ignored, NumberOrText, Texts, Value
from minion.execution.context import Context
from minion.providers.storage import raids

Quiet = Annotated[Value, Ignored("a device that is a part of no array is an empty answer, and no error")]


def list_(context: Context) -> dict[str, dict[str, str]]:
    """The arrays, by their devices."""
    return {one.device: {"device": one.device, **one.properties} for one in raids.arrays(context.machine)}


def detail(context: Context, device: str = "/dev/md0") -> dict[str, Any]:
    """What mdadm says of an array, with its `members`."""
    return raids.detailed(context.machine, device)


def examine(context: Context, device: str, quiet: Quiet = False) -> dict[str, str]:
    """What stands in the superblock of a device; empty where it is a part of no array."""
    return raids.examined(context.machine, device)


def create(
    context: Context, name: str, level: NumberOrText, devices: Texts, metadata: NumberOrText = "default",
    test_mode: bool = False, **kwargs: AnyValue,
) -> str:  # fmt: skip
    """Make an array; what is on the devices is lost. With `test_mode` the command alone. Others: mdadm's options."""
    words = raids.creation(name, level, devices, {**kwargs, "metadata": metadata})
    return " ".join(words) if test_mode else raids.told(context.machine, words)


def assemble(
    context: Context, name: str, devices: CommaList, test_mode: bool = False, **kwargs: AnyValue
) -> str | list[str]:
    """Put an array together again. With `test_mode` the command that would. Others: mdadm's options."""
    words = raids.assembly(name, devices, kwargs)
    return words if test_mode else raids.told(context.machine, words)


def add(context: Context, name: str, device: str) -> bool:
    """Add a device to an array."""
    raids.add(context.machine, name, device)
    return True


def destroy(context: Context, device: str) -> bool:
    """Stop an array, and have its devices, and mdadm's configuration, know nothing of it; false where there is none."""
    if raids.array_of(context.machine, device) is None:
        return False
    raids.destroy(context.machine, device)
    return True


def stop(context: Context) -> bool:
    """Stop all arrays that nobody uses."""
    raids.told(context.machine, ["mdadm", "--stop", "--scan"])
    return True


def save_config(context: Context) -> str:
    """Have mdadm's configuration name the arrays that run, and the initramfs have it."""
    return raids.save(context.machine)


FUNCTIONS: Mapping[str, Any] = {
    "add": add,
    "assemble": assemble,
    "create": create,
    "destroy": destroy,
    "detail": detail,
    "examine": examine,
    "list": list_,
    "save_config": save_config,
    "stop": stop,
}
