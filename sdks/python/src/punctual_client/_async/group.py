# tools/make_async.py made this file from _sync/group.py: change that file.
"""The base of each group of calls."""

from __future__ import annotations

from typing import TypeVar

from .._core.caller import Caller, ReadPage
from .._core.connection import Plan
from .driver import AsyncDriver
from .paging import AsyncPaged

T = TypeVar("T")


class AsyncGroup:
    """Calls of one client."""

    def __init__(self, driver: AsyncDriver, caller: Caller) -> None:
        """Make the calls of a client. Only the client does this."""
        self._driver = driver
        self._caller = caller

    async def _run(self, plan: Plan[T]) -> T:
        return await self._driver.run(plan, self._caller.connection)

    def _paged(self, read: ReadPage[T]) -> AsyncPaged[T]:
        return AsyncPaged(self._driver, self._caller.connection, read)
