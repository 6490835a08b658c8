"""What a minion that may ask the runner `cloud` may not say: files of the controller, and where they go."""

from types import SimpleNamespace
from typing import Any

import pytest

from controller.runners.errors import ControllerCallFailed
from controller.runners.modules import cloud

MINION: Any = SimpleNamespace(user="minion web1")


@pytest.mark.parametrize(
    "option",
    [
        *("packages", "private_key", "script", "script_args", "ssh_host", "ssh_keyfile", "ssh_port", "password"),
        *("create", "driver", "iam_profile", "libcloud", "master", "minion", "something_new"),
    ],
)
async def test_a_minion_names_no_files_of_the_controller(option):
    for ask in (cloud.profile, cloud.create):
        with pytest.raises(ControllerCallFailed, match=f"a minion may not give {option}: say it in the profile"):
            await ask(MINION, "aws", ["web9"], **{option: "/etc/shadow"})


async def test_a_minion_has_no_map_read():
    with pytest.raises(ControllerCallFailed, match="a minion may not give path"):
        await cloud.map_run(MINION, "/etc/shadow")


async def test_a_minion_has_few_machines_made_at_a_time():
    with pytest.raises(ControllerCallFailed, match="10 machines made at a time, not 11"):
        await cloud.profile(MINION, "web", [f"web{number}" for number in range(11)])
