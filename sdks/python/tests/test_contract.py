"""This library has every operation, field, value and code of the OpenAPI document.

So a change of the contract that the library does not follow fails here. `contract.json` is made from the document.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Sequence
from typing import Any, Literal, get_args, get_origin, get_type_hints, is_typeddict

import pytest

from conformance_run import Json, file_of, method_of
from punctual_client import AsyncPunctual, Punctual, contract
from punctual_client._core.repeats import REPEAT_RULES
from punctual_client._core.wire import wire_name
from punctual_client.contract import ProblemCode
from punctual_client.webhooks import TimerEvent

CONTRACT = file_of("contract.json")
OPERATIONS: dict[str, dict[str, str]] = CONTRACT["operations"]
SCHEMAS: dict[str, dict[str, Json]] = CONTRACT["schemas"]

# Schemas that this library has under another name, or not at all, and why.
ELSEWHERE = {
    "HandlerTargetInput": "only for programs that contain the engine; the service refuses it",
    "WebhookAnswer": "the handler writes it; its parts are Again, Retry and Dead",
}
EVENTS = {"TimerFired", "TimerDead"}
CLIENTS = (Punctual("http://service.test", ""), AsyncPunctual("http://service.test", ""))


def shape_of(name: str) -> type | None:
    return TimerEvent if name in EVENTS else getattr(contract, name, None)


def fields_of_shape(shape: type) -> dict[str, Any]:
    return {wire_name(name): hint for name, hint in get_type_hints(shape).items()}


def fields_of_method(operation: str) -> dict[str, Any]:
    """List the fields that a method takes, by name or as keyword arguments of a TypedDict."""
    method: Any = method_of(CLIENTS[0], operation)
    found: dict[str, Any] = {}
    names = {**vars(contract), "Literal": Literal, "Sequence": Sequence}
    for parameter in inspect.signature(method).parameters.values():
        packed = re.fullmatch(r"Unpack\[(\w+)\]", str(parameter.annotation))
        if packed is not None:
            found |= fields_of_shape(getattr(contract, packed[1]))
        else:
            found[wire_name(parameter.name)] = eval(str(parameter.annotation), names)
    return found


def values_in(hint: Any) -> set[object]:
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    parts: tuple[Any, ...] = get_args(hint)
    return {value for part in parts for value in values_in(part)}


def requests() -> dict[str, str]:
    return {names["request"]: operation for operation, names in OPERATIONS.items() if "request" in names}


def test_there_is_a_call_for_every_operation() -> None:
    for client in CLIENTS:
        assert all(callable(method_of(client, operation)) for operation in OPERATIONS)


def test_both_clients_have_the_same_calls_and_no_others() -> None:
    def calls_of(client: object) -> set[str]:
        found: set[str] = set()
        for group, member in vars(client).items():
            if not group.startswith("_"):
                methods = [name for name in dir(member) if not name.startswith("_")]
                found |= {f"{group}.{name}" for name in methods}
        return found | {"cluster.cluster"}

    known = {
        (
            wire_name(name)
            if group != "timers"
            else {"cancel": "delete", "cancel_many": "deleteMany"}.get(name, wire_name(name)),
            group,
        )
        for group, _, name in (call.partition(".") for call in calls_of(CLIENTS[0]))
    }
    assert calls_of(CLIENTS[0]) == calls_of(CLIENTS[1])
    assert {f"{group}.{name}" for name, group in known} - {"timers.withPayloads"} == set(OPERATIONS)


def test_there_is_a_rule_of_repeats_for_every_operation() -> None:
    assert set(REPEAT_RULES) == set(OPERATIONS)


@pytest.mark.parametrize("name", [name for name in SCHEMAS if name not in ELSEWHERE])
def test_every_field_and_listed_value_exists(name: str) -> None:
    shape = shape_of(name)
    operation = requests().get(name)
    found = ({} if shape is None else fields_of_shape(shape)) | (
        {} if operation is None else fields_of_method(operation)
    )
    assert set(SCHEMAS[name]) - set(found) == set()
    for field, rule in SCHEMAS[name].items():
        assert set(rule.get("values", [])) - values_in(found[field]) == set(), field


@pytest.mark.parametrize("name", sorted({names["answer"] for names in OPERATIONS.values() if "answer" in names}))
def test_what_an_answer_may_lack_has_a_default(name: str) -> None:
    shape: Any = shape_of(name)
    required = {
        wire_name(field.name)
        for field in dataclasses.fields(shape)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    assert required == {field for field, rule in SCHEMAS[name].items() if rule["required"]}


def test_every_schema_that_is_elsewhere_is_a_schema() -> None:
    assert set(ELSEWHERE) | EVENTS <= set(SCHEMAS)


def test_every_code_exists() -> None:
    assert set(CONTRACT["codes"]) <= set(get_args(ProblemCode))


def test_requests_are_typed_dicts_and_answers_are_frozen() -> None:
    for name in contract.__all__:
        member = getattr(contract, name)
        if inspect.isclass(member) and not is_typeddict(member):
            assert dataclasses.is_dataclass(member), name
            params: Any = vars(member)["__dataclass_params__"]
            assert params.frozen, name
