"""Signatures of webhooks (Standard Webhooks 1.0), over the bytes of the body.

Checking and parsing are separate: a body need not be text, and text that was parsed and written again has another
signature.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import time
from collections.abc import Iterable, Sequence
from typing import Final, Literal, Protocol

Finding = Literal["wrong", "missing", "tooOld", "tooNew"]
"""What is wrong with a signature. `tooOld` and `tooNew`: the signature is right, but its time is not."""


class SignatureError(Exception):
    """A webhook is not signed as it must be. Answer it with 401, and do nothing else."""

    def __init__(self, finding: Finding) -> None:
        """Say what is wrong."""
        super().__init__(finding)
        self.finding: Finding = finding

    def __str__(self) -> str:
        """Say what is wrong, for people."""
        return f"the signature is {self.finding}"


class HeaderItems(Protocol):
    """Headers: a mapping, or what frameworks have in its place."""

    def items(self) -> Iterable[tuple[str, str]]:
        """List names and values."""
        ...


USUAL_TOLERANCE: Final = 300.0
"""Five minutes, as Standard Webhooks recommends."""

_MOST_SIGNATURES: Final = 20
_SECRET_BYTES: Final = range(24, 65)
_TIMESTAMP = re.compile("[0-9]{1,15}")


def verify_webhook(
    headers: HeaderItems,
    body: bytes,
    secrets: Sequence[str] | str,
    *,
    tolerance: float = USUAL_TOLERANCE,
    now: float | None = None,
) -> None:
    """Check the signature of a webhook: it returns if the signature is right, and raises a `SignatureError` if not.

    It does not look into the body.

    Args:
        headers: The headers of the request, in any case.
        body: The body exactly as it arrived.
        secrets: One secret such as `whsec_…`, or several: one of them must have signed. During a change give both.
        tolerance: The largest difference between the clocks, in seconds.
        now: The time to compare with, in seconds since 1970; now when left out.

    """
    lower = {name.lower(): value for name, value in headers.items()}
    id_, timestamp, given = (lower.get(f"webhook-{name}") for name in ("id", "timestamp", "signature"))
    if id_ is None or timestamp is None or given is None:
        raise SignatureError("missing")
    if _TIMESTAMP.fullmatch(timestamp) is None:
        raise SignatureError("wrong")
    parts = given.split(" ")[:_MOST_SIGNATURES]
    signatures = [_bytes_of_base64(part[3:]) for part in parts if part.startswith("v1,")]
    expected = [_signature(id_, timestamp, body, secret) for secret in listed(secrets)]
    if not any(
        hmac.compare_digest(signature, right) for right in expected for signature in signatures if signature is not None
    ):
        raise SignatureError("wrong")
    # The age counts only with a right signature: without one, anyone could have written the time.
    age = (time.time() if now is None else now) - int(timestamp)
    if age > tolerance:
        raise SignatureError("tooOld")
    if age < -tolerance:
        raise SignatureError("tooNew")


def listed(secrets: Sequence[str] | str) -> Sequence[str]:
    """Make a list of one secret or several."""
    return [secrets] if isinstance(secrets, str) else secrets


def sign_webhook(id: str, timestamp: int, body: bytes, secret: str) -> str:  # noqa: A002
    """Make the value of `webhook-signature` for a body, as the service writes it. For tests."""
    return "v1," + base64.b64encode(_signature(id, str(timestamp), body, secret)).decode()


def secret_bytes(secret: str) -> bytes:
    """Return the bytes of a secret. Raises a ValueError if the text is not a secret; the message does not contain it."""
    found = _bytes_of_base64(secret.removeprefix("whsec_")) if secret.startswith("whsec_") else None
    if found is None or len(found) not in _SECRET_BYTES:
        raise ValueError("a webhook secret must be whsec_ followed by 24 to 64 bytes in base64")
    return found


def _signature(id_: str, timestamp: str, body: bytes, secret: str) -> bytes:
    content = f"{id_}.{timestamp}.".encode("utf-8", "surrogateescape") + body
    return hmac.digest(secret_bytes(secret), content, hashlib.sha256)


def _bytes_of_base64(text: str) -> bytes | None:
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        return None
