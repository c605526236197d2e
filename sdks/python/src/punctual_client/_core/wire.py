"""The names and values of Python as JSON, and back.

Requests are TypedDicts and answers are dataclasses. Both say in their annotations what their fields are, so this module
needs no list of fields.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints, is_typeddict

from ..contract.shape import Shape
from .durations import duration_text, instant_text, parse_duration, parse_instant
from .refused import refused_here

T = TypeVar("T")


@lru_cache(maxsize=1024)
def wire_name(name: str) -> str:
    """Turn `timer_id` into `timerId`, and `from_` into `from`."""
    first, *others = name.rstrip("_").split("_")
    return first + "".join(part.capitalize() for part in others)


@lru_cache(maxsize=256)
def _hints(shape: type) -> Mapping[str, Any]:
    return get_type_hints(shape)


def _options(hint: Any) -> tuple[Any, ...]:
    """List the members of a union; a type alone is its only member."""
    return get_args(hint) if get_origin(hint) in {Union, types.UnionType} else (hint,)


def fields_of(shape: type, request: Mapping[str, object]) -> dict[str, object]:
    """Turn the keyword arguments of a request into the fields that are sent."""
    hints = _hints(shape)
    unknown = [name for name in request if name not in hints]
    if unknown:
        raise TypeError(f"{shape.__name__} has no field {', '.join(unknown)}")
    return {wire_name(name): _wire_value(name, value, hints[name]) for name, value in request.items()}


def given(**fields: object) -> dict[str, object]:
    """Turn simple arguments into the fields that are sent. None means absent."""
    return {wire_name(name): _wire_value(name, value, None) for name, value in fields.items() if value is not None}


def _wire_value(name: str, value: object, hint: Any) -> object:
    # A payload is the caller's own, and stays as it is.
    if hint is object:
        return value
    try:
        if isinstance(value, datetime):
            return instant_text(value)
        if isinstance(value, timedelta):
            return duration_text(value)
    except ValueError as error:
        raise refused_here(wire_name(name), str(error)) from None
    if isinstance(value, Mapping):
        members = cast("Mapping[str, object]", value)
        shapes = [option for option in _options(hint) if is_typeddict(option)]
        fitting = [shape for shape in shapes if members.keys() <= _hints(shape).keys()]
        return fields_of((fitting or shapes)[0], members) if shapes else members
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        items = cast("Sequence[object]", value)
        lists = [option for option in _options(hint) if get_origin(option) is Sequence]
        item_hint = get_args(lists[0])[0] if lists else None
        return [_wire_value(name, item, item_hint) for item in items]
    return value


Reader = Callable[[Any], Any]


def read_answer(answer: type[T], value: object) -> T:
    """Make the dataclass of an answer. Raises an exception of Python if the value does not have its form."""
    hint: Any = answer
    return cast("T", _reader_of(hint)(value))


@lru_cache(maxsize=512)
def _reader_of(hint: Any) -> Reader:
    if hint is datetime:
        return parse_instant
    if hint is timedelta:
        return parse_duration
    origin = get_origin(hint) or hint
    if origin is tuple:
        read_item = _reader_of(get_args(hint)[0])
        return lambda items: tuple(read_item(item) for item in items)
    options = [option for option in _options(hint) if option is not type(None)]
    if len(options) > 1:
        return _reader_of_choice(tuple(options))
    if options != [hint]:
        read = _reader_of(options[0])
        return lambda value: None if value is None else read(value)
    return _reader_of_shape(origin) if _is_shape(origin) else _as_it_is


def _is_shape(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Shape)


def _reader_of_shape(shape: Any) -> Reader:
    hints = _hints(shape)
    names = [field.name for field in dataclasses.fields(shape) if field.name != "extra"]
    fields = {wire_name(name): (name, _reader_of(hints[name])) for name in names}

    def read(value: Mapping[str, object]) -> object:
        known: dict[str, object] = {}
        extra: dict[str, object] = {}
        for wire, member in value.items():
            if wire in fields:
                name, read_member = fields[wire]
                known[name] = read_member(member)
            else:
                extra[wire] = member
        return shape(**known, extra=extra)

    return read


def _reader_of_choice(options: tuple[Any, ...]) -> Reader:
    """Read a union of dataclasses: by its type if they have one, else by the fields that must be there."""
    shapes = [option for option in options if _is_shape(get_origin(option) or option)]
    if not shapes:
        return _as_it_is

    def read(value: Mapping[str, object] | None) -> object:
        if value is None:
            return None
        # What only a newer service knows is kept, but has no type.
        shape = next((shape for shape in shapes if _fits(shape, value)), Shape)
        return _reader_of(shape)(value)

    return read


def _fits(shape: Any, value: Mapping[str, object]) -> bool:
    kind = _hints(shape).get("type")
    if get_origin(kind) is Literal:
        return value.get("type") in get_args(kind)
    return all(
        wire_name(field.name) in value
        for field in dataclasses.fields(shape)
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    )


def _as_it_is(value: object) -> object:
    return value
