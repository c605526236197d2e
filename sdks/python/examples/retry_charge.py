"""Charge a card. If the bank refuses, try again after 1, 3 and 7 days, then give up.

The timer arms itself again, and its payload remembers how often the bank has refused.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from datetime import timedelta

from punctual_client.webhooks import Again, Dead, TimerEvent, WebhookHandler

WAITS = (timedelta(days=1), timedelta(days=3), timedelta(days=7))


@dataclass(frozen=True)
class Charge:
    """The payload of the timer."""

    customer: int
    refusals: int = 0


def charge_from_json(text: str) -> Charge:
    """Read a payload."""
    return Charge(**json.loads(text))


def receive_charges(secret: str, charge: Callable[[int], bool]) -> WebhookHandler[Charge]:
    """Make the handler that asks the bank."""

    def handle(event: TimerEvent[Charge]) -> Again | None:
        if event.payload is None:
            raise Dead("the timer has no charge")
        if charge(event.payload.customer):
            return None
        refusals = event.payload.refusals + 1
        if refusals > len(WAITS):
            raise Dead(f"the bank refused {refusals} times")
        payload = asdict(replace(event.payload, refusals=refusals))
        return Again(next_delay=WAITS[refusals - 1], payload=payload)

    return WebhookHandler(secrets=secret, handle=handle, load=charge_from_json)
