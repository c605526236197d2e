"""The help for tests, the stream of events and every answer of the reference, against the real service."""

from __future__ import annotations

import asyncio
import contextlib
import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import cast

import httpx
import pytest

from conformance_run import Json, file_of
from needed import needs
from punctual_client import InvalidRequestError, contract
from punctual_client._core.wire import read_answer
from punctual_client.contract.shape import Shape
from punctual_client.testing import Delivery, TestReceiver, TestService

START = datetime(2030, 1, 1, tzinfo=timezone.utc)


@needs("PUNCTUAL_EXECUTABLE")
def test_a_month_takes_no_time_and_the_receiver_records() -> None:
    def reply(delivery: Delivery) -> int | Json:
        return 503 if delivery.attempt == 1 else {"ok": True}

    with TestService(start_at=START, namespace="shop") as service:
        receiver = service.receiver(reply)
        assert service.now() == START
        service.punctual.timers.create(
            timer_id="ä/1", delay=timedelta(days=31), callback_url=receiver.url + "hooks", payload=[1.5], tags=["a,b"]
        )
        assert service.advance("30d").fired == 0
        assert receiver.deliveries == []
        service.advance(timedelta(days=2))
        assert service.now() == START + timedelta(days=32)
        first, second = receiver.deliveries
        assert (first.attempt, second.attempt) == (1, 2)
        assert (second.timer_id, second.path, second.payload, second.tags) == ("ä/1", "/hooks", [1.5], ("a,b",))
        assert json.loads(second.body)["fireId"] == second.fire_id
        assert second.execute_at == START + timedelta(days=31)
        timer = service.punctual.timers.get("ä/1")
        assert (timer.state, timer.attempts) == ("delivered", 2)
        url = service.url
    with pytest.raises(httpx.ConnectError):
        httpx.get(url, trust_env=False)


@needs("PUNCTUAL_EXECUTABLE")
def test_the_stream_has_what_happens_and_ends_with_the_reader() -> None:
    with TestService(namespace="shop") as service:
        punctual = service.punctual
        types: list[str] = []
        for event in punctual.events.stream(namespaces=["shop"], types=["created"]):
            types.append(event.type)
            # The service says first which nodes it hears, so nothing is missed.
            if event.type == "nodes":
                punctual.timers.create(timer_id="a", delay="1h", callback_url="http://127.0.0.1:9/")
            if event.type == "created":
                assert event.data is not None
                assert (event.data["namespace"], event.data["timerId"], event.data["state"]) == ("shop", "a", "pending")
                break
        assert "created" in types
        with pytest.raises(InvalidRequestError):
            next(punctual.events.stream(types=["no-such-type"]))

        async def read() -> str | None:
            async with service.async_client() as client:
                stream = client.events.stream(namespaces=["shop"])
                async with contextlib.aclosing(stream):
                    async for event in stream:
                        return event.type
            return None

        assert asyncio.run(read()) == "nodes"


@needs("PUNCTUAL_EXECUTABLE")
def test_every_example_of_the_reference_becomes_an_answer_without_unknown_fields() -> None:
    with TestService() as service:
        document: Json = httpx.get(f"{service.url}/openapi.json", trust_env=False).json()
    operations: Json = {
        operation.get("operationId", ""): operation
        for path in document["paths"].values()
        for operation in path.values()
    }
    read = 0
    for name, names in file_of("contract.json")["operations"].items():
        if "answer" not in names:
            continue
        content: Json = operations[name]["responses"]["200"]["content"]["application/json"]
        examples = [example["value"] for example in content.get("examples", {}).values()]
        for example in examples + ([content["example"]] if "example" in content else []):
            answer = read_answer(getattr(contract, names["answer"]), example)
            assert unknown_in(answer) == [], name
            read += 1
    assert read >= 40


def unknown_in(value: object) -> list[str]:
    if isinstance(value, tuple):
        return [name for item in cast("tuple[object, ...]", value) for name in unknown_in(item)]
    if not isinstance(value, Shape):
        return []
    inner = [name for member in vars(value).values() for name in unknown_in(member)]
    return [*value.extra, *inner]


def test_a_program_that_is_missing_or_fails_is_explained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PUNCTUAL_EXECUTABLE", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match="set PUNCTUAL_EXECUTABLE"):
        TestService()
    failing = tmp_path / "punctual"
    failing.write_text("#!/bin/sh\necho 'no such setting'\nexit 3\n")
    failing.chmod(0o755)
    with pytest.raises(RuntimeError, match="no such setting"):
        TestService()


def test_a_receiver_answers_500_if_its_function_fails() -> None:
    def reply(_: Delivery) -> int:
        raise LookupError("a mistake in the test")

    headers = {"punctual-execute-at": "2030-01-01T00:00:00.000Z", "punctual-timer-id": "a"}
    with TestReceiver(reply) as receiver:
        answer = httpx.post(receiver.url, headers=headers, content=b"{}", trust_env=False)
    assert (answer.status_code, answer.text) == (500, "a mistake in the test")
    assert receiver.deliveries[0].payload == {}
