"""Calls a function of the user."""

from __future__ import annotations

import inspect
from collections.abc import Callable


def called(function: Callable[[], object]) -> object:
    """Return what the function returns."""
    result = function()
    if inspect.isawaitable(result):
        if inspect.iscoroutine(result):
            result.close()
        raise TypeError("the sync client cannot call an async function: use AsyncPunctual")
    return result
