"""What a failed try means: which error it is, and whether the service may have carried out the request."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Final, cast

from ..contract.problems import ProblemDocument, Written
from ..errors import (
    AccessError,
    ConflictError,
    Failure,
    InvalidRequestError,
    NoAnswerError,
    NotFoundError,
    PunctualError,
    QuotaError,
    UnavailableError,
)
from .repeats import RepeatClass
from .wire import read_answer

OK: Final = 200
_TIMEOUT: Final = 408
_QUOTA: Final = 429
_INTERNAL: Final = 500
_UNAVAILABLE: Final = 503
_GATEWAY_STATUSES: Final = frozenset({502, 503, 504})
"""Answers that gateways give for a service that they cannot reach."""

_WRITTEN: Final = frozenset({"no", "unknown"})

_FAMILIES: Final[Mapping[int, type[PunctualError]]] = {
    401: AccessError,
    403: AccessError,
    404: NotFoundError,
    409: ConflictError,
    429: QuotaError,
}


def connection_refused(place: str, why: str) -> NoAnswerError:
    """Make the error of a try that did not reach the service."""
    return NoAnswerError(
        Failure(
            code="connectionRefused",
            message=f"there is no connection to {place} ({why})",
            written="no",
            retryable=True,
        )
    )


def connection_lost(place: str, why: str) -> NoAnswerError:
    """Make the error of a try whose connection broke."""
    return NoAnswerError(
        Failure(
            code="connectionLost",
            message=f"the connection to {place} was lost ({why})",
            written="unknown",
            retryable=True,
        )
    )


def took_too_long(place: str, timeout: float) -> NoAnswerError:
    """Make the error of a try that took too long."""
    return NoAnswerError(
        Failure(
            code="timeout",
            message=f"{place} did not answer within {timeout:g} s",
            written="unknown",
            retryable=True,
        )
    )


def unreadable(
    operation: str, repeats: RepeatClass, *, status: int | None, request_id: str | None, why: Exception
) -> NoAnswerError:
    """Make the error of an answer that is a success, but not one of this service."""
    return NoAnswerError(
        Failure(
            code="unreadableAnswer",
            message=f"the answer of {operation} cannot be read: check that the URL is that of a Punctual service ({why!r})",
            status=status,
            request_id=request_id,
            written="no" if repeats == "read" else "unknown",
            retryable=False,
        )
    )


def endless_list() -> NoAnswerError:
    """Make the error of a list that would never end."""
    return NoAnswerError(
        Failure(
            code="unreadableAnswer",
            message="the service answered the same cursor again: the list would not end",
            written="no",
            retryable=False,
        )
    )


def bad_answer(status: int, headers: Mapping[str, str], text: str, place: str) -> PunctualError:
    """Make the error of an answer that is no success."""
    request_id = headers.get("x-request-id")
    problem = _problem_in(text)
    if problem is None:
        is_refusal = 400 <= status < _INTERNAL  # noqa: PLR2004
        return NoAnswerError(
            Failure(
                code="unreadableAnswer",
                message=f"{place} answered {status}, and not in the words of Punctual: check the URL",
                status=status,
                request_id=request_id,
                written="no" if is_refusal else "unknown",
                retryable=status in _GATEWAY_STATUSES,
            )
        )
    fields = [f"{error.pointer[1:].replace('/', '.')} {error.detail}".strip() for error in problem.errors]
    family = _FAMILIES.get(status, UnavailableError if status >= _INTERNAL else InvalidRequestError)
    return family(
        Failure(
            code=problem.code,
            message=f"{problem.code}: {'; '.join(fields) or problem.detail}",
            status=status,
            request_id=request_id,
            problem=problem,
            written=problem.written if problem.written in _WRITTEN else "unknown" if status == _INTERNAL else "no",
            retryable=status in {_TIMEOUT, _QUOTA, _UNAVAILABLE},
            retry_after=_retry_after_of(problem, headers),
        )
    )


def _problem_in(text: str) -> ProblemDocument | None:
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return None
    members = cast("dict[str, object]", value)
    if not isinstance(members.get("code"), str):
        return None
    try:
        return read_answer(ProblemDocument, members)
    except (ValueError, TypeError, KeyError, AttributeError):
        return None


def _retry_after_of(problem: ProblemDocument, headers: Mapping[str, str]) -> float | None:
    """Read how long to wait. The service writes both."""
    header = headers.get("retry-after", "")
    seconds: object = problem.retry_after_seconds
    if seconds is None and header.isascii() and header.isdecimal():
        return float(header)
    # Something else than the service may have written the document.
    return seconds if isinstance(seconds, int | float) and 0 <= seconds < float("inf") else None


def may_repeat(error: PunctualError, repeats: RepeatClass) -> bool:
    """Say whether another try is harmless and may help."""
    return error.retryable and (error.written == "no" or repeats != "never")


def with_written(error: PunctualError, written: Written) -> PunctualError:
    """Make the error for the caller, after all tries: a read writes nothing, and an earlier try may have written something."""
    if error.written == written:
        return error
    changed = type(error)(dataclasses.replace(error.failure, written=written))
    changed.__cause__ = error.__cause__
    return changed
