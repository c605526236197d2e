"""Requests and answers of the calls for operators. The names are those of the OpenAPI document, and a test compares them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypedDict

from .requests import FinishReason, NamespaceScope, OnDead, RetryPolicyInput, TimerFilter
from .shape import Shape
from .timers import EventTarget, RetryPolicy, RetryWaits, WebhookTarget

BulkDeed = Literal["replay", "discard", "cancel"]
"""What a job does with the timers."""


class BulkFilterInput(NamespaceScope, TimerFilter, total=False):
    """The timers of a job. Without other fields: all timers of the namespaces."""


class _StartBulk(TypedDict):
    do: BulkDeed
    filter: BulkFilterInput
    reason: str
    expect: int


class StartBulk(_StartBulk, total=False):
    """A job to start: what it does, with which timers, and why (for the audit trail).

    `expect` is the count of the same filter. If over 10 % more timers match, the job does not start.
    """

    per_second: int
    """How many timers in a second: 500 when left out, at most 5,000."""


@dataclass(frozen=True, kw_only=True)
class BulkFilter(Shape):
    """The filter of a job, as it was given."""

    namespace: str | None = None
    namespaces: tuple[str, ...] | None = None
    from_: datetime | None = None
    until: datetime | None = None
    id_prefix: str | None = None
    correlation_id: str | None = None
    tag: str | None = None
    host: str | None = None
    reason: FinishReason | None = None
    error: Literal["timeout", "network", "4xx", "5xx"] | None = None
    min_lateness: timedelta | None = None


@dataclass(frozen=True, kw_only=True)
class BulkDone(Shape):
    """What a job has done so far."""

    replayed: int | None = None
    discarded: int | None = None
    cancelled: int | None = None
    in_flight: int | None = None
    skipped: int | None = None


@dataclass(frozen=True, kw_only=True)
class BulkStarter(Shape):
    """Who started a job."""

    caller: str
    key_id: str | None = None


@dataclass(frozen=True, kw_only=True)
class BulkJob(Shape):
    """A job on many timers."""

    job_id: str
    do: BulkDeed
    filter: BulkFilter
    reason: str
    per_second: int
    expect: int
    state: Literal["running", "done", "aborted", "failed"]
    started_by: BulkStarter
    started_at: datetime
    done: BulkDone
    examined: int
    capped: bool = False
    finished_at: datetime | None = None
    problem: str | None = None
    """Why the job failed; or, while it runs, why it waits."""


@dataclass(frozen=True, kw_only=True)
class BulkAnswer(Shape):
    """One job."""

    job: BulkJob


@dataclass(frozen=True, kw_only=True)
class ListBulkAnswer(Shape):
    """One page of jobs, newest first."""

    jobs: tuple[BulkJob, ...]
    next_cursor: str | None = None


class KeptSecret(TypedDict):
    """A secret that stays, by its fingerprint."""

    fingerprint: str


class PutNamespace(TypedDict, total=False):
    """Settings to change. A field that is absent stays as it is; `None` sets it back to its default."""

    webhook_secrets: Sequence[str | KeptSecret] | None
    """At most two: new ones, or some that stay."""
    retry_policy: RetryPolicyInput | None
    on_dead: OnDead | None
    max_in_flight: int | None
    max_pending: int | None
    creates_per_second: int | None
    paused: bool | None
    pause_reason: str
    """Why firing stops. It needs `paused=True`."""


@dataclass(frozen=True, kw_only=True)
class SecretFingerprint(Shape):
    """A secret, as answers show it."""

    fingerprint: str


@dataclass(frozen=True, kw_only=True)
class NamespaceSettings(Shape):
    """The settings of a namespace."""

    namespace: str
    webhook_secrets: tuple[SecretFingerprint, ...]
    paused: bool
    retry_policy: RetryPolicy | RetryWaits | None = None
    on_dead: WebhookTarget | EventTarget | None = None
    max_in_flight: int | None = None
    max_pending: int | None = None
    creates_per_second: int | None = None
    paused_since: datetime | None = None
    pause_reason: str | None = None
    updated_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class CappedCount(Shape):
    """A count with a limit."""

    count: int
    capped: bool


@dataclass(frozen=True, kw_only=True)
class NamespaceView(NamespaceSettings):
    """The settings of a namespace, and how many timers it has."""

    pending: CappedCount
    dead: CappedCount


@dataclass(frozen=True, kw_only=True)
class MadeSealingKey(Shape):
    """The service made a key to seal secrets with. Back up the file."""

    file: str


@dataclass(frozen=True, kw_only=True)
class PutNamespaceAnswer(Shape):
    """The settings after the change."""

    settings: NamespaceSettings
    made_sealing_key: MadeSealingKey | None = None


@dataclass(frozen=True, kw_only=True)
class NamespaceAnswer(Shape):
    """One namespace."""

    settings: NamespaceView


@dataclass(frozen=True, kw_only=True)
class ListNamespacesAnswer(Shape):
    """One page of namespaces, by name."""

    namespaces: tuple[NamespaceView, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class Pause(Shape):
    """Since when firing is paused, and why."""

    since: datetime
    kind: Literal["asked", "restored"]
    reason: str | None = None


@dataclass(frozen=True, kw_only=True)
class ServiceBuild(Shape):
    """The program that answers."""

    version: str
    commit: str | None = None
    built_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SettingInForce(Shape):
    """A setting in force."""

    name: str
    value: str
    is_set: bool


@dataclass(frozen=True, kw_only=True)
class ServiceAnswer(Shape):
    """The service: its time, its pause, its program."""

    now: datetime
    pause: Pause | None = None
    build: ServiceBuild | None = None
    settings: tuple[SettingInForce, ...] | None = None


@dataclass(frozen=True, kw_only=True)
class Breaker(Shape):
    """A host that failed too often in a row."""

    host: str
    namespace: str
    failures: int
    waiting: int
    probe_in_ms: float


@dataclass(frozen=True, kw_only=True)
class ListBreakersAnswer(Shape):
    """The open breakers of the node that answers."""

    node: str
    breakers: tuple[Breaker, ...]
    more: bool = False


@dataclass(frozen=True, kw_only=True)
class ResetBreakersAnswer(Shape):
    """How many breakers were closed."""

    node: str
    reset: int


@dataclass(frozen=True, kw_only=True)
class JudgedAddress(Shape):
    """Whether the service may call one address."""

    address: str
    allowed: bool
    entry: str | None = None


@dataclass(frozen=True, kw_only=True)
class CheckEgressAnswer(Shape):
    """Whether the service may call a URL, and why."""

    allowed: bool
    verdict: Literal["allowed", "refused", "unknown"]
    reason: str
    addresses: tuple[JudgedAddress, ...]
    entry: str | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterNode(Shape):
    """One node of the cluster."""

    node: str
    address: str
    is_live: bool
    is_leaving: bool
    heartbeat_age_ms: float
    shards: int


@dataclass(frozen=True, kw_only=True)
class ClusterShard(Shape):
    """One shard, and who fires it."""

    shard: int
    epoch: int
    owner: str | None = None
    lag_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class ClusterAnswer(Shape):
    """The nodes and shards, as the node that answers sees them."""

    node: str
    nodes: tuple[ClusterNode, ...]
    shards: tuple[ClusterShard, ...]
    clock_offset_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class AdvanceClockAnswer(Shape):
    """The new time, and how many timers fired on the way."""

    now: datetime
    fired: int
    more: bool = False


@dataclass(frozen=True, kw_only=True)
class StreamEvent:
    """One event of the stream."""

    type: str
    """`created`, `changed`, `cancelled`, `replayed`, `started`, `delivered`, `retried`, `dead`, `skipped`, `gap`, `nodes`."""
    id: str | None = None
    """Send it as `last_event_id` to continue here."""
    data: Mapping[str, object] | None = None
    """`namespace`, `timerId`, `fireId`, `at` and `state` for events of timers."""
