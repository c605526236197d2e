"""What only this library has: its options, hooks, logs, deadlines, typed payloads, and how it refuses wrong values."""

from __future__ import annotations

import asyncio
import copy
import json
import pickle
import time
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from functools import partial
from typing import Any
from uuid import UUID

import httpx
import pytest

from conformance_run import NOW, Json, Mode, ScriptedClient, cases_of
from punctual_client import (
    AnswerEvent,
    AsyncPunctual,
    ConflictError,
    FailureEvent,
    Hooks,
    InvalidRequestError,
    NoAnswerError,
    Punctual,
    PunctualError,
    QuotaError,
    RawJson,
    RequestEvent,
    new_timer_id,
)
from punctual_client._core.durations import duration_text, parse_duration, parse_instant

URL = "http://service.test"
COUNT = '{"count":0,"capped":false}'


def counting(sent: list[httpx.Request]) -> httpx.Client:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, text=COUNT)

    return httpx.Client(transport=httpx.MockTransport(answer))


def test_options_come_from_the_environment_and_an_empty_key_means_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TIMER_URL", f"{URL}/below/")
    monkeypatch.setenv("TIMER_API_KEY", "pnct_environment")
    sent: list[httpx.Request] = []
    for key in (None, "pnct_given", lambda: "pnct_read", ""):
        Punctual(key=key, namespace="a", http_client=counting(sent)).timers.count()
    assert [request.headers.get("authorization") for request in sent] == [
        "Bearer pnct_environment",
        "Bearer pnct_given",
        "Bearer pnct_read",
        None,
    ]
    assert str(sent[0].url) == f"{URL}/below/api/v1/timers/count"


def test_options_are_checked_when_the_client_is_made() -> None:
    for client in (Punctual, AsyncPunctual):
        with pytest.raises(ValueError, match="set TIMER_URL"):
            client()
        for wrong in ("", "service:8080", "ftp://x", "http://user:secret@x", "http://x?a=1", "http://x y"):
            with pytest.raises(ValueError, match="url"):
                client(wrong)
        with pytest.raises(ValueError, match="timeout"):
            client(URL, timeout=0)
        with pytest.raises(ValueError, match="max_retries"):
            client(URL, max_retries=-1)
        with pytest.raises(ValueError, match="time zone"):
            client(URL).with_options(deadline=datetime(2030, 1, 1))  # noqa: DTZ001


def test_headers_and_other_options_can_be_changed_for_some_calls() -> None:
    sent: list[httpx.Request] = []
    punctual = Punctual(URL, "", namespace="a", headers={"x-a": "1"}, http_client=counting(sent))
    punctual.with_options(headers={"x-b": "2"}, namespace="b").timers.count()
    punctual.timers.count()
    assert [request.headers.get("x-a") for request in sent] == [None, "1"]
    assert sent[0].headers["x-b"] == "2"
    assert [json.loads(request.content)["namespace"] for request in sent] == ["b", "a"]


def test_a_key_can_be_read_by_an_async_function_in_the_async_client_only() -> None:
    async def read() -> str:
        return "pnct_async"

    sent: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, text=COUNT)

    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
            await AsyncPunctual(URL, read, namespace="a", http_client=http).timers.count()

    asyncio.run(run())
    assert sent[0].headers["authorization"] == "Bearer pnct_async"


def test_a_function_for_the_key_that_fails_ends_the_call_with_its_own_error() -> None:
    def read() -> str:
        raise LookupError("the vault is closed")

    with pytest.raises(LookupError, match="the vault is closed"):
        Punctual(URL, read, namespace="a", http_client=counting([])).timers.count()


def test_hooks_see_each_try_and_one_that_raises_changes_nothing(mode: Mode, caplog: pytest.LogCaptureFixture) -> None:
    seen: list[object] = []

    def on_request(event: RequestEvent) -> None:
        seen.append((event.operation, event.attempt))

    def on_answer(event: AnswerEvent) -> None:
        seen.append((event.status, event.request_id))
        raise LookupError("a mistake in the hook")

    def on_failure(event: FailureEvent) -> None:
        seen.append(event.error.code)

    tries: list[Json] = [{"failure": "lost"}, {"headers": {"x-request-id": "r-1"}, "body": COUNT}]
    hooks = Hooks(on_request=on_request, on_answer=on_answer, on_failure=on_failure)
    scripted = ScriptedClient(mode, tries, hooks=hooks)
    assert scripted.use(lambda client: client.timers.count()).count == 0
    assert seen == [("timers.count", 1), "connectionLost", ("timers.count", 2), (200, "r-1")]
    assert "a hook failed" in caplog.text


def test_a_difference_of_the_clocks_is_logged_once_and_its_end_too(
    mode: Mode, caplog: pytest.LogCaptureFixture
) -> None:
    late = {"headers": {"date": "Tue, 01 Jan 2030 00:01:00 GMT"}}
    right = {"headers": {"date": "Tue, 01 Jan 2030 00:00:00 GMT"}}
    scripted = ScriptedClient(mode, [late, late, right, {"headers": {"date": "soon"}}])

    async def work(client: Any) -> None:
        for _ in range(4):
            await client.exchange("service.get", {})

    scripted.use(work)
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 2
    assert "60 s ahead" in warnings[0]
    assert "agree again" in warnings[1]


def test_a_deadline_that_has_passed_sends_nothing(mode: Mode) -> None:
    scripted = ScriptedClient(mode, [{"body": COUNT}])
    with pytest.raises(NoAnswerError) as caught:
        scripted.use(lambda client: client.timers.count(), deadline=parse_instant(NOW))
    assert (caught.value.code, caught.value.written) == ("timeout", "no")
    assert scripted.sent == []


def test_a_deadline_shortens_the_time_limit_of_a_try(mode: Mode) -> None:
    scripted = ScriptedClient(mode, [{"body": COUNT}])
    deadline = parse_instant(NOW) + timedelta(milliseconds=1)
    scripted.use(lambda client: client.timers.count(), deadline=deadline)
    assert scripted.sent[0].extensions["timeout"]["read"] == 0.001


def test_an_update_with_if_revision_that_was_never_sent_has_written_nothing(mode: Mode) -> None:
    scripted = ScriptedClient(mode, [], max_retries=1)
    with pytest.raises(NoAnswerError) as caught:
        scripted.use(lambda client: client.timers.update("a", tags=[], if_revision=1))
    assert caught.value.written == "no"
    assert isinstance(caught.value.__cause__, httpx.ConnectError)


def failing(_: str) -> None:
    raise ZeroDivisionError


def test_payloads_have_the_type_that_their_function_makes(mode: Mode) -> None:
    [given] = [case for case in cases_of("answers") if case["name"] == "a raw payload keeps every byte"]
    scripted = ScriptedClient(mode, [{"body": given["answer"]}] * 2)

    async def work(client: Any) -> None:
        exact = client.timers.with_payloads(partial(json.loads, parse_float=Decimal))
        payload = (await exact.get("a")).payload
        assert payload["payload"][0] == Decimal("1.0")
        assert str(payload["payload"][0]) == "1.0"
        with pytest.raises(ZeroDivisionError):
            await client.timers.with_payloads(failing).get("a")

    scripted.use(work)


def test_instants_and_durations_of_python_are_sent_as_the_service_writes_them(mode: Mode) -> None:
    tries: list[Json] = [{}, {}]
    scripted = ScriptedClient(mode, tries, max_retries=0)
    zone = timezone(timedelta(hours=2))

    async def work(client: Any) -> None:
        for fields in (
            {"execute_at": datetime(2030, 1, 1, 2, 0, 0, 250_999, zone), "expire_after": timedelta(hours=36)},
            {
                "delay": timedelta(seconds=90),
                "retry_policy": {"waits": [timedelta(minutes=1), "1h"], "max_duration": "1d"},
            },
        ):
            with pytest.raises(NoAnswerError, match="cannot be read"):
                await client.timers.create(timer_id="a", **fields)

    scripted.use(work)
    first, second = scripted.bodies()
    assert (first["executeAt"], first["expireAfter"]) == ("2030-01-01T00:00:00.250Z", "1d12h")
    assert second["executeAt"] == "2030-01-01T00:01:30.000Z"
    assert second["retryPolicy"] == {"waits": ["1m", "1h"], "maxDuration": "1d"}


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"execute_at": datetime(2030, 1, 1)}, "executeAt must have a time zone"),  # noqa: DTZ001
        ({"delay": timedelta(seconds=-1)}, "delay must not be negative"),
        ({"delay": 5}, "delay must be a duration"),
        ({"payload": {1, 2}}, "cannot be written as JSON"),
        ({"payload": float("nan")}, "cannot be written as JSON"),
        ({"payload": "\ud800"}, "cannot be written as JSON"),
    ],
)
def test_values_that_cannot_be_sent_are_refused(fields: Json, message: str, mode: Mode) -> None:
    scripted = ScriptedClient(mode, [])
    with pytest.raises(InvalidRequestError, match=message):
        scripted.use(lambda client: client.timers.create(timer_id="a", **fields))
    assert scripted.sent == []


async def create_with(fields: Json, client: Any) -> None:
    await client.timers.create(**fields)


def test_a_field_that_does_not_exist_is_a_type_error(mode: Mode) -> None:
    scripted = ScriptedClient(mode, [])
    wrong: list[Json] = [
        {"delai": "1s"},
        {"retry_policy": {"waitz": []}},
        {"target": {"type": "webhook", "uri": "x"}},
    ]
    for fields in wrong:
        with pytest.raises(TypeError, match=r"has no field (delai|waitz|uri)"):
            scripted.use(partial(create_with, fields))
    assert scripted.sent == []


def test_an_error_can_be_pickled_and_copied() -> None:
    body = '{"code":"quotaExceeded","detail":"d","quota":"maxPending","retryAfterSeconds":2}'
    scripted = ScriptedClient("sync", [{"status": 429, "body": body}], max_retries=0)
    with pytest.raises(QuotaError) as caught:
        scripted.use(lambda client: client.timers.count())
    for other in (pickle.loads(pickle.dumps(caught.value)), copy.copy(caught.value)):
        assert isinstance(other, QuotaError)
        assert (other.code, other.retry_after, str(other)) == ("quotaExceeded", 2, "quotaExceeded: d")
        assert other.problem == caught.value.problem


def test_raw_json_refuses_what_is_no_json() -> None:
    for wrong in ("", "{", "NaN", "[1,]", "-Infinity"):
        with pytest.raises(ValueError, match=r".+"):
            RawJson(wrong)
    digits = "9" * 5_000
    assert RawJson(digits).text == digits


@pytest.mark.parametrize("text", ["0s", "1ms", "1s", "1h30m", "14d", "3652d23h59m59s999ms"])
def test_a_duration_is_written_as_it_is_read(text: str) -> None:
    assert duration_text(parse_duration(text)) == text


def test_a_new_id_is_a_uuid_of_version_7_of_this_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 1_893_456_000_123_456_789)
    made = UUID(new_timer_id())
    assert (made.version, made.int >> 80) == (7, 1_893_456_000_123)


def test_an_answer_without_its_fields_is_not_readable(mode: Mode) -> None:
    scripted = ScriptedClient(mode, [{"body": '{"count":"x"}'}], max_retries=0)
    with pytest.raises(NoAnswerError) as caught:
        scripted.use(lambda client: client.timers.count())
    assert (caught.value.code, caught.value.written) == ("unreadableAnswer", "no")


@pytest.mark.parametrize(
    "field",
    [
        '"retryAfterSeconds":"soon"',
        '"retryAfterSeconds":NaN',
        '"retryAfterSeconds":Infinity',
        '"errors":7',
        '"errors":[{}]',
        '"written":"maybe"',
    ],
)
def test_a_strange_problem_of_another_program_is_still_an_error_of_this_client(field: str, mode: Mode) -> None:
    body = f'{{"code":"overloaded","detail":"d",{field}}}'
    scripted = ScriptedClient(mode, [{"status": 503, "body": body}], max_retries=0)
    with pytest.raises(PunctualError) as caught:
        scripted.use(lambda client: client.timers.count())
    assert (caught.value.status, caught.value.retry_after, caught.value.written) == (503, None, "no")


def test_a_kind_of_target_of_a_newer_service_is_kept(mode: Mode) -> None:
    [given] = [case for case in cases_of("answers") if case["name"] == "get answers the timer"]
    answer = json.loads(given["answer"])
    answer["timer"]["target"] = {"type": "queue", "name": "q"}
    answer["timer"]["retryPolicy"] = {"until": "noon"}
    scripted = ScriptedClient(mode, [{"body": json.dumps(answer)}])
    timer = scripted.use(lambda client: client.timers.get("a"))
    assert timer.target.extra == {"type": "queue", "name": "q"}
    assert timer.retry_policy.extra == {"until": "noon"}


def test_the_text_of_a_client_and_its_parts_does_not_show_the_key() -> None:
    punctual = Punctual(URL, "pnct_secret", headers={"x-token": "pnct_secret"})
    assert "pnct_secret" not in repr(punctual._caller) + repr(punctual)
    plan = punctual._caller.connection.request("timers/get", {}, b"pnct_secret")
    with pytest.raises(StopIteration) as ended:
        next(plan)
    assert ended.value.value.headers["authorization"] == "Bearer pnct_secret"
    assert "pnct_secret" not in repr(ended.value.value)


def test_families_are_classes() -> None:
    assert issubclass(ConflictError, PunctualError)
    with pytest.raises(PunctualError, match="timerId must not be empty"):
        Punctual(URL, "", namespace="a").timers.get("")
