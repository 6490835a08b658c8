"""One minion with all that it is and shall have, within bounds."""

import pytest

import controller.api.minion_details as details
from controller.schema.errors import ServiceError


async def test_states_and_grains_are_bounded_and_counted(make_controller, monkeypatch):
    controller = make_controller()
    controller.minion("web1")
    await controller.go_live()
    controller.parts.resources.store.minions.seen("web1", 1.0, grains={"os": "Debian", "id": "web1"})
    whole = await controller.service.minion_detail("web1")
    assert (whole.status.minion, whole.more_states, whole.more_grains) == ("web1", 0, 0)
    assert whole.grains == {"id": "web1", "os": "Debian"}
    assert whole.states[0].function.count(".") == 1
    monkeypatch.setattr(details, "MOST_GRAINS", 1)
    monkeypatch.setattr(details, "MOST_STATES", 0)
    part = await controller.service.minion_detail("web1")
    assert (part.grains, part.more_grains) == ({"id": "web1"}, 1)
    assert (part.states, part.more_states) == ((), len(whole.states))
    with pytest.raises(ServiceError, match="nobody"):
        await controller.service.minion_detail("nobody")
