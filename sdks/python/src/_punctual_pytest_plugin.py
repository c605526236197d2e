"""A plug-in for pytest: the fixture `punctual_service` is a real service with a manual clock, for one test.

pytest loads every plug-in that is installed, also for tests without timers. So this module is outside of the package: it
loads neither the client nor httpx before a test uses the fixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from punctual_client.testing import TestService


@pytest.fixture
def punctual_service() -> Iterator[TestService]:
    """Start a service with a manual clock, and end it after the test."""
    from punctual_client.testing import TestService  # noqa: PLC0415

    with TestService() as service:
        yield service
