"""The answers about timers.

The names are those of the OpenAPI document in snake case, and a test compares them. Instants are `datetime` in UTC,
durations are `timedelta`. An optional field that the answer does not have is `None`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Generic, Literal, TypeVar

from .problems import ProblemDocument
from .requests import WebhookMethod
from .shape import Shape

P = TypeVar("P")

TimerState = Literal["pending", "inFlight", "delivered", "cancelled", "dead"]
"""What a timer does now, or how it ended. A newer service may answer other texts."""


@dataclass(frozen=True, kw_only=True)
class WebhookTarget(Shape):
    """The complete webhook of a timer."""

    type: Literal["webhook"]
    url: str
    method: WebhookMethod
    timeout: timedelta
    body: Literal["envelope", "payload"]
    headers: Mapping[str, str] | None = None


@dataclass(frozen=True, kw_only=True)
class EventTarget(Shape):
    """An event on the message bus."""

    type: Literal["event"]


@dataclass(frozen=True, kw_only=True)
class HandlerTarget(Shape):
    """A function of the program that runs the engine."""

    type: Literal["handler"]


@dataclass(frozen=True, kw_only=True)
class RetryPolicy(Shape):
    """Waits that grow."""

    max_attempts: int
    initial_interval: timedelta
    backoff_multiplier: float
    max_interval: timedelta
    jitter: float
    max_duration: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class RetryWaits(Shape):
    """Waits that are listed."""

    waits: tuple[timedelta, ...]
    max_duration: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class Attempt(Shape):
    """One attempt to deliver a timer."""

    at: datetime
    duration_ms: float
    status: int | None = None
    error: str | None = None
    answer: str | None = None
    """The first bytes of the receiver's answer to a failed attempt."""


@dataclass(frozen=True, kw_only=True)
class Waiting(Shape):
    """Why a due timer has not started."""

    reason: Literal["paused", "servicePaused", "breaker", "congested", "egressRefused", "noSubscriber", "sealed"]
    since: datetime
    detail: str


@dataclass(frozen=True, kw_only=True)
class Timer(Shape, Generic[P]):
    """A timer, pending or finished."""

    namespace: str
    timer_id: str
    state: TimerState
    revision: int
    """Grows each time a timer with this id is armed. Send it as `if_revision`."""
    fire_id: str
    """New each time the timer is armed, and the same on all attempts."""
    execute_at: datetime
    attempts: int
    target: WebhookTarget | EventTarget | HandlerTarget
    retry_policy: RetryPolicy | RetryWaits
    correlation_id: str
    created_at: datetime
    updated_at: datetime
    fire_at: datetime | None = None
    """When the next attempt is due."""
    waiting: Waiting | None = None
    attempt_started_at: datetime | None = None
    last_attempt: Attempt | None = None
    attempt_log: tuple[Attempt, ...] | None = None
    payload: P | None = None
    """Absent once the timer was delivered or cancelled."""
    expire_after: timedelta | None = None
    on_expire: Literal["dead", "drop"] | None = None
    on_dead: WebhookTarget | EventTarget | None = None
    tags: tuple[str, ...] = ()
    traceparent: str | None = None
    finished_at: datetime | None = None
    lateness_ms: float | None = None
    """How late the successful attempt was."""
    reason: str | None = None


CreateResult = Literal["created", "replaced", "unchanged", "alreadyFinished"]
"""`unchanged` and `alreadyFinished`: nothing changed."""


@dataclass(frozen=True, kw_only=True)
class CreateTimerAnswer(Shape, Generic[P]):
    """The timer, and what the create did."""

    result: CreateResult
    timer: Timer[P]
    warnings: tuple[str, ...] = ()
    """Sentences for people."""


@dataclass(frozen=True, kw_only=True)
class CreatedItem(Shape):
    """A timer of `create_many` that the service accepted."""

    result: CreateResult
    timer_id: str
    revision: int
    fire_id: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class FailedItem(Shape):
    """A timer of `create_many` that the service refused."""

    problem: ProblemDocument


@dataclass(frozen=True, kw_only=True)
class CreateManyTimersAnswer(Shape):
    """For each timer of the request, in its order, its result or its problem."""

    results: tuple[CreatedItem | FailedItem, ...]


@dataclass(frozen=True, kw_only=True)
class TimerAnswer(Shape, Generic[P]):
    """One timer."""

    timer: Timer[P]


@dataclass(frozen=True, kw_only=True)
class UpdateTimerAnswer(Shape, Generic[P]):
    """The timer after the change."""

    timer: Timer[P]
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DeleteTimerAnswer(Shape):
    """What a cancel did. `inFlight`: one attempt runs and cannot be stopped; no other follows."""

    result: Literal["cancelled", "inFlight", "alreadyDelivered", "alreadyCancelled", "alreadyDead"]


@dataclass(frozen=True, kw_only=True)
class PartlyDone(Shape):
    """One call does a limited part. Repeat it while there is `more`, with `next_cursor` as `cursor`."""

    more: bool = False
    next_cursor: str | None = None
    examined: int | None = None


@dataclass(frozen=True, kw_only=True)
class DeleteManyTimersAnswer(PartlyDone):
    """How many timers the call cancelled, and how many were in flight."""

    cancelled: int
    in_flight: int


@dataclass(frozen=True, kw_only=True)
class ReplayTimersAnswer(PartlyDone):
    """How many dead letters the call replayed. Skipped: a timer with the same id is pending."""

    replayed: int
    skipped: int


@dataclass(frozen=True, kw_only=True)
class DiscardTimersAnswer(PartlyDone):
    """How many dead letters the call removed."""

    discarded: int


@dataclass(frozen=True, kw_only=True)
class ListTimersAnswer(Shape, Generic[P]):
    """One page of timers."""

    timers: tuple[Timer[P], ...]
    next_cursor: str | None = None
    examined: int | None = None


@dataclass(frozen=True, kw_only=True)
class ListLivesAnswer(Shape, Generic[P]):
    """One page of the lives of a timer id, latest first."""

    lives: tuple[Timer[P], ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class CountTimersAnswer(Shape):
    """How many timers match. If `capped`, there are at least this many."""

    count: int
    capped: bool
    examined: int | None = None


@dataclass(frozen=True, kw_only=True)
class TimerHistogramAnswer(Shape):
    """How many timers there are in each part of the span."""

    from_: datetime
    until: datetime
    counts: tuple[int, ...]
    total: int
    estimated: bool
    as_of: datetime
    capped: bool = False
    counted_until: datetime | None = None
    examined: int | None = None
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ActivityPoint(Shape):
    """What happened in one step."""

    at: datetime
    created: int
    delivered: int
    retried: int
    dead: int
    cancelled: int
    lateness: tuple[int, ...] | None = None
    """How many first attempts were this late, by the bounds in `lateness_up_to_ms`."""


@dataclass(frozen=True, kw_only=True)
class LatenessPoint(Shape):
    """The lateness in one step."""

    at: datetime
    lateness: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class ActivitySeries(Shape):
    """The lateness of one namespace or host."""

    name: str
    points: tuple[LatenessPoint, ...]


@dataclass(frozen=True, kw_only=True)
class ActivityAnswer(Shape):
    """How much happened in each step."""

    from_: datetime
    until: datetime
    step: timedelta
    lateness_up_to_ms: tuple[int, ...]
    points: tuple[ActivityPoint, ...]
    missing: tuple[str, ...]
    series: tuple[ActivitySeries, ...] | None = None
    partial: bool = False
