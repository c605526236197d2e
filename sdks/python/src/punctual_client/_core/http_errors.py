"""What an exception of httpx means for a call."""

from __future__ import annotations

from typing import Final

import httpx

from ..errors import PunctualError
from .failures import connection_lost, connection_refused, took_too_long

MOST_ANSWER_BYTES: Final = 128 * 1024 * 1024
"""Enough for a page of timers with the largest payloads."""

STREAM_SILENCE: Final = 60.0
"""The service sends something at least every 15 s. After a longer silence the connection is dead."""

# In these cases the service got nothing.
_NOT_SENT = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.PoolTimeout,
    httpx.ProxyError,
    httpx.UnsupportedProtocol,
)


class AnswerTooLargeError(httpx.TransportError):
    """The answer is larger than any answer of this service."""


def failure_of(error: httpx.HTTPError | httpx.StreamError, place: str, timeout: float) -> PunctualError:
    """Make the error of a try that got no complete answer."""
    why = str(error) or type(error).__name__
    failure = (
        connection_refused(place, why)
        if isinstance(error, _NOT_SENT)
        else took_too_long(place, timeout)
        if isinstance(error, httpx.TimeoutException)
        else connection_lost(place, why)
    )
    failure.__cause__ = error
    return failure
