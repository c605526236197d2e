"""Two weeks in a test: the real service, with a clock that only the test moves."""

from punctual_client.testing import TestService
from remind import invoice_paid, invoice_sent


def test_a_customer_who_does_not_pay_gets_one_reminder_and_one_who_pays_gets_none(
    punctual_service: TestService,
) -> None:
    """The fixture comes with the package."""
    receiver = punctual_service.receiver()
    punctual = punctual_service.punctual
    invoice_sent(punctual, 1, receiver.url)
    invoice_sent(punctual, 2, receiver.url)

    punctual_service.advance("10d")
    assert not invoice_paid(punctual, 2)
    punctual_service.advance("4d")

    assert [delivery.payload for delivery in receiver.deliveries] == [{"invoice": 1}]
    assert invoice_paid(punctual, 1)
