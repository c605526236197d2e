"""The cases of sdks/conformance about receiving webhooks, and what only this library has: WSGI, ASGI and its checks."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import logging
import pickle
from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from conformance_run import NOW, Json, Mode, cases_of, json_of, native_of
from punctual_client._core.durations import parse_instant
from punctual_client.testing import signed_request
from punctual_client.webhooks import (
    Again,
    AsyncWebhookHandler,
    Dead,
    RawJson,
    Retry,
    SignatureError,
    TimerEvent,
    WebhookAnswer,
    WebhookHandler,
    sign_webhook,
    verify_webhook,
)

SECRET = "whsec_" + base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
NOW_SECONDS = round(parse_instant(NOW).timestamp())
FIRE_ID = "01b8d832-8600-7000-8000-03fe5c9c45b0"


def act(does: Json) -> Again | None:
    if "retry" in does:
        raise Retry(does["retry"])
    if "dead" in does:
        raise Dead(does["dead"])
    if "throw" in does:
        raise LookupError(does["throw"])
    return None if does["return"] is None else Again(**native_of(does["return"]))


def request_of(case: Json) -> tuple[dict[str, str], bytes]:
    body = case["body"].encode()
    signed = sign_webhook(FIRE_ID, NOW_SECONDS, body, SECRET)
    return {
        **case["headers"],
        "webhook-id": FIRE_ID,
        "webhook-timestamp": str(NOW_SECONDS),
        "webhook-signature": "v1,d3Jvbmc=" if case.get("signature") == "wrong" else signed,
    }, body


class RecordingMemory:
    def __init__(self, *, done: bool | str | None) -> None:
        self._done = done
        self.marked: list[str] = []

    def done(self, fire_id: str) -> bool | str | None:
        assert fire_id == FIRE_ID
        return self._done

    def mark_done(self, fire_id: str, answer: str) -> None:
        json.loads(answer)
        self.marked.append(fire_id)


class AsyncRecordingMemory:
    def __init__(self, inner: RecordingMemory) -> None:
        self._inner = inner

    async def done(self, fire_id: str) -> bool | str | None:
        return self._inner.done(fire_id)

    async def mark_done(self, fire_id: str, answer: str) -> None:
        self._inner.mark_done(fire_id, answer)


@pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases_of("receive")])
def test_the_handler(case: Json, mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    events: list[TimerEvent[Any]] = []
    called_by: list[str] = []
    memory = RecordingMemory(done=case["memory"].get("done")) if "memory" in case else None

    def function_named(name: str) -> Callable[[TimerEvent[Any]], Any]:
        def handle(event: TimerEvent[Any]) -> Again | None:
            events.append(event)
            called_by.append(name)
            return act(case["does"])

        async def handle_async(event: TimerEvent[Any]) -> Again | None:
            return handle(event)

        return handle if mode == "sync" else handle_async

    options: Json = {
        **({"allow_unsigned": True} if case.get("secrets") == "none" else {"secrets": [SECRET]}),
        "now": lambda: NOW_SECONDS,
        "fallback": function_named("fallback") if case.get("fallback") else None,
    }
    if "on" in case:
        options["on"] = {tag: function_named(tag) for tag in case["on"]}
    else:
        options["handle"] = function_named("handle")
    if "maxBodyBytes" in case:
        options["most_bytes"] = case["maxBodyBytes"]
    answer = received(mode, options, memory, *request_of(case))
    assert answer.status == case["status"]
    if "answer" in case:
        assert json.loads(answer.body) == case["answer"]
    assert case.get("answerLacks", "\0") not in answer.body.decode()
    assert dict(answer.headers) | case.get("answerHeaders", {}) == answer.headers
    if case.get("handled") is False:
        assert events == []
    else:
        words = json_of(events[0])
        assert len(events) == 1
        assert words | case.get("handled", {}) == words
    assert "handledBy" not in case or called_by == [case["handledBy"]]
    if "marked" in case:
        assert memory is not None
        assert len(memory.marked) == (1 if case["marked"] else 0)
    if answer.status == 500:
        assert "failed" in caplog.text


def received(
    mode: Mode, options: Json, memory: RecordingMemory | None, headers: dict[str, str], body: bytes
) -> WebhookAnswer:
    if mode == "sync":
        return WebhookHandler[Any](**options, memory=memory).receive(headers, body)
    asynchronous = None if memory is None else AsyncRecordingMemory(memory)
    return asyncio.run(AsyncWebhookHandler[Any](**options, memory=asynchronous).receive(headers, body))


def test_the_function_gets_the_exact_text_and_the_type_that_load_makes() -> None:
    seen: list[tuple[str | None, str | None]] = []

    def handle(event: TimerEvent[str]) -> None:
        seen.append((event.payload, None if event.raw_payload is None else event.raw_payload.text))

    receive = WebhookHandler(secrets=SECRET, load=str.upper, handle=handle)
    body = f'{{"type":"timer.fired","fireId":"{FIRE_ID}","payload":{{ "n":1.10 }}}}'.encode()
    headers, _ = request_of({"headers": cases_of("receive")[0]["headers"], "body": ""})
    now = round(datetime.now(timezone.utc).timestamp())
    signature = sign_webhook(FIRE_ID, now, body, SECRET)
    headers |= {"webhook-timestamp": str(now), "webhook-signature": signature}
    assert receive.receive(headers, body).status == 200
    assert seen == [('{ "N":1.10 }', '{ "n":1.10 }')]


def test_a_payload_that_load_refuses_is_a_failed_attempt() -> None:
    receive = WebhookHandler(secrets=SECRET, load=int, handle=lambda _: None)
    assert receive.receive(*signed_request(secret=SECRET, payload="x")).status == 500


def test_a_payload_that_python_cannot_hold_reaches_a_function_that_reads_its_text() -> None:
    texts: list[str] = []

    def handle(event: TimerEvent[RawJson]) -> None:
        texts.append("" if event.payload is None else event.payload.text)

    digits = "9" * 5_000
    request = signed_request(secret=SECRET, payload=RawJson(digits))
    assert WebhookHandler(secrets=SECRET, load=RawJson, handle=handle).receive(*request).status == 200
    assert texts == [digits]
    assert WebhookHandler[Any](secrets=SECRET, handle=lambda _: None).receive(*request).status == 500


def test_the_function_knows_its_deadline() -> None:
    deadlines: list[datetime] = []

    def handle(event: TimerEvent[Any]) -> None:
        deadlines.append(event.deadline)

    headers, body = signed_request(secret=SECRET)
    now = int(headers["webhook-timestamp"])
    WebhookHandler(secrets=SECRET, timeout=60, handle=handle, now=lambda: now).receive(headers, body)
    assert deadlines == [datetime.fromtimestamp(now + 60, timezone.utc)]


@pytest.mark.parametrize("body", [b"\xff", b"{", b"[" * 200_000, b"NaN", b"1e5000x"])
def test_a_body_that_is_no_json_is_refused(body: bytes, mode: Mode) -> None:
    headers, _ = request_of({"headers": cases_of("receive")[0]["headers"], "body": ""})
    headers["webhook-signature"] = sign_webhook(FIRE_ID, NOW_SECONDS, body, SECRET)
    options: Json = {"secrets": SECRET, "now": lambda: NOW_SECONDS, "handle": lambda _: None}  # pyright: ignore[reportUnknownLambdaType]
    assert received(mode, options, None, headers, body).status == 400


def test_a_signed_request_of_something_else_is_refused(mode: Mode) -> None:
    signed = sign_webhook("1", NOW_SECONDS, b"{}", SECRET)
    headers = {"Webhook-Id": "1", "Webhook-Timestamp": str(NOW_SECONDS), "Webhook-Signature": signed}
    options: Json = {"secrets": SECRET, "now": lambda: NOW_SECONDS, "handle": lambda _: None}  # pyright: ignore[reportUnknownLambdaType]
    assert received(mode, options, None, headers, b"{}").status == 400


def test_a_handler_must_have_secrets_or_say_that_there_are_none(caplog: pytest.LogCaptureFixture) -> None:
    def handle(_: TimerEvent[Any]) -> None: ...

    async def handle_async(_: TimerEvent[Any]) -> None: ...

    for handler in (WebhookHandler[Any], AsyncWebhookHandler[Any]):
        with pytest.raises(ValueError, match="at least one secret"):
            handler(handle=handle)
        with pytest.raises(ValueError, match="or allow_unsigned"):
            handler(secrets=SECRET, allow_unsigned=True, handle=handle)
        # A secret from a setting can be any text, and no text switches the check off.
        for wrong in (["whsec_short"], "none", ["none"], ""):
            with pytest.raises(ValueError, match="24 to 64 bytes"):
                handler(secrets=wrong, handle=handle)
        with pytest.raises(TypeError, match="exactly one of handle and on"):
            handler(secrets=SECRET)
        with pytest.raises(TypeError, match="fallback is for on"):
            handler(secrets=SECRET, handle=handle, fallback=handle)
        caplog.clear()
        handler(allow_unsigned=True, handle=handle)
        assert "without a signature" in caplog.text
    with pytest.raises(TypeError, match="AsyncWebhookHandler"):
        WebhookHandler[Any](secrets=SECRET, handle=handle_async)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_an_async_function_that_a_sync_handler_cannot_see_is_no_success() -> None:
    async def handle(_: TimerEvent[Any]) -> None: ...

    def hidden(event: TimerEvent[Any]) -> Any:
        return handle(event)

    receive = WebhookHandler[Any](secrets=SECRET, handle=hidden)
    assert receive.receive(*signed_request(secret=SECRET)).status == 500


def test_again_needs_one_time() -> None:
    for wrong in ({}, {"next_delay": "1d", "next_execute_at": "2030-01-01T00:00:00Z"}):
        with pytest.raises(ValueError, match="exactly one"):
            Again(**wrong)


@pytest.mark.parametrize("wrong", ["the mail server is down", "", "9999d", timedelta(seconds=-1), timedelta(days=9999)])
def test_a_wait_that_the_service_would_not_understand_fails_where_it_is_written(wrong: Any, mode: Mode) -> None:
    with pytest.raises(ValueError, match="the wait must"):
        Retry(wrong)
    with pytest.raises(ValueError, match="the wait must"):
        Again(next_delay=wrong)

    def handle(_: TimerEvent[Any]) -> None:
        raise Retry(wrong)

    options: Json = {"secrets": SECRET, "handle": handle}
    assert received(mode, options, None, *signed_request(secret=SECRET)).status == 500


def test_an_instant_without_a_time_zone_fails_where_it_is_written() -> None:
    with pytest.raises(ValueError, match="time zone"):
        Again(next_execute_at=datetime(2030, 1, 1))  # noqa: DTZ001


def test_a_reason_can_be_the_exception_that_was_caught(mode: Mode) -> None:
    def handle(_: TimerEvent[Any]) -> None:
        raise Dead(LookupError("no such customer"))

    answer = received(mode, {"secrets": SECRET, "handle": handle}, None, *signed_request(secret=SECRET))
    assert (answer.status, json.loads(answer.body)) == (422, {"reason": "no such customer"})


def test_a_signature_alone_can_be_checked_with_one_secret() -> None:
    headers, body = signed_request(secret=SECRET)
    verify_webhook(headers, body, SECRET)
    with pytest.raises(SignatureError, match="the signature is wrong") as caught:
        verify_webhook(headers, body + b" ", SECRET)
    assert pickle.loads(pickle.dumps(caught.value)).finding == "wrong"


def wsgi(receive: WebhookHandler[Any], headers: dict[str, str], body: bytes, **environ: Any) -> str:
    started: list[str] = []

    def start_response(status: str, _: list[tuple[str, str]], /) -> None:
        started.append(status)

    named = {f"HTTP_{name.upper().replace('-', '_')}": value for name, value in headers.items()}
    rest: Json = {"CONTENT_LENGTH": str(len(body)), "wsgi.input": io.BytesIO(body), **environ}
    b"".join(receive({**named, **rest}, start_response))
    return started[0]


def test_the_wsgi_application_checks_and_answers(caplog: pytest.LogCaptureFixture) -> None:
    ids: list[str] = []

    def handle(event: TimerEvent[Any]) -> None:
        ids.append(event.timer_id)

    receive = WebhookHandler(secrets=SECRET, most_bytes=1_000, handle=handle)
    assert wsgi(receive, *signed_request(secret=SECRET, timer_id="ä")) == "200 OK"
    assert wsgi(receive, *signed_request(timer_id="unsigned")) == "401 Unauthorized"
    assert wsgi(receive, *signed_request(secret=SECRET, payload="x" * 2_000)).startswith("413 ")
    chunked: Json = {"CONTENT_LENGTH": "", "wsgi.input_terminated": True}
    assert wsgi(receive, *signed_request(secret=SECRET, timer_id="chunked"), **chunked) == "200 OK"
    assert wsgi(receive, *signed_request(secret=SECRET, payload="x" * 2_000), **chunked).startswith("413 ")
    assert wsgi(receive, *signed_request(secret=SECRET), CONTENT_LENGTH="²") == "400 Bad Request"
    assert ids == ["ä", "chunked"]
    used: Json = {"wsgi.input": io.BytesIO(b"")}
    assert wsgi(receive, *signed_request(secret=SECRET), **used) == "400 Bad Request"
    assert "something read the body before the handler" in caplog.text


def asgi(receive: AsyncWebhookHandler[Any], headers: dict[str, str], *messages: Json) -> list[Json]:
    waiting = list(messages)
    sent: list[Json] = []

    async def get() -> Json:
        return waiting.pop(0)

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    asyncio.run(receive({"type": "http", "headers": raw}, get, send))
    return sent


def test_the_asgi_application_checks_and_answers(caplog: pytest.LogCaptureFixture) -> None:
    ids: list[str] = []

    async def handle(event: TimerEvent[Any]) -> None:
        ids.append(event.timer_id)

    receive = AsyncWebhookHandler(secrets=SECRET, most_bytes=1_000, handle=handle)
    headers, body = signed_request(secret=SECRET, timer_id="ä")
    halves: list[Json] = [
        {"type": "http.request", "body": body[:10], "more_body": True},
        {"type": "http.request", "body": body[10:]},
    ]
    start, end = asgi(receive, headers, *halves)
    assert (start["status"], end["body"]) == (200, b'{"ok":true}')
    assert ids == ["ä"]
    unsigned = asgi(receive, signed_request().headers, {"type": "http.request", "body": body})
    assert unsigned[0]["status"] == 401
    large: list[Json] = [{"type": "http.request", "body": b"x" * 600, "more_body": True}] * 2
    assert asgi(receive, headers, *large)[0]["status"] == 413
    logging.getLogger("punctual_client").setLevel(logging.WARNING)
    assert asgi(receive, headers, halves[0], {"type": "http.disconnect"})[0]["status"] == 400
    assert "the caller went away" in caplog.text
    with pytest.raises(RuntimeError, match="answers HTTP"):
        asyncio.run(receive({"type": "websocket", "headers": []}, None, None))  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
