"""Carries out plans with a sync client of httpx."""

from __future__ import annotations

from collections.abc import Generator
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


class Driver:
    """The input and output of a client."""

    def __init__(self, http: httpx.Client) -> None:
        """Use this client of httpx."""
        self.http = http

    def run(self, plan: Plan[T], connection: Connection) -> T:
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
                connection.settings.clock.sleep(step.seconds)
            elif isinstance(step, ReadKey):
                result = called(step.read)
            else:
                try:
                    result = self._send(step, connection)
                except PunctualError as failure:
                    error = failure

    def _send(self, send: Send, connection: Connection) -> Reply:
        left = TimeLeft(send.timeout)
        try:
            with self.http.stream(
                "POST",
                send.url,
                headers=dict(send.headers),
                content=send.body,
                extensions={"timeout": left},
                # A redirect could lead to another origin, which must not get the key.
                follow_redirects=False,
            ) as response:
                return Reply(response.status_code, response.headers, _text_of(response, left))
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise failure_of(error, connection.settings.url, send.timeout) from error

    def stream(self, plan: Plan[Send], connection: Connection) -> Generator[StreamEvent, None, None]:
        """Read events until the service ends the stream, or until the reader stops."""
        place = connection.settings.url
        send = self.run(plan, connection)
        timeout = httpx.Timeout(send.timeout, read=STREAM_SILENCE)
        events = EventReader()
        try:
            with self.http.stream(
                "GET", send.url, headers=dict(send.headers), timeout=timeout, follow_redirects=False
            ) as response:
                if response.status_code != OK:
                    text = _text_of(response, TimeLeft(send.timeout))
                    raise bad_answer(response.status_code, response.headers, text, place)
                for piece in response.iter_text():
                    for event in events.feed(piece):  # noqa: UP028  # The async form has no "yield from".
                        yield event
        except (httpx.HTTPError, httpx.StreamError) as error:
            raise with_written(failure_of(error, place, STREAM_SILENCE), "no") from error
        except ValueError as error:
            raise with_written(connection_lost(place, str(error)), "no") from error


def _text_of(response: httpx.Response, time_left: TimeLeft) -> str:
    pieces: list[bytes] = []
    left = MOST_ANSWER_BYTES
    for piece in response.iter_bytes():
        pieces.append(piece)
        left -= len(piece)
        if left < 0:
            raise AnswerTooLargeError(f"the answer has more than {MOST_ANSWER_BYTES} bytes")
        if time_left.is_over:
            raise httpx.ReadTimeout("the answer takes too long")
    return b"".join(pieces).decode("utf-8", "replace")
