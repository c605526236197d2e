"""Ids of timers that have none: UUIDs of version 7, which sort by their time."""

from __future__ import annotations

import secrets
from uuid import UUID


def new_timer_id(now_ms: int) -> str:
    """Make a UUID v7: 48 bits of time and 74 random bits."""
    random = secrets.randbits(74)
    high = (now_ms & (1 << 48) - 1) << 16 | 0x7000 | random >> 62
    low = 0b10 << 62 | random & (1 << 62) - 1
    return str(UUID(int=high << 64 | low))
