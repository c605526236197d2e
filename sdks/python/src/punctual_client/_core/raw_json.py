"""JSON text that stays as it is.

Python cannot hold every JSON number: 1.10 would become 1.1, and 1E400 would become infinity. Text that is passed on
unchanged stays exact.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

P = TypeVar("P")


@dataclass(frozen=True)
class RawJson:
    """A payload as JSON text. It goes into a request unchanged, or came out of an answer unchanged."""

    text: str

    def __post_init__(self) -> None:
        """Refuse text that is not JSON."""
        # Numbers are not converted: a large one is valid, whether Python can hold it or not.
        json.loads(self.text, parse_int=str, parse_float=str, parse_constant=_refuse_constant)

    def parse(self) -> Any:
        """Return the value, with the numbers that Python can hold."""
        return json.loads(self.text)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def json_text(value: object) -> str:
    """Write a value as JSON, with the exact text of each `RawJson` in it."""
    texts: list[str] = []
    # Nobody can guess the mark, so no text of the value contains it.
    mark = secrets.token_hex(16)

    def marked(part: object) -> str:
        if not isinstance(part, RawJson):
            raise TypeError(f"a value of type {type(part).__name__} is not JSON")
        texts.append(part.text)
        return f"{mark}{len(texts) - 1}"

    text = json.dumps(value, default=marked, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return re.sub(f'"{mark}([0-9]+)"', lambda found: texts[int(found[1])], text) if texts else text


def parse_with_payloads(text: str, depth: int, load: Callable[[str], object]) -> object:
    """Parse JSON, but let `load` read the text of each member `payload` that is this many brackets deep.

    An answer with a timer has its payload at depth 2, `{"timer":{"payload":`. A list has it at depth 3,
    `{"timers":[{"payload":`.
    """
    payloads: list[str] = []
    parts: list[str] = []
    copied_until = 0
    for start, end in _payload_spans(text, depth):
        parts += (text[copied_until:start], str(len(payloads)))
        payloads.append(text[start:end].strip())
        copied_until = end
    value: object = json.loads("".join((*parts, text[copied_until:])))
    return _put_back(value, payloads, depth, load)


def _put_back(value: object, payloads: list[str], depth: int, load: Callable[[str], object]) -> object:
    if isinstance(value, list):
        return [_put_back(item, payloads, depth - 1, load) for item in cast("list[object]", value)]
    if not isinstance(value, dict):
        return value
    members = cast("dict[str, object]", value)
    if depth > 1:
        return {name: _put_back(member, payloads, depth - 1, load) for name, member in members.items()}
    at = members.get("payload") if depth == 1 else None
    return {**members, "payload": load(payloads[at])} if isinstance(at, int) else members


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
_COLON = re.compile(r"\s{0,100}:")


def _payload_spans(text: str, payload_depth: int) -> list[tuple[int, int]]:
    """Find the values of the payloads. This relies on valid JSON: other text fails when it is parsed."""
    spans: list[tuple[int, int]] = []
    depth = 0
    start: int | None = None
    for match in _TOKEN.finditer(text):
        found = match[0]
        if start is not None and depth == payload_depth and found in {"}", "]", ","}:
            spans.append((start, match.start()))
            start = None
        if found in {"{", "["}:
            depth += 1
        elif found in {"}", "]"}:
            depth -= 1
        elif found == '"payload"' and depth == payload_depth and start is None:
            colon = _COLON.match(text, match.end())
            start = None if colon is None else colon.end()
    return spans
