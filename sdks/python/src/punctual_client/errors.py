"""What a failed call raises.

There is one type, with one class for each family, so that `except` can be as coarse or as fine as you need.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from .contract.problems import ProblemDocument, Written

Family = Literal["punctual", "invalidRequest", "access", "notFound", "conflict", "quota", "unavailable", "connection"]
"""The names of the classes of errors, as all client libraries call them."""


@dataclass(frozen=True, kw_only=True)
class Failure:
    """What is known about a failed call. The error has the same attributes."""

    code: str
    message: str
    written: Written
    retryable: bool
    status: int | None = None
    request_id: str | None = None
    problem: ProblemDocument | None = None
    retry_after: float | None = None


class PunctualError(Exception):
    """A failed call."""

    family: ClassVar[Family] = "punctual"

    def __init__(self, failure: Failure) -> None:
        """Make the error of a failure. Only the client does this."""
        super().__init__(failure)
        self.failure = failure

    def __str__(self) -> str:
        """Say what went wrong, for people."""
        return self.failure.message

    @property
    def code(self) -> str:
        """The code of the problem, or of what went wrong on the way. Codes of newer services are kept."""
        return self.failure.code

    @property
    def status(self) -> int | None:
        """The HTTP status, if something answered."""
        return self.failure.status

    @property
    def request_id(self) -> str | None:
        """The id of the request in the logs of the service, if it answered."""
        return self.failure.request_id

    @property
    def problem(self) -> ProblemDocument | None:
        """The problem document, if the service answered one."""
        return self.failure.problem

    @property
    def written(self) -> Written:
        """`no`: the call changed nothing and will not. `unknown`: it may have done all of its work, or a part of it."""
        return self.failure.written

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later, without any change. Look at `written` before you repeat it."""
        return self.failure.retryable

    @property
    def retry_after(self) -> float | None:
        """How many seconds the service asks to wait, with 429 and 503."""
        return self.failure.retry_after


class InvalidRequestError(PunctualError):
    """The request is wrong: the service refused it, or the client did not even send it. `problem.errors` names the fields."""

    family = "invalidRequest"


class AccessError(PunctualError):
    """The key is missing or wrong, or it does not have the right."""

    family = "access"


class NotFoundError(PunctualError):
    """There is no such timer, key, job or message."""

    family = "notFound"


class ConflictError(PunctualError):
    """The state does not allow the call: the timer exists, has another revision, or is being delivered."""

    family = "conflict"


class QuotaError(PunctualError):
    """A quota is used up. `retry_after` says when to try again."""

    family = "quota"


class UnavailableError(PunctualError):
    """The service could not do it now: it is overloaded, restarts, or has failed."""

    family = "unavailable"


class NoAnswerError(PunctualError):
    """There was no usable answer: no connection, a broken one, a time-out, or an answer of another program."""

    family = "connection"
