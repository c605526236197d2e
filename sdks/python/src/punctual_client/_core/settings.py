"""The options of a client, checked, and what its user can put in: hooks and a clock."""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import re
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, Literal, get_args

import httpx

from ..errors import PunctualError

DelayFrom = Literal["client", "server"]
"""Where delays begin. `server`: when the service receives them; then a create is not repeated after a time-out."""

_URL = re.compile(r"https?://[^/?#@\s]+[^?#@\s]*")
_KEY = re.compile(r"[!-~]+")
KEY_FORM: Final = "must be a text of visible ASCII characters, without spaces and line breaks"
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE = re.compile(r"(?:[!-~](?:[ -~\t]*[!-~])?)?")
_MOST_RETRIES: Final = 100
_LONGEST_TIMEOUT: Final = 86_400
_MOST_PORT: Final = 65_535


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

    def __post_init__(self) -> None:
        """Refuse async functions, which would never run."""
        if any(inspect.iscoroutinefunction(hook) for hook in (self.on_request, self.on_answer, self.on_failure)):
            raise TypeError("hooks must be plain functions: nothing awaits an async one")


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
        timeout, max_retries = _unchecked(self.timeout), _unchecked(self.max_retries)
        if not isinstance(timeout, int | float) or not 0 < timeout <= _LONGEST_TIMEOUT:
            raise ValueError(f"timeout must be a number of seconds: greater than 0, and at most {_LONGEST_TIMEOUT}")
        if not isinstance(max_retries, int) or not 0 <= max_retries <= _MOST_RETRIES:
            raise ValueError(f"max_retries must be a whole number from 0 to {_MOST_RETRIES}")
        if self.delay_from not in get_args(DelayFrom):
            raise ValueError("delay_from must be client or server")
        # HTTP does not tell "Authorization" from "authorization", but a dictionary does, and both would be sent.
        headers = {_header_name(name): _header_value(name, value) for name, value in self.headers.items()}
        object.__setattr__(self, "headers", headers)
        if self.deadline is not None and self.deadline.utcoffset() is None:
            raise ValueError("deadline must have a time zone, such as datetime.now(timezone.utc)")


def url_of(given: str | None) -> str:
    """Return the URL of the service: the given one, or that of the environment."""
    url = os.environ.get("TIMER_URL") if given is None else given
    if not url:
        raise ValueError("Punctual needs a url: give one, or set TIMER_URL")
    if _URL.fullmatch(url) is None:
        raise ValueError("url must be http://host:port or https://host, without credentials, query and fragment")
    try:
        port = httpx.URL(url).port
    except httpx.InvalidURL as error:
        raise ValueError(f"url is not a URL: {error}") from None
    if port is not None and not 0 < port <= _MOST_PORT:
        raise ValueError(f"the port of url must be from 1 to {_MOST_PORT}")
    return url.rstrip("/")


def key_of(
    given: str | Callable[[], str | Awaitable[str]] | None,
) -> str | Callable[[], str | Awaitable[str]] | None:
    """Return the key: the given one, or that of the environment. An empty text means that there is none."""
    key = os.environ.get("TIMER_API_KEY") if given is None else given
    return key if callable(key) else checked_key(key)


def checked_key(key: object) -> str | None:
    """Return a key that a header can hold. A line break at the end of a file is the usual mistake.

    The message does not contain the key.
    """
    if key is None or key == "":
        return None
    if not isinstance(key, str) or _KEY.fullmatch(key) is None:
        raise ValueError(f"key {KEY_FORM}")
    return key


def _header_name(name: object) -> str:
    if not isinstance(name, str) or _HEADER_NAME.fullmatch(name) is None:
        raise ValueError("headers must have names that HTTP allows")
    return name.lower()


def _header_value(name: str, value: object) -> str:
    """Return a value that HTTP allows. It may be a secret, so the message does not contain it."""
    if not isinstance(value, str) or _HEADER_VALUE.fullmatch(value) is None:
        raise ValueError(f"the header {name} must be a text of ASCII characters, without line breaks")
    return value


def _unchecked(value: object) -> object:
    """Return a value that a program without a type checker may have given."""
    return value
