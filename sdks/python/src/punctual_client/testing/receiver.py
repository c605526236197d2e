"""An endpoint for timers in the process of a test. It records what it gets, and answers as the test says."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any

from ..webhooks.event import TimerEvent, parse_event, with_payload
from ..webhooks.handler import USUAL_TIMEOUT

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, kw_only=True)
class Delivery(TimerEvent[Any]):
    """One webhook that arrived."""

    path: str = "/"
    body: bytes = b""
    """The exact bytes of the body."""


Reply = Callable[[Delivery], "int | Mapping[str, object]"]
"""Makes the answer to a webhook: a status, or a JSON object for 200."""


class TestReceiver:
    """A receiver that listens on this machine. `service.receiver()` makes one."""

    __test__ = False
    """It is no test, whatever its name says to pytest."""

    def __init__(self, reply: Reply | None = None) -> None:
        """Listen on a free port. It answers 200, unless `reply` says otherwise."""
        self.deliveries: list[Delivery] = []
        """What arrived, in order."""
        deliveries = self.deliveries

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                status, text = _answer_to(self, deliveries, reply)
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

            do_POST = do_PUT = do_PATCH = do_GET = do_DELETE = _answer  # noqa: N815

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Print nothing."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/"
        """The URL to send timers to."""
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Close the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        """Use the receiver in a `with` statement, which stops it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the port."""
        self.stop()


def _answer_to(request: BaseHTTPRequestHandler, deliveries: list[Delivery], reply: Reply | None) -> tuple[int, str]:
    """Record a request. If the function of the test fails, the attempt of the timer shows why."""
    body = request.rfile.read(int(request.headers.get("content-length", "0")))
    headers = {name.lower(): value for name, value in request.headers.items()}
    deadline = datetime.now(timezone.utc) + timedelta(seconds=USUAL_TIMEOUT)
    try:
        event = with_payload(parse_event(headers, body, deadline), json.loads)
        delivery = Delivery(**vars(event), path=request.path, body=body)
        deliveries.append(delivery)
        answer = HTTPStatus.OK if reply is None else reply(delivery)
    except Exception as error:  # noqa: BLE001
        return HTTPStatus.INTERNAL_SERVER_ERROR, str(error)
    return (answer, "") if isinstance(answer, int) else (HTTPStatus.OK, json.dumps(answer))
