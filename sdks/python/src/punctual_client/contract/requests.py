"""The requests about timers.

The names are those of the OpenAPI document in snake case, and a test compares them. Each request is a `TypedDict`: the
methods take its fields as keyword arguments. A field that is absent is not sent. `None` is sent as null.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal, TypedDict

Duration = str | timedelta
"""A `timedelta`, or text: `250ms`, `90s`, `1h30m`, `7d`, or ISO 8601 (`PT90S`). There are no months and no years."""

InstantInput = datetime | str
"""A `datetime` with a time zone, or ISO 8601 with an offset, such as `2030-01-15T09:00:00Z`."""

ListState = Literal["pending", "delivered", "cancelled", "dead"]
"""The states of lists. `pending` includes timers in flight."""

WebhookMethod = Literal["POST", "PUT", "PATCH", "GET", "DELETE"]
"""The HTTP method of a webhook."""

FinishReason = Literal[
    "attemptsExhausted",
    "durationExhausted",
    "expired",
    "refused",
    "egressRefused",
    "invalidTarget",
    "notDead",
]
"""Why a timer is dead, or was cancelled without a call."""


class _WebhookTargetInput(TypedDict):
    type: Literal["webhook"]
    url: str


class WebhookTargetInput(_WebhookTargetInput, total=False):
    """A webhook with all its options."""

    method: WebhookMethod
    """POST when left out."""
    headers: Mapping[str, str]
    timeout: Duration
    """How long the receiver may take to answer; 15 s when left out."""
    body: Literal["envelope", "payload"]
    """`payload` sends the payload alone, for endpoints that you cannot change."""


class EventTargetInput(TypedDict):
    """An event on the message bus."""

    type: Literal["event"]


TargetInput = WebhookTargetInput | EventTargetInput
"""Where a timer is delivered."""

OnDead = WebhookTargetInput | EventTargetInput
"""Who is called when a timer is dead."""


class RetryPolicyInput(TypedDict, total=False):
    """When to try again after a failed attempt. Give `waits`, or the other fields."""

    max_attempts: int
    initial_interval: Duration
    backoff_multiplier: float
    max_interval: Duration
    jitter: float
    """The part of each wait that is random, from 0 to 1."""
    max_duration: Duration
    waits: Sequence[Duration]
    """The exact waits between attempts."""


class CreateTimer(TypedDict, total=False):
    """A timer to create. Give one of `execute_at` and `delay`, and one of `callback_url` and `target`."""

    namespace: str
    """The client's namespace when left out."""
    timer_id: str
    """Your id of the timer. The client makes a UUID v7 when left out, so that it can repeat the call."""
    execute_at: InstantInput
    delay: Duration
    """The client sends it as `execute_at`, so that a repeat does not move the timer."""
    callback_url: str
    """Short for a webhook with the defaults."""
    target: TargetInput
    payload: object
    """Any JSON, or a `RawJson` with its exact text."""
    retry_policy: RetryPolicyInput
    expire_after: Duration
    """If the first attempt has not started this long after `execute_at`, the timer is dead."""
    on_expire: Literal["dead", "drop"]
    """What happens then: `dead` when left out."""
    on_dead: OnDead
    correlation_id: str
    tags: Sequence[str]
    traceparent: str
    """The trace (W3C Trace Context) that the webhook continues."""
    on_existing: Literal["replace", "keep", "fail"]
    """What to do if a timer with this id is pending: `replace` when left out."""


class UpdateTimer(TypedDict, total=False):
    """The fields of a timer to change. A field that is absent stays as it is; `None` clears it."""

    namespace: str
    execute_at: InstantInput
    delay: Duration
    callback_url: str
    target: TargetInput
    payload: object
    retry_policy: RetryPolicyInput | None
    expire_after: Duration | None
    on_expire: Literal["dead", "drop"]
    on_dead: OnDead | None
    correlation_id: str
    tags: Sequence[str] | None
    if_revision: int
    """Change the timer only if it still has this revision."""


class TimerFilter(TypedDict, total=False):
    """Selects timers. All fields that are given must match."""

    from_: InstantInput
    """Inclusive: by due time if pending, by finish time if finished."""
    until: InstantInput
    """Exclusive."""
    id_prefix: str
    correlation_id: str
    tag: str
    host: str
    """Webhooks to this host: `example.com`, or `example.com:8443`."""
    reason: FinishReason
    error: Literal["timeout", "network", "4xx", "5xx"]
    """How the last attempt failed."""
    min_lateness: Duration
    """Deliveries that were at least this late, and timers that are overdue by at least this."""


class NamespaceScope(TypedDict, total=False):
    """The namespaces that a call looks at."""

    namespace: str
    namespaces: Sequence[str]
    """Up to 20 names or prefixes such as `team-*`, or `["*"]`."""


class CountTimers(NamespaceScope, TimerFilter, total=False):
    """Which timers to count. `state` is `pending` when left out."""

    state: ListState
    states: Sequence[ListState]


class ListTimers(CountTimers, total=False):
    """Which timers to list, and how."""

    order: Literal["asc", "desc"]
    include: Sequence[Literal["payload"]]
    cursor: str
    """Where to begin: the `next_cursor` of an earlier page."""
    limit: int
    """The size of a page, at most 1,000; 100 when left out."""


class HistogramFilter(CountTimers, total=False):
    """The timers of a histogram. It needs `from_` and `until`."""


class GetActivity(TypedDict, total=False):
    """What happened over time."""

    namespaces: Sequence[str]
    by: Literal["namespace", "host"]


class DeleteManyTimers(TypedDict, total=False):
    """Which pending timers to cancel: `filter`, or `all=True`."""

    namespace: str
    filter: TimerFilter
    all: Literal[True]
    cursor: str


class ReplayTimers(DeleteManyTimers, total=False):
    """Which dead letters to replay: one of `timer_id`, `filter` and `all=True`."""

    timer_id: str
    dry_run: bool
    """Only count, and change nothing."""


class DiscardTimers(ReplayTimers, total=False):
    """Which dead letters to remove: one of `timer_id`, `filter` and `all=True`."""

    reason: str
    """Why, in the audit log."""
