"""Runs the cases of sdks/conformance against this library.

It reads the files, gives the client a transport that follows a script, and calls operations by their ids. Every case runs
with the sync and with the async client.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Literal, cast

import httpx

from punctual_client import AsyncPaged, AsyncPunctual, Clock, Paged, Punctual, PunctualError, RawJson
from punctual_client._core.durations import duration_text, instant_text, parse_instant
from punctual_client._core.wire import wire_name

Json = dict[str, Any]
Mode = Literal["sync", "async"]

FOLDER = Path(__file__).parent.parent.parent / "conformance"
NOW = "2030-01-01T00:00:00.000Z"


def file_of(name: str) -> Json:
    content: Json = json.loads((FOLDER / name).read_text(encoding="utf-8"))
    return content


def cases_of(name: str) -> list[Json]:
    cases: list[Json] = file_of(f"cases/{name}.json")["cases"]
    return cases


def snake_name(name: str) -> str:
    snake = re.sub("([A-Z])", lambda found: f"_{found[1].lower()}", name)
    return "from_" if snake == "from" else snake


def native_of(value: Any) -> Any:
    """Make the values that JSON cannot express: instants and raw JSON. The names are those of Python."""
    if isinstance(value, list):
        return [native_of(item) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("Json", value)
    if "$instant" in members:
        return parse_instant(members["$instant"])
    if "$raw" in members:
        return RawJson(members["$raw"])
    return {
        snake_name(name): member if name in {"payload", "headers"} and not is_special(member) else native_of(member)
        for name, member in members.items()
    }


def is_special(value: object) -> bool:
    return isinstance(value, dict) and ("$raw" in value or "$instant" in value)


def json_of(value: Any) -> Any:
    """Turn an answer into the JSON that it was made of: without the fields that have their default."""
    if isinstance(value, RawJson):
        return {"$raw": value.text}
    if isinstance(value, datetime):
        return instant_text(value)
    if isinstance(value, timedelta):
        return duration_text(value)
    if isinstance(value, tuple):
        return [json_of(item) for item in cast("tuple[object, ...]", value)]
    if not dataclasses.is_dataclass(value) or isinstance(value, type):
        return value
    fields = [field for field in dataclasses.fields(value) if field.name != "extra"]
    known = {
        wire_name(field.name): json_of(getattr(value, field.name))
        for field in fields
        if field.default is dataclasses.MISSING or getattr(value, field.name) != field.default
    }
    return {**known, **getattr(value, "extra", {})}


class StandingClock(Clock):
    """Time that moves only when the client waits. It records each wait."""

    def __init__(self, now: str) -> None:
        self.now_ms = round(parse_instant(now).timestamp() * 1_000)
        self.waits_ms: list[int] = []

    def now(self) -> float:
        return self.now_ms / 1_000

    def random(self) -> float:
        return 0.0

    def sleep(self, seconds: float) -> None:
        wait_ms = round(seconds * 1_000)
        self.waits_ms.append(wait_ms)
        self.now_ms += wait_ms

    async def sleep_async(self, seconds: float) -> None:
        self.sleep(seconds)


class ScriptedClient:
    """A client whose tries follow a script."""

    def __init__(self, mode: Mode, tries: Sequence[Json], *, now: str = NOW, **options: Any) -> None:
        self.sent: list[httpx.Request] = []
        self.clock = StandingClock(now)
        self._tries = tries
        self._mode = mode
        self._transport = httpx.MockTransport(self._answer)
        self._options: Json = {
            "url": "http://service.test",
            "key": "",
            "namespace": "billing",
            "clock": self.clock,
            **options,
        }

    def _answer(self, request: httpx.Request) -> httpx.Response:
        nothing: Json = {"failure": "refused"}
        scripted = self._tries[len(self.sent)] if len(self.sent) < len(self._tries) else nothing
        self.sent.append(request)
        failure = scripted.get("failure")
        if failure == "refused":
            raise httpx.ConnectError(failure)
        if failure == "lost":
            raise httpx.ReadError(failure)
        if failure == "timeout":
            raise httpx.ReadTimeout(failure)
        return httpx.Response(
            scripted.get("status", 200), headers=scripted.get("headers"), text=scripted.get("body", "{}")
        )

    def use(self, work: Callable[[Any], Awaitable[Any]], **changed: Any) -> Any:
        """Do the work with the client. What it awaits is a result already in the sync client."""
        if self._mode == "sync":
            with httpx.Client(transport=self._transport) as http:
                client = Punctual(**self._options, http_client=http)
                return asyncio.run(resolved(work(Sync(client.with_options(**changed)))))

        async def run() -> Any:
            async with httpx.AsyncClient(transport=self._transport) as http:
                client = AsyncPunctual(**self._options, http_client=http)
                return await work(client.with_options(**changed))

        return asyncio.run(run())

    def bodies(self) -> list[Json]:
        return [json.loads(request.content) for request in self.sent]


async def resolved(work: Awaitable[Any]) -> Any:
    return await work


class Sync:
    """The sync client, in a form that the same test can use as the async one."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._inner, name)
        if not callable(member):
            return Sync(member)

        def call(*args: Any, **fields: Any) -> Any:
            result = member(*args, **fields)
            if isinstance(result, Paged):
                return AsPaged(cast("Paged[object]", result))
            return Sync(result) if name == "with_payloads" else done(result)

        return call


class AsPaged:
    """A sync list in the form of an async one."""

    def __init__(self, paged: Paged[object]) -> None:
        self._paged = paged

    async def page(self, cursor: str | None = None) -> Any:
        return self._paged.page(cursor)

    async def to_list(self, *, limit: int) -> list[Any]:
        return self._paged.to_list(limit=limit)

    async def __aiter__(self) -> Any:
        for item in self._paged:
            yield item


async def done(value: Any) -> Any:
    return value


def method_of(client: Any, operation: str) -> Callable[..., Any]:
    """Find the method of an operation."""
    group, _, name = operation.partition(".")
    if group == name:
        method = getattr(client, group)
    else:
        renamed = {"delete": "cancel", "deleteMany": "cancel_many"}.get(name) if group == "timers" else None
        method = getattr(getattr(client, group), renamed or snake_name(name))
    found: Callable[..., Any] = method
    return found


async def outcome_of(client: Any, operation: str, request: Mapping[str, Any]) -> Any:
    """Return the answer of a call by its id, of a list the first page; or its error."""
    try:
        result = method_of(client, operation)(**native_of(request))
        if isinstance(result, AsPaged | AsyncPaged):
            return await cast("AsyncPaged[Any]", result).page()
        return await result
    except PunctualError as error:
        return error


def words_of(error: PunctualError) -> Json:
    """Say what a case says about an error, in its words."""
    return {
        "code": error.code,
        "family": error.family,
        "status": error.status,
        "requestId": error.request_id,
        "retryable": error.retryable,
        "written": error.written,
        "retryAfterMs": None if error.retry_after is None else round(error.retry_after * 1_000),
    }
