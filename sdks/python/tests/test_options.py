"""Options that are wrong: the client refuses them when it is made, or before it sends, and never shows a secret."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import httpx
import pytest

from conformance_run import Mode
from punctual_client import AsyncPunctual, Hooks, InvalidRequestError, Punctual, RequestEvent

URL = "http://service.test"
SECRET = "pnct_secret"


def count(mode: Mode, sent: list[httpx.Request], **options: Any) -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        sent.append(request)
        return httpx.Response(200, text='{"count":0,"capped":false}')

    async def run() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as http:
            await AsyncPunctual(URL, namespace="a", http_client=http, **options).timers.count()

    if mode == "async":
        asyncio.run(run())
    else:
        with httpx.Client(transport=httpx.MockTransport(answer)) as http:
            Punctual(URL, namespace="a", http_client=http, **options).timers.count()


@pytest.mark.parametrize("key", [f"{SECRET}\n", f" {SECRET}", f"{SECRET}ü", f"{SECRET}\x00", [SECRET]])
def test_a_key_that_no_header_can_hold_is_refused_and_not_shown(key: Any, mode: Mode) -> None:
    sent: list[httpx.Request] = []
    with pytest.raises(ValueError, match="key must be a text of visible ASCII") as given:
        count(mode, sent, key=key)
    with pytest.raises(InvalidRequestError, match="key must be a text of visible ASCII") as read:
        count(mode, sent, key=lambda: key)
    assert SECRET not in f"{given.value!r}{read.value!r}"
    assert read.value.__cause__ is None
    assert sent == []


@pytest.mark.parametrize("key", ["", None])
def test_a_function_without_a_key_sends_none(key: str | None, mode: Mode) -> None:
    sent: list[httpx.Request] = []
    count(mode, sent, key=lambda: key)
    assert "authorization" not in sent[0].headers


def test_headers_of_the_user_do_not_double_those_of_the_client(mode: Mode) -> None:
    sent: list[httpx.Request] = []
    headers = {"Authorization": "Basic x", "CONTENT-TYPE": "text/plain", "X-A": "1"}
    count(mode, sent, key="pnct_own", headers=headers)
    count(mode, sent, headers=headers)
    assert [request.headers.get_list("authorization") for request in sent] == [["Bearer pnct_own"], ["Basic x"]]
    assert sent[0].headers.get_list("content-type") == ["application/json"]
    assert sent[0].headers["x-a"] == "1"


@pytest.mark.parametrize("headers", [{"x-a": f"{SECRET}\n"}, {"x-a": f"{SECRET}ü"}, {"x-a": [SECRET]}, {"x a": "1"}])
def test_a_header_that_http_does_not_allow_is_refused_and_not_shown(headers: Any) -> None:
    for make in (Punctual, AsyncPunctual):
        with pytest.raises(ValueError, match="header") as given:
            make(URL, headers=headers)
        with pytest.raises(ValueError, match="header") as changed:
            make(URL).with_options(headers=headers)
        assert SECRET not in f"{given.value!r}{changed.value!r}"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("timeout", None),
        ("timeout", float("inf")),
        ("timeout", float("nan")),
        ("timeout", timedelta(seconds=1)),
        ("max_retries", 1.5),
        ("max_retries", None),
        ("delay_from", "sever"),
    ],
)
def test_an_option_of_the_wrong_kind_is_named(name: str, value: Any) -> None:
    options: dict[str, Any] = {name: value}
    for make in (Punctual, AsyncPunctual):
        with pytest.raises(ValueError, match=name):
            make(URL, **options)
        with pytest.raises(ValueError, match=name):
            make(URL).with_options(**options)


@pytest.mark.parametrize("url", ["http://x:99999", "http://x:0", "http://[::1", "http://x:port"])
def test_a_url_that_cannot_be_reached_is_refused(url: str) -> None:
    for make in (Punctual, AsyncPunctual):
        with pytest.raises(ValueError, match="url"):
            make(url)


def test_with_options_takes_only_its_own_options() -> None:
    wrong: Any = {"key": "pnct_other", "retries": 1}
    for make in (Punctual, AsyncPunctual):
        with pytest.raises(TypeError, match="with_options has no option key, retries"):
            make(URL).with_options(**wrong)


def test_an_async_hook_is_refused() -> None:
    async def hook(_: RequestEvent) -> None: ...

    with pytest.raises(TypeError, match="plain functions"):
        Hooks(on_request=hook)


def test_an_async_function_for_the_key_is_refused_in_the_sync_client() -> None:
    async def read() -> str:
        return SECRET

    # The tests turn a warning about a coroutine that nobody awaited into an error.
    with pytest.raises(TypeError, match="use AsyncPunctual"):
        count("sync", [], key=read)


def test_the_text_of_a_client_shows_its_service_and_namespace() -> None:
    assert repr(Punctual(URL, SECRET, namespace="a")) == "Punctual('http://service.test', namespace='a')"
    assert repr(AsyncPunctual(URL, SECRET)) == "AsyncPunctual('http://service.test', namespace=None)"
