"""Sends calls: with the key, with a time limit for each try, and again if that is harmless.

A call is a plan: a generator that yields what to do (send a request, wait, read the key) and gets the result. So this
module has no input and output, and the sync and the async client carry out the same plans.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, Final, TypeVar

from ..errors import PunctualError
from .failures import OK, bad_answer, may_repeat, took_too_long, with_written
from .refused import refused_here
from .repeats import RepeatClass, wait_ms_before
from .settings import KEY_FORM, AnswerEvent, FailureEvent, RequestEvent, Settings, checked_key

E = TypeVar("E")

logger = logging.getLogger("punctual_client")

CLOCK_TOLERANCE_MS: Final = 2_000
"""The header `date` has whole seconds, and answers take a while."""


@dataclass(frozen=True)
class Send:
    """A step of a plan: send this request, and return its `Reply` or raise a `PunctualError`."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    timeout: float
    body: bytes | None = field(repr=False)


@dataclass(frozen=True)
class Wait:
    """A step of a plan: wait."""

    seconds: float


@dataclass(frozen=True)
class ReadKey:
    """A step of a plan: call the function that reads the key, and return the text."""

    read: Callable[[], Any]


@dataclass(frozen=True)
class Reply:
    """What something answered."""

    status: int
    headers: Mapping[str, str]
    """With names in lower case."""
    text: str

    @property
    def request_id(self) -> str | None:
        """The id of the request in the logs of the service."""
        return self.headers.get("x-request-id")


T = TypeVar("T")
Plan = Generator[Send | Wait | ReadKey, Any, T]
"""What a call does, without input and output."""


@dataclass(frozen=True)
class Outgoing:
    """One call, ready to send."""

    operation: str
    """The id of the operation in the OpenAPI document, for hooks."""
    path: str
    """Below /api/v1."""
    body: bytes
    repeats: RepeatClass


@dataclass
class ServerTime:
    """How far the clock of the service is ahead. All clients of one connection share it."""

    ahead_ms: int = 0


@dataclass(frozen=True)
class Connection:
    """The way to one service."""

    settings: Settings
    server_time: ServerTime = field(default_factory=ServerTime)

    def now_ms(self) -> int:
        """Return the time of the service, as far as its answers have shown it."""
        return self._local_ms() + self.server_time.ahead_ms

    def send(self, outgoing: Outgoing) -> Plan[Reply]:
        """Return the answer, or raise an error after the last try."""
        clock, max_retries = self.settings.clock, self.settings.max_retries
        is_unknown = False
        attempt = 0
        while True:
            attempt += 1
            try:
                return (yield from self._try(outgoing, attempt))
            except PunctualError as caught:
                error = caught
            is_unknown = is_unknown or (error.written == "unknown" and outgoing.repeats != "read")
            final = with_written(error, "unknown" if is_unknown else "no")
            wait_ms = wait_ms_before(attempt, error.retry_after, clock.random())
            is_last = attempt > max_retries or not may_repeat(error, outgoing.repeats)
            if is_last or wait_ms is None or self._left_ms(wait_ms) <= 0:
                raise final
            logger.debug("punctual: %s is tried again in %d ms (%s)", outgoing.operation, wait_ms, error.code)
            yield Wait(wait_ms / 1_000)

    def request(self, path: str, headers: Mapping[str, str], body: bytes | None) -> Plan[Send]:
        """Make one request, with the key and the time that is left for it."""
        settings = self.settings
        key = settings.key
        text = _key_read((yield ReadKey(key))) if callable(key) else key
        bearer = {} if text is None else {"authorization": f"Bearer {text}"}
        left = self._left_ms(0) / 1_000
        if left <= 0:
            raise with_written(took_too_long(settings.url, 0), "no")
        url = f"{settings.url}/api/v1/{path}"
        return Send(url, {**settings.headers, **bearer, **headers}, min(settings.timeout, left), body)

    def _try(self, outgoing: Outgoing, attempt: int) -> Plan[Reply]:
        hooks, clock = self.settings.hooks, self.settings.clock
        operation = outgoing.operation
        started_ms = self._local_ms()
        started = clock.now()
        self._tell(hooks.on_request, RequestEvent(operation, attempt))
        try:
            send = yield from self.request(outgoing.path, {"content-type": "application/json"}, outgoing.body)
            reply: Reply = yield send
            self._compare_clocks(reply.headers, started_ms, self._local_ms())
            if reply.status != OK:
                raise bad_answer(reply.status, reply.headers, reply.text, self.settings.url)
        except PunctualError as error:
            duration = clock.now() - started
            self._tell(hooks.on_failure, FailureEvent(operation, attempt, error, duration))
            raise
        duration = clock.now() - started
        event = AnswerEvent(operation, attempt, reply.status, reply.request_id, duration)
        self._tell(hooks.on_answer, event)
        return reply

    def _local_ms(self) -> int:
        return round(self.settings.clock.now() * 1_000)

    def _left_ms(self, after_ms: float) -> float:
        deadline = self.settings.deadline
        return float("inf") if deadline is None else round(deadline.timestamp() * 1_000) - self._local_ms() - after_ms

    def _compare_clocks(self, headers: Mapping[str, str], started_ms: int, ended_ms: int) -> None:
        try:
            date_ms = parsedate_to_datetime(headers.get("date", "")).timestamp() * 1_000
        except (ValueError, OverflowError):
            return
        # The header is the second in which the service answered, so on average it is half a second old.
        ahead_ms = round(date_ms + 500 - (started_ms + ended_ms) / 2)
        is_off = abs(ahead_ms) > CLOCK_TOLERANCE_MS + (ended_ms - started_ms) / 2
        was_off = self.server_time.ahead_ms != 0
        self.server_time.ahead_ms = ahead_ms if is_off else 0
        if is_off and not was_off:
            logger.warning(
                "punctual: the clock of the service is %d s ahead of the local clock. Delays are corrected from now on.",
                round(ahead_ms / 1_000),
            )
        elif was_off and not is_off:
            logger.warning("punctual: the local clock and the clock of the service agree again")

    def _tell(self, hook: Callable[[E], object] | None, event: E) -> None:
        """Call a hook. It must not change the outcome of a call."""
        if hook is None:
            return
        try:
            hook(event)
        except Exception:
            logger.warning("punctual: a hook failed", exc_info=True)


def _key_read(key: object) -> str | None:
    """Check what the user's function returned."""
    try:
        return checked_key(key)
    except ValueError:
        raise refused_here("key", KEY_FORM) from None
