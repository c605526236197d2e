"""What all tests share."""

from __future__ import annotations

import os
from typing import Any

import pytest

from conformance_run import Mode


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    chosen: Mode = request.param
    return chosen


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TIMER_URL", "TIMER_API_KEY"):
        monkeypatch.delenv(name, raising=False)


def needs(variable: str) -> Any:
    """Skip tests that need a part of the repository's own test run."""
    return pytest.mark.skipif(
        not os.environ.get(variable), reason=f"{variable} is not set: npm run test:clients sets it"
    )
