"""The cases that every library of Punctual passes: sdks/conformance/README.md."""

from __future__ import annotations

import base64
import json
import re
from datetime import timedelta
from typing import Any, cast

import pytest

from conformance_run import (
    FOLDER,
    NOW,
    Json,
    Mode,
    ScriptedClient,
    cases_of,
    file_of,
    json_of,
    method_of,
    outcome_of,
    snake_name,
    words_of,
)
from punctual_client import NoAnswerError, PunctualError, RawJson, parse_duration
from punctual_client._core import repeats
from punctual_client._core.durations import parse_instant
from punctual_client._core.failures import bad_answer, connection_lost, connection_refused, may_repeat, took_too_long
from punctual_client._core.repeats import REPEAT_RULES, EachLike, RepeatClass, When
from punctual_client.webhooks import SignatureError, verify_webhook

RUN = {"requests", "answers", "problems", "repeats", "paging", "signatures", "receive", "durations"}


def named(name: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("case", [pytest.param(case, id=case["name"]) for case in cases_of(name)])


def test_every_file_of_cases_is_run() -> None:
    assert {file.stem for file in (FOLDER / "cases").iterdir()} == RUN


@named("requests")
def test_requests(case: Json, mode: Mode) -> None:
    earlier = case.get("dateOfAnEarlierAnswer")
    tries = ([] if earlier is None else [{"headers": {"date": earlier}}]) + [{}]
    options = {snake_name(name): value for name, value in case["client"].items()}
    scripted = ScriptedClient(mode, tries, now=NOW, **{"namespace": None, **options})

    async def work(client: Any) -> Any:
        if earlier is not None:
            await client.exchange("service.get", {})
        return await outcome_of(client, case["call"], case["request"])

    outcome = scripted.use(work)
    sent = scripted.sent[0 if earlier is None else 1 :]
    if "sends" not in case:
        assert sent == []
        assert isinstance(outcome, PunctualError)
        assert (outcome.code, outcome.written, outcome.status) == ("invalidRequest", "no", None)
        assert case["refuses"] in str(outcome)
        return
    assert len(sent) == 1
    assert sent[0].url.path == case["sends"]["path"]
    assert sent[0].headers["content-type"] == "application/json"
    matches(json.loads(sent[0].content), case["sends"]["body"])
    for text in case["sends"].get("bodyContains", []):
        assert text in sent[0].content.decode()


def matches(found: Any, expected: Any) -> None:
    if isinstance(expected, list):
        for one, other in zip(found, cast("list[object]", expected), strict=True):
            matches(one, other)
    elif not isinstance(expected, dict):
        assert found == expected
    elif "$uuidV7" in expected:
        epoch_ms = round(parse_instant(cast("Json", expected)["$uuidV7"]).timestamp() * 1_000)
        start = f"{epoch_ms:012x}"
        assert re.fullmatch(f"{start[:8]}-{start[8:]}-7[0-9a-f]{{3}}-[89ab][0-9a-f]{{3}}-[0-9a-f]{{12}}", found)
    elif "$anything" not in expected:
        members = cast("Json", expected)
        assert found.keys() == members.keys()
        for name, member in members.items():
            matches(found[name], member)


@named("answers")
def test_answers(case: Json, mode: Mode) -> None:
    scripted = ScriptedClient(mode, [{"body": case["answer"]}])
    is_raw = case.get("rawPayloads") is True

    async def work(client: Any) -> Any:
        if is_raw:
            timers = client.timers.with_payloads(RawJson)
            assert case["call"] == "timers.get"
            return await timers.get(case["request"]["timerId"])
        return await outcome_of(client, case["call"], case["request"])

    assert json_of(scripted.use(work)) == case["value"]


@named("problems")
def test_problems(case: Json, mode: Mode) -> None:
    scripted = ScriptedClient(mode, [case], max_retries=0)
    error = scripted.use(lambda client: outcome_of(client, case["call"], case["request"]))
    assert isinstance(error, PunctualError)
    assert words_of(error) | case["error"] == words_of(error)
    if case.get("body", "").startswith("{"):
        # An empty list of wrong fields is the default.
        document = {name: value for name, value in json.loads(case["body"]).items() if value != []}
        assert json_of(error.problem) == document
    assert len(scripted.sent) == 1


@named("repeats")
def test_repeats(case: Json, mode: Mode) -> None:
    options = {snake_name(name): value for name, value in case.get("client", {}).items()}
    if "maxRetries" in case:
        options["max_retries"] = case["maxRetries"]
    scripted = ScriptedClient(mode, case["tries"], **options)
    changed: Json = {}
    if "deadlineMs" in case:
        changed["deadline"] = parse_instant(NOW).fromtimestamp(
            parse_instant(NOW).timestamp() + case["deadlineMs"] / 1_000, parse_instant(NOW).tzinfo
        )
    outcome = scripted.use(lambda client: outcome_of(client, case["call"], case["request"]), **changed)
    if case["outcome"] == "answer":
        assert not isinstance(outcome, PunctualError)
    else:
        assert isinstance(outcome, PunctualError)
        assert words_of(outcome) | case["outcome"] == words_of(outcome)
    assert len(scripted.sent) == len(case["tries"])
    assert len({request.content for request in scripted.sent}) == 1
    assert scripted.clock.waits_ms == case["waitsMs"]


TABLE = file_of("retries.json")


def test_the_retry_table_names_the_same_operations_with_the_same_rules() -> None:
    def words(rule: RepeatClass | When | EachLike) -> object:
        if isinstance(rule, EachLike):
            return {"each": rule.items, "like": rule.like}
        if not isinstance(rule, When):
            return rule
        has = rule.has if isinstance(rule.has, dict) else list(rule.has)
        return {"as": rule.repeats, "with": has} | ({} if rule.lacks is None else {"without": rule.lacks})

    assert {operation: words(rule) for operation, rule in REPEAT_RULES.items()} == TABLE["operations"]
    assert TABLE["waits"] == {
        "firstWaitMs": repeats.FIRST_WAIT_MS,
        "multiplier": repeats.MULTIPLIER,
        "mostGrownMs": repeats.MOST_GROWN_MS,
        "jitter": repeats.JITTER,
        "longestWaitMs": repeats.LONGEST_WAIT_MS,
    }


@pytest.mark.parametrize("row", TABLE["failures"])
def test_the_retry_table_has_the_same_failures(row: Json) -> None:
    error = error_of(row)
    assert error.written == row["written"]
    classes: tuple[RepeatClass, ...] = ("read", "same", "never")
    assert [repeat for repeat in classes if may_repeat(error, repeat)] == row["repeat"]


def error_of(row: Json) -> PunctualError:
    if "failure" in row:
        errors = {
            "timeout": took_too_long("", 1),
            "connectionRefused": connection_refused("", ""),
            "connectionLost": connection_lost("", ""),
        }
        return errors[row["failure"]]
    written = {"written": row["written"]} if row["status"] in {429, 503} else {}
    text = json.dumps({"code": "x", "detail": "d", **written}) if row.get("isProblem", True) else ""
    return bad_answer(row["status"], {}, text, "")


@named("paging")
def test_paging(case: Json, mode: Mode) -> None:
    scripted = ScriptedClient(mode, [{"body": page} for page in case["pages"]])
    found: list[str] = []

    async def work(client: Any) -> None:
        request = {snake_name(name): value for name, value in case["request"].items()}
        paged = method_of(client, case["call"])(**request)
        if "limit" in case:
            found.extend([timer.timer_id for timer in await paged.to_list(limit=case["limit"])])
            return
        async for timer in paged:
            found.append(timer.timer_id)
            if len(found) == case.get("stopAfter"):
                break

    if case.get("fails"):
        with pytest.raises(NoAnswerError, match="same cursor") as caught:
            scripted.use(work)
        assert (caught.value.code, caught.value.written) == ("unreadableAnswer", "no")
    else:
        scripted.use(work)
        assert found == case["ids"]
    assert [body.get("cursor") for body in scripted.bodies()] == case["cursors"]


@named("signatures")
def test_signatures(case: Json) -> None:
    tolerance = {"tolerance": case["toleranceMs"] / 1_000} if "toleranceMs" in case else {}
    finding = "ok"
    try:
        verify_webhook(
            case["headers"],
            base64.b64decode(case["bodyBase64"]),
            case["secrets"],
            now=case["nowMs"] / 1_000,
            **tolerance,
        )
    except SignatureError as error:
        finding = error.finding
    assert finding == case["finding"]


@pytest.mark.parametrize("case", cases_of("durations"), ids=lambda case: repr(case["text"]))
def test_durations(case: Json) -> None:
    if case["ms"] is None:
        with pytest.raises(ValueError, match="must be a duration"):
            parse_duration(case["text"])
    else:
        assert parse_duration(case["text"]) == timedelta(milliseconds=case["ms"])
