"""Requests that the client does not send."""

from __future__ import annotations

from ..errors import Failure, InvalidRequestError


def refused_here(field: str, detail: str) -> InvalidRequestError:
    """Make the error of a request that the client refuses to send."""
    return InvalidRequestError(
        Failure(code="invalidRequest", message=f"{field} {detail}", written="no", retryable=False)
    )
