"""An HTTP server that plays a service, and what calls it."""

import pytest
from notification_services import Service

from controller.config.limits import NotificationLimits
from controller.notifications.receivers.http_caller import HttpCaller


@pytest.fixture
def service():
    made = Service()
    yield made
    made.close()


@pytest.fixture
def refusals():
    return []


@pytest.fixture
def http(refusals):
    return HttpCaller(limits=NotificationLimits(call_seconds=5.0, answer_bytes=1000), refused=refusals.append)
