"""Receive webhooks: handlers that own the body, and signatures over bytes."""

from .._core.raw_json import RawJson
from .async_handler import AsyncWebhookHandler
from .event import TimerEvent
from .handler import Again, AsyncHandle, AsyncMemory, Dead, Handle, Memory, Retry, WebhookAnswer
from .sync_handler import WebhookHandler
from .verify import Finding, HeaderItems, SignatureError, sign_webhook, verify_webhook

__all__ = [
    "Again",
    "AsyncHandle",
    "AsyncMemory",
    "AsyncWebhookHandler",
    "Dead",
    "Finding",
    "Handle",
    "HeaderItems",
    "Memory",
    "RawJson",
    "Retry",
    "SignatureError",
    "TimerEvent",
    "WebhookAnswer",
    "WebhookHandler",
    "sign_webhook",
    "verify_webhook",
]
