"""Requests and answers about keys, sessions, the audit trail and undeliverable messages.

The names are those of the OpenAPI document in snake case, and a test compares them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from .requests import Duration, InstantInput
from .shape import Shape

KeyAction = Literal[
    "timers.read",
    "timers.write",
    "timers.cancel",
    "payload.read",
    "dead.replay",
    "dead.discard",
    "namespaces.read",
    "namespaces.write",
    "service.read",
    "service.write",
    "clock.advance",
    "bus.read",
    "bus.write",
    "metrics.read",
    "audit.read",
    "keys.manage",
    "calls.read",
    "calls.write",
    "*",
]
"""What a key may do. `*` means everything."""


class _CreateKey(TypedDict):
    label: str


class CreateKey(_CreateKey, total=False):
    """A key to make. Give `role` or `actions`."""

    role: Literal["app", "viewer", "operator", "admin"]
    actions: Sequence[KeyAction]
    namespaces: Sequence[str]
    """Names, prefixes such as `team-*`, or `["*"]`."""
    expires_at: InstantInput
    expires_in: Duration


@dataclass(frozen=True, kw_only=True)
class Key(Shape):
    """A key without its secret."""

    id: str
    label: str
    state: Literal["active", "expired", "revoked", "unconfirmed", "unreadable"]
    actions: tuple[KeyAction, ...]
    namespaces: tuple[str, ...]
    created_at: datetime | None = None
    made_by: str | None = None
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    old_secret_until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class KeyAnswer(Shape):
    """One key."""

    key: Key


@dataclass(frozen=True, kw_only=True)
class NewKeyAnswer(KeyAnswer):
    """A new key. The service shows `api_key` only once."""

    api_key: str


@dataclass(frozen=True, kw_only=True)
class RevokeLeakedKeyAnswer(Shape):
    """What became of a leaked key."""

    result: Literal["revoked", "alreadyRevoked"]


@dataclass(frozen=True, kw_only=True)
class ConfirmKeysAnswer(Shape):
    """The ids of the keys that are confirmed now."""

    confirmed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class ListKeysAnswer(Shape):
    """One page of keys."""

    keys: tuple[Key, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class SelfAnswer(Shape):
    """Who calls, and what the caller may do."""

    name: str
    keys_required: bool
    actions: tuple[KeyAction, ...]
    namespaces: tuple[str, ...]
    key_id: str | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class SessionAnswer(Shape):
    """The session that began."""

    name: str
    ends_at: datetime


@dataclass(frozen=True, kw_only=True)
class EndSessionAnswer(Shape):
    """The session that ended."""

    result: Literal["ended"]


class ListAudit(TypedDict, total=False):
    """Which audit records to list."""

    since: InstantInput
    until: InstantInput
    action: str
    key: str
    cursor: str
    limit: int


@dataclass(frozen=True, kw_only=True)
class AuditRecord(Shape):
    """What an operator did."""

    id: str
    at: datetime
    action: str
    outcome: Literal["done", "unknown"]
    caller: str
    key_id: str | None = None
    address: str | None = None
    request_id: str | None = None
    about: Mapping[str, object] | None = None
    before: Mapping[str, object] | None = None
    after: Mapping[str, object] | None = None
    count: int | None = None


@dataclass(frozen=True, kw_only=True)
class ListAuditAnswer(Shape):
    """One page of audit records, latest first."""

    records: tuple[AuditRecord, ...]
    unreadable: int | None = None
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class MessageFailure(Shape):
    """When and why a message failed."""

    at: datetime
    error: str


@dataclass(frozen=True, kw_only=True)
class MessageHead(Shape):
    """The fields of every message of the broker that could not be handled."""

    id: str
    namespace: str
    stored_at: datetime
    reason: Literal["malformed", "refused", "deliveriesExhausted"]
    deliveries: int
    first_failure: MessageFailure
    last_failure: MessageFailure
    message_bytes: int
    group: str | None = None
    type: str | None = None
    aggregate_id: str | None = None
    message_id: str | None = None
    correlation_id: str | None = None
    is_cut: bool = False


@dataclass(frozen=True, kw_only=True)
class ListedMessage(MessageHead):
    """A message in a list."""

    preview: str


@dataclass(frozen=True, kw_only=True)
class StoredMessage(MessageHead):
    """A whole message."""

    envelope: object = None
    raw: str | None = None


@dataclass(frozen=True, kw_only=True)
class MessageAnswer(Shape):
    """One message."""

    message: StoredMessage


@dataclass(frozen=True, kw_only=True)
class ListMessagesAnswer(Shape):
    """One page of messages."""

    messages: tuple[ListedMessage, ...]
    next_cursor: str | None = None


@dataclass(frozen=True, kw_only=True)
class ReplayMessageAnswer(Shape):
    """`duplicate`: the broker has had this replay already."""

    result: Literal["replayed", "duplicate"]


@dataclass(frozen=True, kw_only=True)
class DiscardMessageAnswer(Shape):
    """The message that was removed."""

    result: Literal["discarded"]
