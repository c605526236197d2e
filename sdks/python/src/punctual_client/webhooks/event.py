"""What a handler gets: the timer that fires.

It comes from the envelope in the body or, for targets with `body: "payload"`, from the headers.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import unquote

from .._core.durations import instant_text
from .._core.raw_json import RawJson, parse_with_payloads
from .._core.wire import read_answer
from ..contract.shape import Shape
from ..contract.timers import Attempt

P = TypeVar("P")


@dataclass(frozen=True, kw_only=True)
class TimerEvent(Shape, Generic[P]):
    """A timer that fires (`timer.fired`), or that has died (`timer.dead`, for `on_dead` targets)."""

    type: Literal["timer.fired", "timer.dead"]
    namespace: str
    timer_id: str
    fire_id: str
    """The same on every attempt."""
    attempt: int
    """The first attempt is 1."""
    epoch: int
    execute_at: datetime
    deadline: datetime
    """When Punctual gives up this attempt."""
    tags: tuple[str, ...] = ()
    payload: P | None = None
    raw_payload: RawJson | None = None
    """The exact text of the payload; None if there is no payload."""
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """With names in lower case."""
    max_attempts: int | None = None
    """Absent with `body: "payload"`, like the next three."""
    revision: int | None = None
    fired_at: datetime | None = None
    correlation_id: str | None = None
    reason: str | None = None
    """Why the timer is dead. The next two are also about a dead timer."""
    attempts: int | None = None
    last_attempt: Attempt | None = None


def parse_event(headers: Mapping[str, str], body: bytes, deadline: datetime) -> TimerEvent[Any]:
    """Make the event of a webhook, with its payload as text only. The names of the headers are in lower case.

    Raises a ValueError if the request is none of Punctual.
    """
    text = body.decode()
    fields: dict[str, object] = {
        **_fields_of_headers(headers),
        "headers": headers,
        "deadline": instant_text(deadline),
    }
    envelope = None if text == "" else _envelope_in(text, headers)
    if envelope is None:
        payload = None if text == "" else RawJson(text)
    else:
        payload = cast("RawJson | None", envelope.pop("payload", None))
        fields |= envelope
    try:
        return read_answer(TimerEvent[Any], fields | {"rawPayload": payload})
    except (TypeError, AttributeError) as error:
        raise ValueError("the request is not a webhook of Punctual") from error


def with_payload(event: TimerEvent[Any], load: Callable[[str], P]) -> TimerEvent[P]:
    """Add the payload that the function makes of its text."""
    return event if event.raw_payload is None else replace(event, payload=load(event.raw_payload.text))


def _envelope_in(text: str, headers: Mapping[str, str]) -> dict[str, object] | None:
    """Find the envelope. It names the same fireId as the headers; anything else is a payload that only looks like one."""
    # A body that is not JSON fails here, before its payloads are cut out.
    json.loads(text, parse_int=str, parse_float=str)
    value = parse_with_payloads(text, 1, RawJson)
    if not isinstance(value, dict):
        return None
    envelope = cast("dict[str, object]", value)
    fire_id, type_ = envelope.get("fireId"), envelope.get("type")
    is_fired = type_ is not None and type_ != "timer.dead" and fire_id == headers.get("webhook-id")
    is_dead = type_ == "timer.dead" and headers.get("punctual-timer-id") == f"_dead.{fire_id}"
    return envelope if is_fired or is_dead else None


def _fields_of_headers(headers: Mapping[str, str]) -> dict[str, object]:
    at = headers.get("punctual-execute-at")
    return {
        "type": "timer.fired",
        "namespace": headers.get("punctual-namespace", ""),
        "timerId": unquote(headers.get("punctual-timer-id", "")),
        "fireId": headers.get("webhook-id", ""),
        "attempt": int(headers.get("punctual-attempt", "1")),
        "epoch": int(headers.get("punctual-epoch", "0")),
        "tags": [unquote(tag) for tag in headers.get("punctual-tags", "").split(",") if tag],
        **({} if at is None else {"executeAt": at}),
    }
