"""The handler for sync programs. It is a WSGI application."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, Generic, Protocol, TypeVar, cast

from .handler import (
    USUAL_MOST_BYTES,
    USUAL_TIMEOUT,
    Handle,
    Memory,
    Receiving,
    WebhookAnswer,
    incomplete,
    plain,
    too_large,
)
from .verify import USUAL_TOLERANCE, HeaderItems

P = TypeVar("P")


class StartResponse(Protocol):
    """The function that begins an answer in WSGI."""

    def __call__(self, status: str, headers: list[tuple[str, str]], /) -> object:
        """Begin the answer."""
        ...


class WebhookHandler(Generic[P]):
    """Receives webhooks with plain functions.

    It is a WSGI application. In frameworks call `receive` with the headers and the raw body.

    ```python
    application = WebhookHandler(secrets=os.environ["WEBHOOK_SECRET"], handle=remind)
    ```
    """

    def __init__(
        self,
        *,
        secrets: Sequence[str] | str = (),
        allow_unsigned: bool = False,
        handle: Handle[P] | None = None,
        on: Mapping[str, Handle[P]] | None = None,
        fallback: Handle[P] | None = None,
        memory: Memory | None = None,
        load: Callable[[str], P] | None = None,
        tolerance: float = USUAL_TOLERANCE,
        timeout: float = USUAL_TIMEOUT,
        most_bytes: int = USUAL_MOST_BYTES,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Make a handler.

        Args:
            secrets: The secret of the namespace, or during a change both.
            allow_unsigned: Accept every request without a check, and log a warning. Then give no secrets.
            handle: The function for all timers.
            on: Functions by tag. The first tag of the timer that has a function counts.
            fallback: The function for timers that `on` does not match. Without it they are answered 404, and Punctual
                retries.
            memory: Remembers which timers are done, so that repeats do nothing.
            load: Makes the payload of its JSON text; `json.loads` when left out.
            tolerance: The largest difference between the clocks, in seconds.
            timeout: The time-out of the target, in seconds. It sets the deadline of your function.
            most_bytes: Larger bodies are answered 413.
            now: The clock, for tests: it returns the seconds since 1970.

        """
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
        if any(inspect.iscoroutinefunction(function) for function in self._receiving.functions()):
            raise TypeError("WebhookHandler takes plain functions: use AsyncWebhookHandler for async ones")

    def receive(self, headers: HeaderItems, body: bytes) -> WebhookAnswer:
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
                result = _called(step)
            except Exception as failure:  # noqa: BLE001  # The handler answers every failure.
                error = failure

    def __call__(self, environ: Mapping[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Answer a request of WSGI."""
        answer = self._answer(environ)
        headers = {**answer.headers, "content-length": str(len(answer.body))}
        start_response(f"{answer.status} {HTTPStatus(answer.status).phrase}", list(headers.items()))
        return [answer.body]

    def _answer(self, environ: Mapping[str, Any]) -> WebhookAnswer:
        length_text: str = environ.get("CONTENT_LENGTH") or ""
        if length_text and not (length_text.isascii() and length_text.isdecimal()):
            return plain(HTTPStatus.BAD_REQUEST, "the header content-length is no number")
        length = int(length_text) if length_text else None
        most_bytes = self._receiving.most_bytes
        if length is not None and length > most_bytes:
            return too_large()
        if length is None and not environ.get("wsgi.input_terminated"):
            length = 0
        body: bytes = environ["wsgi.input"].read(most_bytes + 1 if length is None else length)
        if length is not None and len(body) < length:
            return incomplete(len(body), length)
        headers = {
            name.removeprefix("HTTP_").replace("_", "-"): str(value)
            for name, value in environ.items()
            if name.startswith("HTTP_")
        }
        return self.receive(headers, body)


def _called(step: Callable[[], object]) -> object:
    result = step()
    if inspect.iscoroutine(result):
        # Without this check, a function that never ran would count as a success.
        result.close()
        raise TypeError("the function is async: use AsyncWebhookHandler")
    return result
