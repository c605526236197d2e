"""The codes of problems that the service answers, and the codes of failures that only a client can see.

A newer service may have more codes, so the code of an error can also be any other text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .shape import Shape

ProblemCode = Literal[
    "invalidJson",
    "invalidRequest",
    "egressRefused",
    "unauthorized",
    "forbidden",
    "notFound",
    "messageNotFound",
    "timerNotFound",
    "keyNotFound",
    "jobNotFound",
    "methodNotAllowed",
    "requestTimeout",
    "timerExists",
    "revisionMismatch",
    "timerInFlight",
    "clockNotManual",
    "restoredFromBackup",
    "keyRefused",
    "messageRefused",
    "countChanged",
    "bodyTooLarge",
    "unsupportedMediaType",
    "quotaExceeded",
    "internal",
    "brokerUnavailable",
    "overloaded",
    "ownerUnavailable",
]
"""The codes of problem documents (RFC 9457)."""

ClientCode = Literal["connectionRefused", "connectionLost", "timeout", "unreadableAnswer"]
"""The codes of failures without a problem document.

- `connectionRefused`: no connection, so the service got nothing.
- `connectionLost`: the connection broke before the answer was complete.
- `timeout`: there was no complete answer in time.
- `unreadableAnswer`: something answered, but not in the words of this service: a proxy, or another program.
"""

Written = Literal["no", "unknown"]
"""Whether a failed call may have changed anything."""


@dataclass(frozen=True, kw_only=True)
class FieldError(Shape):
    """What is wrong with one field of a request."""

    pointer: str
    """JSON pointer (RFC 6901) to the field; empty for the whole body."""
    detail: str
    """What is wrong with the field, and how to fix it."""


@dataclass(frozen=True, kw_only=True)
class ProblemDocument(Shape):
    """A failure as the service answers it: `application/problem+json`."""

    code: str
    type: str = ""
    title: str = ""
    status: int = 0
    detail: str = ""
    errors: tuple[FieldError, ...] = ()
    """The wrong fields of an invalid request."""
    current_revision: int | None = None
    """With `revisionMismatch`: the revision of the timer now."""
    current_count: int | None = None
    """With `countChanged`: how many timers match now."""
    quota: str | None = None
    """With `quotaExceeded`: which quota."""
    retry_after_seconds: float | None = None
    """With 429 and 503: when to try again."""
    written: Written | None = None
    """With 429 and 503: whether the service may have written anything."""
