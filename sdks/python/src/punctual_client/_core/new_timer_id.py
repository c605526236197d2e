"""Ids of timers that have none: UUIDs of version 7, which sort by their time."""

from __future__ import annotations

import secrets
import time
from uuid import UUID


def new_timer_id(now_ms: int | None = None) -> str:
    """Make an id as the client does for a timer without one: a UUID v7, with 48 bits of time and 74 random bits.

    The time is in milliseconds since 1970; now when left out.
    """
    now_ms = time.time_ns() // 1_000_000 if now_ms is None else now_ms
    random = secrets.randbits(74)
    high = (now_ms & (1 << 48) - 1) << 16 | 0x7000 | random >> 62
    low = 0b10 << 62 | random & (1 << 62) - 1
    return str(UUID(int=high << 64 | low))
