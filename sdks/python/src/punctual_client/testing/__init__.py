"""Help for tests: a real service with a manual clock, a receiver that records, and signed requests."""

from .receiver import Delivery, Reply, TestReceiver
from .service import TestService
from .signed_request import SignedRequest, signed_request

__all__ = ["Delivery", "Reply", "SignedRequest", "TestReceiver", "TestService", "signed_request"]
