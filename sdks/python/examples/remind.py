"""Remind a customer 14 days after an invoice, and cancel the reminder when the invoice is paid."""

from collections.abc import Callable
from typing import TypedDict

from punctual_client import Punctual
from punctual_client.webhooks import TimerEvent, WebhookHandler


class Reminder(TypedDict):
    """The payload of the timer."""

    invoice: int


def invoice_sent(punctual: Punctual, invoice: int, callback_url: str) -> None:
    """Set the reminder."""
    payload: Reminder = {"invoice": invoice}
    punctual.timers.create(timer_id=f"remind-{invoice}", delay="14d", callback_url=callback_url, payload=payload)


def invoice_paid(punctual: Punctual, invoice: int) -> bool:
    """Cancel the reminder. True: the customer got, or gets, a reminder although the invoice is paid."""
    answer = punctual.timers.cancel(f"remind-{invoice}")
    return answer.result in {"inFlight", "alreadyDelivered"}


def receive_reminders(secret: str, mail: Callable[[int], None]) -> WebhookHandler[Reminder]:
    """Make the handler that mails the customer. It is a WSGI application."""

    def remind(event: TimerEvent[Reminder]) -> None:
        if event.payload is not None:
            mail(event.payload["invoice"])

    return WebhookHandler(secrets=secret, handle=remind)
