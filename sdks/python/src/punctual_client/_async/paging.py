# tools/make_async.py made this file from _sync/paging.py: change that file.
"""Lists that the service answers in pages, as iterables. Each page is read when it is needed."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from .._core.caller import Page, ReadPage
from .._core.connection import Connection
from .._core.failures import endless_list
from .driver import AsyncDriver

T = TypeVar("T")


class AsyncPaged(Generic[T]):
    """A list: `async for item in paged`. Nothing is sent before the first item is asked for."""

    def __init__(self, driver: AsyncDriver, connection: Connection, read: ReadPage[T]) -> None:
        """Read the pages with this function."""
        self._driver = driver
        self._connection = connection
        self._read = read

    async def page(self, cursor: str | None = None) -> Page[T]:
        """Read one page: the first one, or that at the cursor."""
        return await self._driver.run(self._read(cursor), self._connection)

    async def pages(self) -> AsyncIterator[Page[T]]:
        """Read all pages, one after the other."""
        cursor: str | None = None
        while True:
            page = await self.page(cursor)
            yield page
            if page.next_cursor is None:
                return
            if page.next_cursor == cursor:
                raise endless_list()
            cursor = page.next_cursor

    async def __aiter__(self) -> AsyncIterator[T]:
        """Read all items, page by page."""
        async for page in self.pages():
            for item in page.items:
                yield item

    async def to_list(self, *, limit: int) -> list[T]:
        """Read the first items of the list, at most `limit` of them."""
        if limit < 1:
            raise ValueError("limit must be a whole number of at least 1")
        items: list[T] = []
        async for page in self.pages():
            items += page.items[: limit - len(items)]
            if len(items) >= limit:
                break
        return items
