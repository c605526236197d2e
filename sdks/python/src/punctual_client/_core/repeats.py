"""Which calls the client repeats by itself.

A repeat must be harmless even if the first request was carried out, so the answer depends on the call and on its
fields. `sdks/conformance/retries.json` has the same table for all languages, and a test compares the two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, cast

Fields = Mapping[str, object]
"""The fields of a request, as they are sent."""

RepeatClass = Literal["read", "same", "never"]
"""`read`: changes nothing. `same`: a repeat has the same effect as one request. `never`: a repeat could do more than
one request, so the client repeats it only if nothing of the first request was carried out."""


@dataclass(frozen=True)
class When:
    """The fields, or their values, that make a call `same` or `read`. Without them it is `never`."""

    repeats: Literal["read", "same"]
    has: Sequence[str] | Fields
    lacks: Fields | None = None


@dataclass(frozen=True)
class EachLike:
    """The call is `same` if each item of this field would be `same` as a request of that operation."""

    items: str
    like: str


RepeatRule = RepeatClass | When | EachLike

REPEAT_RULES: Final[Mapping[str, RepeatRule]] = {
    "timers.create": When("same", ("timerId", "executeAt"), {"onExisting": "fail"}),
    "timers.createMany": EachLike("timers", "timers.create"),
    "timers.get": "read",
    "timers.update": When("same", ("ifRevision",)),
    "timers.delete": "same",
    "timers.deleteMany": "never",
    "timers.list": "read",
    "timers.count": "read",
    "timers.histogram": "read",
    "timers.lives": "read",
    "timers.activity": "read",
    "timers.replay": When("read", {"dryRun": True}),
    "timers.discard": When("read", {"dryRun": True}),
    "bulk.start": "never",
    "bulk.get": "read",
    "bulk.list": "read",
    "bulk.abort": "same",
    "cluster.cluster": "read",
    "clock.advance": When("same", ("to",)),
    "namespaces.put": "same",
    "namespaces.get": "read",
    "namespaces.list": "read",
    "service.get": "read",
    "service.pause": "same",
    "service.resume": "same",
    "breakers.list": "read",
    "breakers.reset": "same",
    "egress.check": "read",
    "messages.list": "read",
    "messages.get": "read",
    "messages.replay": "never",
    "messages.discard": "never",
    "keys.create": "never",
    "keys.rotate": "never",
    "keys.revoke": "same",
    "keys.revokeLeaked": "same",
    "keys.confirm": "same",
    "keys.get": "read",
    "keys.list": "read",
    "keys.self": "read",
    "sessions.create": "never",
    "sessions.end": "same",
    "audit.list": "read",
    "events.stream": "read",
}
"""By the id of the operation in the OpenAPI document."""


def repeat_class_of(operation: str, fields: Fields) -> RepeatClass:
    """Say how a call may be repeated. Calls that this version does not know are never repeated after an unknown outcome."""
    rule = REPEAT_RULES.get(operation, "never")
    if isinstance(rule, EachLike):
        items = cast("Sequence[Fields]", fields.get(rule.items, ()))
        return "same" if all(repeat_class_of(rule.like, item) == "same" for item in items) else "never"
    if not isinstance(rule, When):
        return rule
    has_all = (
        _matches(fields, rule.has)
        if isinstance(rule.has, Mapping)
        else all(fields.get(name) is not None for name in rule.has)
    )
    is_excluded = rule.lacks is not None and _matches(fields, rule.lacks)
    return rule.repeats if has_all and not is_excluded else "never"


def _matches(fields: Fields, wanted: Fields) -> bool:
    return all(fields.get(name) == value for name, value in wanted.items())


FIRST_WAIT_MS: Final = 250
MULTIPLIER: Final = 2
MOST_GROWN_MS: Final = 8_000
"""The waits do not grow beyond this."""
JITTER: Final = 0.5
"""The part of each wait that is random."""
LONGEST_WAIT_MS: Final = 60_000
"""If the service asks for a longer wait, the call fails instead, and `retry_after` says how long."""


def wait_ms_before(retry: int, retry_after: float | None, random: float) -> int | None:
    """Give the wait before the next try; None if it would be too long. `random` is from 0 to 1."""
    grown_ms = min(FIRST_WAIT_MS * MULTIPLIER ** (retry - 1), MOST_GROWN_MS)
    own_ms = grown_ms * (1 - JITTER * random)
    wait_ms = round(max(own_ms, (retry_after or 0) * 1_000))
    return wait_ms if wait_ms <= LONGEST_WAIT_MS else None
