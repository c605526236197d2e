"""Calls a function of the user. This file is written by hand."""

from __future__ import annotations

import inspect
from collections.abc import Callable


async def called(function: Callable[[], object]) -> object:
    """Return what the function returns, or what its awaitable gives."""
    result = function()
    return await result if inspect.isawaitable(result) else result
