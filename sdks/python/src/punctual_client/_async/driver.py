# tools/make_async.py made this file from _sync/driver.py: change that file.
"""Carries out plans with an async client of httpx."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TypeVar, cast

import httpx

from .._core.connection import Connection, Plan, ReadKey, Reply, Send, Wait
from .._core.event_stream import EventReader
from .._core.failures import OK, bad_answer, connection_lost, with_written
from .._core.http_errors import MOST_ANSWER_BYTES, STREAM_SILENCE, AnswerTooLargeError, failure_of
from .._core.time_left import TimeLeft
from ..contract.operators import StreamEvent
from ..errors import PunctualError
from .called import called

T = TypeVar("T")


class AsyncDriver:
    """The input and output of a client."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        """Use this client of httpx."""
        self.http = http

    async def run(self, plan: Plan[T], connection: Connection) -> T:
        """Carry out a plan to its end."""
        result: object = None
        error: PunctualError | None = None
        while True:
            try:
                step = plan.send(result) if error is None else plan.throw(error)
            except StopIteration as end:
                return cast("T", end.value)
            result, error = None, None
            if isinstance(step, Wait):
                await connection.settings.clock.sleep_async(step.seconds)
            elif isinstance(step, ReadKey):
                result = await called(step.read)
            else:
                try:
                    result = await self._send(step, connection)
                except PunctualError as failure:
                    error = failure

    async def _send(self, send: Send, connection: Connection) -> Reply:
        left = TimeLeft(send.timeout)
        try:
            async with self.http.stream(
                "POST",
                send.url,
                headers=dict(send.headers),
                content=send.body,
                extensions={"timeout": left},
                # A redirect could lead to another origin, which must not get the key.
                follow_redirects=False,
            ) as response:
                return Reply(response.status_code, response.headers, await _text_of(response, left))
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise failure_of(error, connection.settings.url, send.timeout) from error

    async def stream(self, plan: Plan[Send], connection: Connection) -> AsyncGenerator[StreamEvent, None]:
        """Read events until the service ends the stream, or until the reader stops."""
        place = connection.settings.url
        send = await self.run(plan, connection)
        timeout = httpx.Timeout(send.timeout, read=STREAM_SILENCE)
        events = EventReader()
        try:
            async with self.http.stream(
                "GET", send.url, headers=dict(send.headers), timeout=timeout, follow_redirects=False
            ) as response:
                if response.status_code != OK:
                    text = await _text_of(response, TimeLeft(send.timeout))
                    raise bad_answer(response.status_code, response.headers, text, place)
                async for piece in response.aiter_text():
                    for event in events.feed(piece):
                        yield event
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise with_written(failure_of(error, place, STREAM_SILENCE), "no") from error
        except ValueError as error:
            raise with_written(connection_lost(place, str(error)), "no") from error


async def _text_of(response: httpx.Response, time_left: TimeLeft) -> str:
    pieces: list[bytes] = []
    left = MOST_ANSWER_BYTES
    async for piece in response.aiter_bytes():
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise AnswerTooLargeError(f"the answer has more than {MOST_ANSWER_BYTES} bytes")
        if time_left.is_over:
            raise httpx.ReadTimeout("the answer takes too long")
    return b"".join(pieces).decode("utf-8", "replace")
