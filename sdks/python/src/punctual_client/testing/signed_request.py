"""Signed requests for tests of handlers, without a service."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple
from urllib.parse import quote

from .._core.durations import instant_of_ms, instant_text
from .._core.new_timer_id import new_timer_id
from .._core.raw_json import json_text
from ..webhooks.verify import sign_webhook

_ABSENT = object()


class SignedRequest(NamedTuple):
    """A request as Punctual sends it: `handler.receive(*request)`."""

    headers: dict[str, str]
    body: bytes


def signed_request(
    *,
    secret: str | None = None,
    payload: object = _ABSENT,
    namespace: str = "test",
    timer_id: str = "timer-1",
    fire_id: str | None = None,
    attempt: int = 1,
    execute_at: datetime | None = None,
    tags: Sequence[str] = (),
    correlation_id: str = "test",
) -> SignedRequest:
    """Make a request as Punctual sends it. Without the secret of the handler it is not signed."""
    now_ms = round(time.time() * 1_000)
    now = instant_text(instant_of_ms(now_ms))
    id_ = fire_id or new_timer_id(now_ms)
    at = now if execute_at is None else instant_text(execute_at)
    event = {
        "type": "timer.fired",
        "namespace": namespace,
        "timerId": timer_id,
        "fireId": id_,
        "attempt": attempt,
        "maxAttempts": 10,
        "epoch": 1,
        "revision": now_ms,
        "executeAt": at,
        "firedAt": now,
        "correlationId": correlation_id,
        **({"tags": list(tags)} if tags else {}),
        **({} if payload is _ABSENT else {"payload": payload}),
    }
    body = json_text(event).encode()
    timestamp = now_ms // 1_000
    signed = {} if secret is None else {"webhook-signature": sign_webhook(id_, timestamp, body, secret)}
    headers = {
        "content-type": "application/json",
        "webhook-id": id_,
        "webhook-timestamp": str(timestamp),
        **signed,
        "punctual-namespace": namespace,
        "punctual-timer-id": quote(timer_id, safe=""),
        "punctual-execute-at": at,
        "punctual-attempt": str(attempt),
        "punctual-epoch": "1",
        **({"punctual-tags": ",".join(quote(tag, safe="") for tag in tags)} if tags else {}),
    }
    return SignedRequest(headers, body)
