"""What all tests and examples share. An installed package gives its plug-in to pytest by itself."""

from __future__ import annotations

import os

import pytest

from conformance_run import Mode

pytest_plugins = ["_punctual_pytest_plugin"]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs the service in a checkout without it."""
    if os.environ.get("PUNCTUAL_EXECUTABLE"):
        return
    reason = "PUNCTUAL_EXECUTABLE is not set: npm run test:clients sets it"
    for item in items:
        if "punctual_service" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture(params=["sync", "async"])
def mode(request: pytest.FixtureRequest) -> Mode:
    """Run the test with both clients."""
    chosen: Mode = request.param
    return chosen


@pytest.fixture(autouse=True)
def no_settings_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the settings of the machine from the tests."""
    for name in ("TIMER_URL", "TIMER_API_KEY"):
        monkeypatch.delenv(name, raising=False)
