"""The options of a client, checked, and what its user can put in: hooks and a clock."""

from __future__ import annotations

import asyncio
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal

from ..errors import PunctualError

DelayFrom = Literal["client", "server"]
"""Where delays begin. `server`: when the service receives them; then a create is not repeated after a time-out."""

_URL = re.compile(r"https?://[^/?#@\s]+[^?#@\s]*")
_MOST_RETRIES: Final = 100


@dataclass(frozen=True)
class RequestEvent:
    """What hooks learn about a request."""

    operation: str
    """Such as `timers.create`."""
    attempt: int
    """The first try is 1."""


@dataclass(frozen=True)
class AnswerEvent(RequestEvent):
    """What hooks learn about an answer."""

    status: int
    request_id: str | None
    duration: float
    """In seconds."""


@dataclass(frozen=True)
class FailureEvent(RequestEvent):
    """What hooks learn about a failed try. The client may try again."""

    error: PunctualError
    duration: float
    """In seconds."""


@dataclass(frozen=True, kw_only=True)
class Hooks:
    """Functions that the client calls, for metrics and traces. If one raises, the call goes on."""

    on_request: Callable[[RequestEvent], object] | None = None
    on_answer: Callable[[AnswerEvent], object] | None = None
    on_failure: Callable[[FailureEvent], object] | None = None


class Clock:
    """Time and randomness. Tests can replace them."""

    def now(self) -> float:
        """Return the seconds since 1970."""
        return time.time()

    def random(self) -> float:
        """Return a number from 0 to 1."""
        return random.random()  # noqa: S311  # It only spreads the tries.

    def sleep(self, seconds: float) -> None:
        """Wait, in the sync client."""
        time.sleep(seconds)

    async def sleep_async(self, seconds: float) -> None:
        """Wait, in the async client."""
        await asyncio.sleep(seconds)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The options of a client with their defaults."""

    url: str
    # Secrets are not part of the text that logs and debuggers show.
    key: str | Callable[[], str | Awaitable[str]] | None = field(repr=False)
    namespace: str | None
    timeout: float
    max_retries: int
    delay_from: DelayFrom
    headers: Mapping[str, str] = field(repr=False)
    hooks: Hooks
    clock: Clock
    deadline: datetime | None = None

    def __post_init__(self) -> None:
        """Refuse options that make no sense."""
        if not self.timeout > 0:
            raise ValueError("timeout must be greater than 0")
        if not 0 <= self.max_retries <= _MOST_RETRIES:
            raise ValueError(f"max_retries must be a whole number from 0 to {_MOST_RETRIES}")
        if self.deadline is not None and self.deadline.utcoffset() is None:
            raise ValueError("deadline must have a time zone, such as datetime.now(timezone.utc)")


def url_of(given: str | None) -> str:
    """Return the URL of the service: the given one, or that of the environment."""
    url = os.environ.get("TIMER_URL") if given is None else given
    if not url:
        raise ValueError("Punctual needs a url: give one, or set TIMER_URL")
    if _URL.fullmatch(url) is None:
        raise ValueError("url must be http://host:port or https://host, without credentials, query and fragment")
    return url.rstrip("/")


def key_of(
    given: str | Callable[[], str | Awaitable[str]] | None,
) -> str | Callable[[], str | Awaitable[str]] | None:
    """Return the key: the given one, or that of the environment. An empty text means that there is none."""
    return (os.environ.get("TIMER_API_KEY") if given is None else given) or None
