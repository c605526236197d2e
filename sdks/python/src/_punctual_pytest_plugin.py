"""A plug-in for pytest: the fixture `punctual_service` is a real service with a manual clock, for one test."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .service import TestService


@pytest.fixture
def punctual_service() -> Iterator[TestService]:
    """Start a service with a manual clock, and end it after the test."""
    # pytest loads every plug-in, also for tests without timers.
    from .service import TestService  # noqa: PLC0415

    with TestService() as service:
        yield service
