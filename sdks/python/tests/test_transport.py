"""What the client does with the bytes of an answer: limits of time and size, redirects, and pieces of a stream."""

from __future__ import annotations

import itertools
from typing import Any

import httpcore
import httpx
import pytest

from conformance_run import Mode, ScriptedClient
from punctual_client import NoAnswerError, Punctual
from punctual_client._core.event_stream import LONGEST_BLOCK_CHARS, EventReader

COUNT = '{"count":0,"capped":false}'


def failure_of(mode: Mode, **options: Any) -> NoAnswerError:
    scripted = ScriptedClient(mode, [{"body": COUNT}], max_retries=0, **options)
    with pytest.raises(NoAnswerError) as caught:
        scripted.use(lambda client: client.timers.count())
    return caught.value


def test_an_answer_that_comes_too_slowly_is_a_time_out(mode: Mode) -> None:
    assert failure_of(mode, timeout=1e-9).code == "timeout"


class SlowNetwork(httpcore.NetworkBackend, httpcore.NetworkStream):
    """Takes 4 s to connect and 1.5 s for each write, on a clock of its own, and remembers how long it was allowed to take."""

    def __init__(self) -> None:
        self.now = 0.0
        self.allowed: list[tuple[str, float | None]] = []

    def monotonic(self) -> float:
        return self.now

    def _take(self, phase: str, timeout: float | None, seconds: float) -> None:
        self.allowed.append((phase, timeout))
        self.now += seconds

    def connect_tcp(
        self, host: str, port: int, timeout: float | None = None, *_: Any, **__: Any
    ) -> httpcore.NetworkStream:
        assert (host, port) == ("service.test", 80)
        self._take("connect", timeout, 4)
        return self

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        if buffer:
            self._take("write", timeout, 1.5)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        self._take("read", timeout, 0)
        return f"HTTP/1.1 200 OK\r\ncontent-length: {len(COUNT)}\r\n\r\n{COUNT}".encode()[:max_bytes]

    def close(self) -> None: ...

    def get_extra_info(self, info: str) -> Any:
        assert info


def test_the_time_limit_of_a_try_is_for_all_its_phases_together(monkeypatch: pytest.MonkeyPatch) -> None:
    network = SlowNetwork()
    monkeypatch.setattr("punctual_client._core.time_left.monotonic", network.monotonic)
    transport = httpx.HTTPTransport()
    transport._pool = httpcore.ConnectionPool(network_backend=network)
    with httpx.Client(transport=transport) as http:
        punctual = Punctual("http://service.test", "", namespace="a", http_client=http, timeout=10)
        assert punctual.timers.count().count == 0
    # The head and the body are written one after the other.
    assert network.allowed == [("connect", 10), ("write", 6), ("write", 4.5), ("read", 3)]


def test_both_clients_give_httpx_the_time_that_is_left(mode: Mode) -> None:
    scripted = ScriptedClient(mode, [{"body": COUNT}], timeout=10)
    scripted.use(lambda client: client.timers.count())
    left = scripted.sent[0].extensions["timeout"]
    assert set(left) == {"pool", "connect", "write", "read"}
    assert left["read"] <= 10


def test_an_answer_that_is_too_large_is_not_read_to_its_end(mode: Mode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f"punctual_client._{mode}.driver.MOST_ANSWER_BYTES", len(COUNT) - 1)
    failure = failure_of(mode)
    assert failure.code == "connectionLost"
    assert "more than" in str(failure)


def test_a_redirect_is_not_followed_even_if_the_client_of_httpx_would() -> None:
    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.host)
        return httpx.Response(307, headers={"location": "http://elsewhere.test/"})

    with httpx.Client(transport=httpx.MockTransport(answer), follow_redirects=True) as http:
        punctual = Punctual("http://service.test", "pnct_secret", namespace="a", http_client=http)
        with pytest.raises(NoAnswerError):
            punctual.timers.count()
        with pytest.raises(NoAnswerError):
            next(punctual.events.stream())
    assert asked == ["service.test", "service.test"]


def test_events_are_found_wherever_the_stream_is_cut() -> None:
    text = ': beat\n\nevent: created\nid: 7\ndata: {"timerId":"ä"}\n\nevent: gap\ndata:\n\n'
    for first, second in itertools.combinations(range(len(text)), 2):
        reader = EventReader()
        pieces = (text[:first], text[first:second], text[second:])
        events = [event for piece in pieces for event in reader.feed(piece)]
        assert [(event.type, event.id, event.data) for event in events] == [
            ("created", "7", {"timerId": "ä"}),
            ("gap", None, None),
        ]


def test_an_event_without_an_end_is_not_kept() -> None:
    reader = EventReader()
    with pytest.raises(ValueError, match="without an end"):
        list(reader.feed("x" * (LONGEST_BLOCK_CHARS + 1)))


@pytest.mark.parametrize("text", ["event: created\ndata: {\n\n", "x" * (LONGEST_BLOCK_CHARS + 1)])
def test_a_stream_that_is_no_stream_of_events_raises_an_error_of_this_client(text: str) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(200, text=text)

    with httpx.Client(transport=httpx.MockTransport(answer)) as http:
        punctual = Punctual("http://service.test", "", http_client=http)
        with pytest.raises(NoAnswerError) as caught:
            list(punctual.events.stream())
    assert (caught.value.code, caught.value.written) == ("connectionLost", "no")
