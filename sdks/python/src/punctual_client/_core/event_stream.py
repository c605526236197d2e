"""Reads Server-Sent Events from pieces of text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final
from urllib.parse import urlencode

from ..contract.operators import StreamEvent
from .connection import Connection, Plan, Send

LONGEST_BLOCK_CHARS: Final = 1024 * 1024
"""A longer piece is no event of this service."""

_LINE = re.compile(r"(\w+): ?(.*)")


def stream_request(
    connection: Connection,
    namespaces: Sequence[str] | None,
    types: Sequence[str] | None,
    last_event_id: str | None,
) -> Plan[Send]:
    """Make the request that begins a stream."""
    lists = {"namespaces": namespaces, "types": types}
    query = urlencode({name: ",".join(values) for name, values in lists.items() if values is not None})
    after = {} if last_event_id is None else {"last-event-id": last_event_id}
    path = "events/stream" + (f"?{query}" if query else "")
    return (yield from connection.request(path, {"accept": "text/event-stream", **after}, None))


class EventReader:
    """Finds the events in the pieces of a stream, which may be cut anywhere."""

    def __init__(self) -> None:
        """Begin before the first piece."""
        self._text = ""

    def feed(self, piece: str) -> Iterator[StreamEvent]:
        """Return the events that end in this piece."""
        *blocks, self._text = (self._text + piece).split("\n\n")
        if len(self._text) > LONGEST_BLOCK_CHARS:
            raise ValueError("the stream has an event without an end")
        for block in blocks:
            fields = {found[1]: found[2] for line in block.split("\n") if (found := _LINE.fullmatch(line))}
            # A block without an event is a comment, which keeps the connection open.
            if "event" in fields:
                data = json.loads(fields["data"]) if fields.get("data") else None
                yield StreamEvent(type=fields["event"], id=fields.get("id"), data=data)
