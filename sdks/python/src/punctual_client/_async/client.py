# tools/make_async.py made this file from _sync/client.py: change that file.
"""The client: one object for a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from copy import copy
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypedDict

import httpx

from .._core.caller import Answer, Caller
from .._core.connection import Connection
from .._core.settings import Clock, DelayFrom, Hooks, Settings, key_of, url_of
from ..contract.operators import ClusterAnswer
from .driver import AsyncDriver
from .operators import (
    AsyncAudit,
    AsyncBreakers,
    AsyncBulk,
    AsyncEgress,
    AsyncEvents,
    AsyncKeys,
    AsyncManualClock,
    AsyncMessages,
    AsyncNamespaces,
    AsyncService,
    AsyncSessions,
)
from .timers import AsyncTimers

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


class Options(TypedDict, total=False):
    """The options that `with_options` changes."""

    namespace: str | None
    timeout: float
    max_retries: int
    delay_from: DelayFrom
    headers: Mapping[str, str]
    deadline: datetime | None


class AsyncPunctual:
    """A client of one service. The tasks of one event loop can share it.

    ```python
    async with AsyncPunctual("https://timers.example.com", namespace="billing") as punctual:
        await punctual.timers.create(timer_id="trial-42", delay="14d", callback_url="https://shop.example/hooks")
    ```
    """

    def __init__(
        self,
        url: str | None = None,
        key: str | Callable[[], str | Awaitable[str]] | None = None,
        *,
        namespace: str | None = None,
        timeout: float = 10.0,
        max_retries: int = 2,
        delay_from: DelayFrom = "client",
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
        hooks: Hooks | None = None,
        clock: Clock | None = None,
    ) -> None:
        """Make a client. It connects when it sends the first call.

        Args:
            url: The service. The variable `TIMER_URL` when left out.
            key: The key, or a function that reads it for each request. The variable `TIMER_API_KEY` when left out; an
                empty text for none.
            namespace: The namespace of requests that name none.
            timeout: The time limit of each try, in seconds: to connect, to send, and to get the whole answer.
            max_retries: How often the client repeats a call that is harmless to repeat.
            delay_from: Where delays begin. With `server` a create with a delay is not repeated after a time-out.
            headers: Headers of every request. The client's own ones, such as the key, win.
            http_client: Your own client of httpx, for proxies and certificates. You close it yourself.
            hooks: Functions that the client calls for each try.
            clock: Another clock, for tests.

        """
        settings = Settings(
            url=url_of(url),
            key=key_of(key),
            namespace=namespace,
            timeout=timeout,
            max_retries=max_retries,
            delay_from=delay_from,
            headers=headers or {},
            hooks=hooks or Hooks(),
            clock=clock or Clock(),
        )
        self._owns_http = http_client is None
        self._begin(AsyncDriver(http_client or httpx.AsyncClient()), Connection(settings))

    def _begin(self, driver: AsyncDriver, connection: Connection) -> None:
        caller = Caller(connection)
        self._driver = driver
        self._caller = caller
        self.timers: AsyncTimers[Any] = AsyncTimers(driver, caller)
        """The calls about timers."""
        self.bulk = AsyncBulk(driver, caller)
        """Jobs on many timers."""
        self.namespaces = AsyncNamespaces(driver, caller)
        """Settings of namespaces."""
        self.service = AsyncService(driver, caller)
        """The service as a whole."""
        self.breakers = AsyncBreakers(driver, caller)
        """Hosts that failed too often in a row."""
        self.keys = AsyncKeys(driver, caller)
        """Who may call the service."""
        self.sessions = AsyncSessions(driver, caller)
        """Cookies in place of keys, for pages."""
        self.messages = AsyncMessages(driver, caller)
        """Messages from the broker that could not be handled."""
        self.audit = AsyncAudit(driver, caller)
        """What operators did."""
        self.egress = AsyncEgress(driver, caller)
        """Which URLs the service may call."""
        self.clock = AsyncManualClock(driver, caller)
        """The clock of a service that runs with `TIMER_CLOCK=manual`."""
        self.events = AsyncEvents(driver, caller)
        """What happens to timers, as it happens."""

    def with_options(self, **options: Unpack[Options]) -> Self:
        """Return this client with other options, over the same connections.

        With a `deadline`, all calls end at this instant, with their tries and waits. New `headers` take the place of all
        old ones. Closing the new client closes nothing: the connections belong to this one.
        """
        unknown = [name for name in options if name not in Options.__annotations__]
        if unknown:
            raise TypeError(f"with_options has no option {', '.join(unknown)}")
        other = copy(self)
        other._owns_http = False
        connection = self._caller.connection
        settings = replace(connection.settings, **options)
        other._begin(self._driver, replace(connection, settings=settings))
        return other

    def __repr__(self) -> str:
        """Show the service and the namespace, and no secrets."""
        settings = self._caller.connection.settings
        return f"{type(self).__name__}({settings.url!r}, namespace={settings.namespace!r})"

    async def exchange(self, operation: str, fields: Mapping[str, object]) -> Answer:
        """Call an operation by its id in the OpenAPI document, such as `timers.create`, with the fields as they are.

        Use it for calls that this version does not know, or if you need the exact text of an answer.
        """
        return await self._driver.run(self._caller.exchange(operation, fields), self._caller.connection)

    async def cluster(self) -> ClusterAnswer:
        """Tell the nodes and their shards."""
        plan = self._caller.call("cluster.cluster", {}, ClusterAnswer)
        return await self._driver.run(plan, self._caller.connection)

    async def aclose(self) -> None:
        """Close the connections, unless you gave the client of httpx."""
        if self._owns_http:
            await self._driver.http.aclose()

    async def __aenter__(self) -> Self:
        """Use the client in an `async with` statement, which closes it."""
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connections."""
        await self.aclose()
