"""The base of each group of calls."""

from __future__ import annotations

from typing import TypeVar

from .._core.caller import Caller, ReadPage
from .._core.connection import Plan
from .driver import Driver
from .paging import Paged

T = TypeVar("T")


class Group:
    """Calls of one client."""

    def __init__(self, driver: Driver, caller: Caller) -> None:
        """Make the calls of a client. Only the client does this."""
        self._driver = driver
        self._caller = caller

    def _run(self, plan: Plan[T]) -> T:
        return self._driver.run(plan, self._caller.connection)

    def _paged(self, read: ReadPage[T]) -> Paged[T]:
        return Paged(self._driver, self._caller.connection, read)
