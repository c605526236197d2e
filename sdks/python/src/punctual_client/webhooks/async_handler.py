"""The handler for async programs. It is an ASGI application."""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any, Generic, TypeVar, cast

from .handler import (
    USUAL_MOST_BYTES,
    USUAL_TIMEOUT,
    AsyncHandle,
    AsyncMemory,
    Handle,
    Memory,
    Receiving,
    WebhookAnswer,
    incomplete,
    too_large,
)
from .verify import USUAL_TOLERANCE, HeaderItems

P = TypeVar("P")

Message = MutableMapping[str, Any]
"""A message of ASGI."""


class AsyncWebhookHandler(Generic[P]):
    """Receives webhooks with async functions, or with plain ones that do not block.

    It is an ASGI application. In frameworks you can also await `receive` with the headers and the raw body.

    ```python
    handler = AsyncWebhookHandler(secrets=os.environ["WEBHOOK_SECRET"], handle=remind)
    app = Starlette(routes=[Route("/hooks", handler, methods=["POST"])])
    ```
    """

    def __init__(
        self,
        *,
        secrets: Sequence[str] | str = (),
        allow_unsigned: bool = False,
        handle: AsyncHandle[P] | Handle[P] | None = None,
        on: Mapping[str, AsyncHandle[P] | Handle[P]] | None = None,
        fallback: AsyncHandle[P] | Handle[P] | None = None,
        memory: AsyncMemory | Memory | None = None,
        load: Callable[[str], P] | None = None,
        tolerance: float = USUAL_TOLERANCE,
        timeout: float = USUAL_TIMEOUT,
        most_bytes: int = USUAL_MOST_BYTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Make a handler. The options are those of `WebhookHandler`."""
        self._receiving: Receiving[P] = Receiving(
            secrets=secrets,
            allow_unsigned=allow_unsigned,
            handle=handle,
            on=on,
            fallback=fallback,
            memory=memory,
            load=load,
            tolerance=tolerance,
            timeout=timeout,
            most_bytes=most_bytes,
            now=now,
        )

    async def receive(self, headers: HeaderItems, body: bytes) -> WebhookAnswer:
        """Check a webhook, call your function, and return the answer. The body must be the bytes that arrived."""
        work = self._receiving.receive(headers, body)
        result: object = None
        error: Exception | None = None
        while True:
            try:
                step = work.send(result) if error is None else work.throw(error)
            except StopIteration as end:
                return cast("WebhookAnswer", end.value)
            result, error = None, None
            try:
                result = step()
                if inspect.isawaitable(result):
                    result = await result
            except Exception as failure:  # noqa: BLE001  # The handler answers every failure.
                error = failure

    async def __call__(
        self,
        scope: Mapping[str, Any],
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer a request of ASGI."""
        if scope["type"] != "http":
            raise RuntimeError(f"a webhook handler answers HTTP, not {scope['type']}")
        pairs: Sequence[tuple[bytes, bytes]] = scope["headers"]
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in pairs}
        body = await self._body(receive)
        answer = body if isinstance(body, WebhookAnswer) else await self.receive(headers, body)
        answered = {**answer.headers, "content-length": str(len(answer.body))}
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in answered.items()]
        await send({"type": "http.response.start", "status": answer.status, "headers": raw})
        await send({"type": "http.response.body", "body": answer.body})

    async def _body(self, receive: Callable[[], Awaitable[Message]]) -> bytes | WebhookAnswer:
        """Read the whole body, or make the answer to a body that is too large or incomplete."""
        body = b""
        while True:
            message = await receive()
            if message["type"] != "http.request":
                return incomplete(len(body), None)
            piece: bytes = message.get("body", b"")
            body += piece
            if len(body) > self._receiving.most_bytes:
                return too_large()
            if not message.get("more_body", False):
                return body
