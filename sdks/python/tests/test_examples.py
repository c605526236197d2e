"""The example programs, against the real service with a manual clock. pytest also runs the fourth, which is a test itself."""

from __future__ import annotations

import asyncio
import base64
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import date, timedelta
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from debounce import document_changed
from needed import needs
from punctual_client.testing import TestService, signed_request
from punctual_client.webhooks import WebhookHandler
from remind import receive_reminders
from retry_charge import Charge, charge_from_json, receive_charges

SECRET = "whsec_" + base64.b64encode(b"a secret of thirty-two bytes ...").decode()


class Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Print nothing."""


@contextmanager
def served(application: WebhookHandler[Any]) -> Generator[str, None, None]:
    with make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def test_remind_mails_the_customer_of_a_signed_reminder() -> None:
    mailed: list[int] = []
    handler = receive_reminders(SECRET, mailed.append)
    assert handler.receive(*signed_request(secret=SECRET, payload={"invoice": 7})).status == 200
    assert handler.receive(*signed_request(payload={"invoice": 8})).status == 401
    assert mailed == [7]


@needs("PUNCTUAL_EXECUTABLE")
def test_retry_charge_asks_the_bank_after_1_3_and_7_days_and_then_the_timer_is_dead() -> None:
    asked: list[date] = []

    def charge(customer: int) -> bool:
        assert customer == 42
        asked.append(service.now().date())
        return False

    with TestService() as service, served(receive_charges(SECRET, charge)) as url:
        service.punctual.namespaces.put(webhook_secrets=[SECRET])
        timers = service.punctual.timers.with_payloads(charge_from_json)
        timers.create(timer_id="charge-42", delay="1s", callback_url=url, payload=asdict(Charge(42)))
        service.advance("30d")
        timer = timers.get("charge-42")
    assert [day - asked[0] for day in asked] == [timedelta(days=days) for days in (0, 1, 4, 11)]
    assert (timer.state, timer.reason, timer.payload) == ("dead", "refused", Charge(42, refusals=3))
    assert timer.last_attempt is not None
    assert "the bank refused 4 times" in (timer.last_attempt.answer or "")


@needs("PUNCTUAL_EXECUTABLE")
def test_debounce_saves_the_document_once_5_s_after_the_last_change() -> None:
    with TestService() as service:
        receiver = service.receiver()

        async def change() -> None:
            async with service.async_client() as punctual:
                for _ in range(5):
                    await document_changed(punctual, "a", receiver.url)
                    await asyncio.to_thread(service.advance, "4s")

        asyncio.run(change())
        assert receiver.deliveries == []
        service.advance("1s")
        assert [delivery.payload for delivery in receiver.deliveries] == [{"document": "a"}]
