"""Receives webhooks.

The handler owns the raw body: it reads it within a limit, checks the signature over its bytes, calls your function, and
turns what the function does into the answer that Punctual understands.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http import HTTPStatus
from typing import Any, Final, Generic, Protocol, TypeVar

from .._core.durations import duration_text, instant_text, parse_duration
from .._core.raw_json import json_text
from ..contract.requests import Duration, InstantInput
from .event import TimerEvent, parse_event, with_payload
from .verify import USUAL_TOLERANCE, HeaderItems, SignatureError, listed, secret_bytes, verify_webhook

P = TypeVar("P")
T = TypeVar("T")

logger = logging.getLogger("punctual_client")

USUAL_TIMEOUT: Final = 15.0
USUAL_MOST_BYTES: Final = 1024 * 1024


class Retry(Exception):  # noqa: N818
    """Raise it to ask for another attempt, after a time of your choice or by the retry policy. It counts as an attempt."""

    def __init__(self, after: Duration | None = None, message: str = "the handler asks for another attempt") -> None:
        """Ask for an attempt after this duration; None leaves it to the retry policy."""
        super().__init__(message)
        self.after = None if after is None else _checked(after)


class Dead(Exception):  # noqa: N818
    """Raise it if no attempt can succeed. The timer becomes a dead letter, and its last attempt shows the reason."""

    def __init__(self, reason: str | Exception) -> None:
        """Say why, for people."""
        super().__init__(reason)
        # The exception that was caught often says it best.
        self.reason = str(reason)


def _checked(duration: Duration) -> Duration:
    """Refuse what the service would not understand, where the mistake is."""
    try:
        parse_duration(duration_text(duration) if isinstance(duration, timedelta) else duration)
    except ValueError as error:
        raise ValueError(f"the wait {error}") from None
    return duration


class _Keep:
    """The payload stays as it is."""


_KEEP: Final = _Keep()


@dataclass(frozen=True, kw_only=True)
class Again:
    """Return it to arm the timer again: after a delay, or at an instant."""

    next_delay: Duration | None = None
    next_execute_at: InstantInput | None = None
    payload: object = _KEEP
    """The new payload; the old one when left out."""

    def __post_init__(self) -> None:
        """Refuse an answer without a time, and one with two."""
        if (self.next_delay is None) == (self.next_execute_at is None):
            raise ValueError("give exactly one of next_delay and next_execute_at")
        if self.next_delay is not None:
            _checked(self.next_delay)
        if isinstance(self.next_execute_at, datetime):
            instant_text(self.next_execute_at)


class Memory(Protocol):
    """Remembers which fire ids are done, so that repeats do nothing. Keep it where the work is, best in the same transaction."""

    def done(self, fire_id: str) -> bool | str | None:
        """Tell whether this fire id is done: True, or the answer that `mark_done` got."""
        ...

    def mark_done(self, fire_id: str, answer: str) -> None:
        """Remember a success. Keep the answer if your function arms timers again: a repeat must answer the same."""
        ...


class AsyncMemory(Protocol):
    """The same as `Memory`, with async functions."""

    async def done(self, fire_id: str) -> bool | str | None:
        """Tell whether this fire id is done: True, or the answer that `mark_done` got."""
        ...

    async def mark_done(self, fire_id: str, answer: str) -> None:
        """Remember a success. Keep the answer if your function arms timers again: a repeat must answer the same."""
        ...


Handle = Callable[[TimerEvent[P]], "Again | None"]
"""Your function. Returning delivers the timer."""

AsyncHandle = Callable[[TimerEvent[P]], Awaitable["Again | None"]]
"""Your async function. Returning delivers the timer."""


@dataclass(frozen=True)
class WebhookAnswer:
    """What to answer to a webhook."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Step = Callable[[], Any]
Work = Generator[Step, Any, T]
"""What a handler does. It yields the calls of the user's functions, so that they may be async."""


@dataclass(frozen=True, kw_only=True)
class Receiving(Generic[P]):
    """A handler without input and output."""

    secrets: Sequence[str] | str
    allow_unsigned: bool
    handle: Callable[[TimerEvent[P]], Any] | None
    on: Mapping[str, Callable[[TimerEvent[P]], Any]] | None
    fallback: Callable[[TimerEvent[P]], Any] | None
    memory: Memory | AsyncMemory | None
    load: Callable[[str], P] | None
    tolerance: float = USUAL_TOLERANCE
    timeout: float = USUAL_TIMEOUT
    most_bytes: int = USUAL_MOST_BYTES
    now: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        """Refuse options that make no sense."""
        if (self.handle is None) == (self.on is None):
            raise TypeError("give exactly one of handle and on")
        if self.handle is not None and self.fallback is not None:
            raise TypeError("fallback is for on: remove it")
        secrets = listed(self.secrets)
        if self.allow_unsigned == bool(secrets):
            raise ValueError("give at least one secret in secrets, or allow_unsigned=True")
        if self.allow_unsigned:
            logger.warning("punctual: webhooks are accepted without a signature (allow_unsigned)")
        for secret in secrets:
            secret_bytes(secret)

    def functions(self) -> list[Callable[[TimerEvent[P]], Any]]:
        """List all functions of the user."""
        found = [self.handle, self.fallback, *(self.on or {}).values()]
        return [function for function in found if function is not None]

    def receive(self, headers: HeaderItems, body: bytes) -> Work[WebhookAnswer]:
        """Check a webhook, call the function, and make the answer."""
        if len(body) > self.most_bytes:
            return too_large()
        lower = {name.lower(): value for name, value in headers.items()}
        now = self.now()
        if not self.allow_unsigned:
            try:
                verify_webhook(lower, body, self.secrets, tolerance=self.tolerance, now=now)
            except SignatureError as error:
                return plain(HTTPStatus.UNAUTHORIZED, str(error))
        deadline = datetime.fromtimestamp(now, timezone.utc) + timedelta(seconds=self.timeout)
        try:
            event = parse_event(lower, body, deadline)
        except (ValueError, RecursionError):
            return plain(HTTPStatus.BAD_REQUEST, "the request is not a webhook of Punctual")
        handle = self._pick(event.tags)
        if handle is None:
            return plain(HTTPStatus.NOT_FOUND, "no function handles the tags of this timer")
        return (yield from self._run(handle, event))

    def _pick(self, tags: Sequence[str]) -> Callable[[TimerEvent[P]], Any] | None:
        if self.on is None:
            return self.handle
        return next((self.on[tag] for tag in tags if tag in self.on), self.fallback)

    def _run(self, handle: Callable[[TimerEvent[P]], Any], event: TimerEvent[Any]) -> Work[WebhookAnswer]:
        """Call the function, unless its work is done already."""
        # A call of on_dead has the fire id of the timer that died in its body, and its own one in the header.
        fire_id = event.headers.get("webhook-id", "")
        memory = self.memory
        try:
            if memory is not None:
                done: bool | str | None = yield lambda: memory.done(fire_id)
                if isinstance(done, str):
                    return as_json(HTTPStatus.OK, done)
                if done:
                    return plain(HTTPStatus.OK, "")
            loaded = with_payload(event, self.load or json.loads)
            again = yield lambda: handle(loaded)
            answer = answer_text(again)
            if memory is not None:
                yield lambda: memory.mark_done(fire_id, answer)
            return as_json(HTTPStatus.OK, answer)
        except Retry as retry:
            delay = {} if retry.after is None else {"nextDelay": _text_of(retry.after)}
            return as_json(HTTPStatus.OK, json.dumps({"ok": False, **delay}))
        except Dead as dead:
            text = json.dumps({"reason": dead.reason})
            return as_json(HTTPStatus.UNPROCESSABLE_ENTITY, text, {"punctual-retry": "never"})
        except Exception:
            logger.exception("punctual: the handler of %s/%s failed", event.namespace, event.timer_id)
            return plain(HTTPStatus.INTERNAL_SERVER_ERROR, "the handler failed")


def answer_text(again: object) -> str:
    """Write the answer of a success."""
    if not isinstance(again, Again):
        return '{"ok":true}'
    delay = {} if again.next_delay is None else {"nextDelay": _text_of(again.next_delay)}
    at = {} if again.next_execute_at is None else {"nextExecuteAt": _text_of(again.next_execute_at)}
    payload = {} if again.payload is _KEEP else {"payload": again.payload}
    return json_text({"ok": True, **delay, **at, **payload})


def _text_of(value: Duration | InstantInput) -> str:
    if isinstance(value, timedelta):
        return duration_text(value)
    return instant_text(value) if isinstance(value, datetime) else value


def as_json(status: int, text: str, headers: Mapping[str, str] | None = None) -> WebhookAnswer:
    """Answer JSON."""
    return WebhookAnswer(int(status), {"content-type": "application/json", **(headers or {})}, text.encode())


def plain(status: int, text: str) -> WebhookAnswer:
    """Answer plain text."""
    return WebhookAnswer(int(status), {"content-type": "text/plain"}, text.encode())


def too_large() -> WebhookAnswer:
    """Answer a body that has too many bytes."""
    return plain(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the body is too large")


def incomplete(got: int, expected: int | None) -> WebhookAnswer:
    """Answer a request whose body did not arrive, and say why that may be."""
    logger.warning(
        "punctual: the body of a webhook has %d of %s bytes: the caller went away, or something read the body before the handler",
        got,
        "?" if expected is None else expected,
    )
    return plain(HTTPStatus.BAD_REQUEST, "the body did not arrive")
