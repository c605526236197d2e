"""Tests that need a part of the repository's own test run."""

from __future__ import annotations

import os

import pytest


def needs(variable: str) -> pytest.MarkDecorator:
    """Skip the test, with a reason, if the variable is not set."""
    return pytest.mark.skipif(
        not os.environ.get(variable), reason=f"{variable} is not set: npm run test:clients sets it"
    )
