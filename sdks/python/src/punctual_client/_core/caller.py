"""Calls operations of the API by their ids: it writes the body, sends it, and reads the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from .connection import Connection, Outgoing, Plan, Reply
from .failures import unreadable
from .raw_json import json_text, parse_with_payloads
from .refused import refused_here
from .repeats import Fields, repeat_class_of
from .wire import read_answer

T = TypeVar("T")
A = TypeVar("A")
Load = Callable[[str], object]
"""Reads a payload from its exact JSON text."""


@dataclass(frozen=True)
class Page(Generic[T]):
    """One page of a list, and where the next one begins."""

    items: tuple[T, ...]
    next_cursor: str | None
    """None on the last page. A page can be empty and still have one."""


ReadPage = Callable[["str | None"], Plan[Page[T]]]
"""Reads the page at the cursor; the first one without a cursor."""


@dataclass(frozen=True)
class Answer:
    """An answer with its exact text."""

    value: object
    text: str
    """The JSON text, as the service wrote it."""
    request_id: str | None
    """The id of the request in the logs of the service."""


@dataclass(frozen=True)
class Caller:
    """Calls operations through a connection."""

    connection: Connection

    @property
    def namespace(self) -> str | None:
        """The namespace of requests that name none."""
        return self.connection.settings.namespace

    def exchange(self, operation: str, fields: Fields) -> Plan[Answer]:
        """Return the answer with its exact text."""
        reply = yield from self._send(operation, fields)
        value = _read(operation, fields, reply, lambda: json.loads(reply.text))
        return Answer(value, reply.text, reply.request_id)

    def call(self, operation: str, fields: Fields, answer: type[A]) -> Plan[A]:
        """Return the answer as a dataclass."""
        reply = yield from self._send(operation, fields)
        return _read(operation, fields, reply, lambda: read_answer(answer, json.loads(reply.text)))

    def call_with_payloads(
        self, operation: str, fields: Fields, answer: type[A], load: Load | None, depth: int
    ) -> Plan[A]:
        """Return the answer as a dataclass. `load` reads the payloads, which are this many brackets deep."""
        if load is None:
            return (yield from self.call(operation, fields, answer))
        reply = yield from self._send(operation, fields)
        # If the user's function fails, its own error reaches the user.
        _read(operation, fields, reply, lambda: json.loads(reply.text, parse_int=str, parse_float=str))
        value = parse_with_payloads(reply.text, depth, load)
        return _read(operation, fields, reply, lambda: read_answer(answer, value))

    def _send(self, operation: str, fields: Fields) -> Plan[Reply]:
        try:
            body = json_text(fields).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise refused_here("request", f"cannot be written as JSON: {error}") from error
        repeats = repeat_class_of(operation, fields)
        return (yield from self.connection.send(Outgoing(operation, _path_of(operation), body, repeats)))


def pages_of(
    read: Callable[[Mapping[str, object]], Plan[A]],
    fields: Fields,
    page_of: Callable[[A], Page[T]],
) -> ReadPage[T]:
    """Make the function that reads one page of a list."""

    def read_page(cursor: str | None) -> Plan[Page[T]]:
        request = fields if cursor is None else {**fields, "cursor": cursor}
        return page_of((yield from read(request)))

    return read_page


def _read(operation: str, fields: Fields, reply: Reply, read: Callable[[], T]) -> T:
    try:
        return read()
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        repeats = repeat_class_of(operation, fields)
        raise unreadable(operation, repeats, status=reply.status, request_id=reply.request_id, why=error) from error


def _path_of(operation: str) -> str:
    """Find the path: `timers.create` is at `timers/create`, and `cluster.cluster` at `cluster`."""
    group, _, name = operation.partition(".")
    return group if group == name else f"{group}/{name}"
