"""Durations and instants as the service writes them. The client needs their values to send a delay as an instant."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_SHORT = re.compile(r"(?:([0-9]{1,15})d)?(?:([0-9]{1,15})h)?(?:([0-9]{1,15})m)?(?:([0-9]{1,15})s)?(?:([0-9]{1,15})ms)?")
_ISO = re.compile(
    r"P(?=.)(?:([0-9]{1,15})D)?"
    r"(?:T(?=.)(?:([0-9]{1,15})H)?(?:([0-9]{1,15})M)?(?:([0-9]{1,15})(?:\.([0-9]{1,3}))?S)?)?"
)

_LONGEST_TEXT = 100
_LONGEST = timedelta(days=3653)
"""The longest duration of the grammar: ten years."""

_FORM = f"must be a duration such as 90s, 1h30m or 7d, of at most {_LONGEST.days} days"
_MILLISECOND = timedelta(milliseconds=1)
_UNITS = (("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1))


def parse_duration(text: str) -> timedelta:
    """Read `90s`, `1h30m`, `250ms`, `7d` or `PT90S`. Raises a ValueError if the text is no duration, or too long a one."""
    is_iso = text.startswith("P")
    match = (_ISO if is_iso else _SHORT).fullmatch(text) if 0 < len(text) <= _LONGEST_TEXT else None
    if match is None:
        raise ValueError(_FORM)
    days, hours, minutes, seconds, rest = (part or "0" for part in match.groups())
    total = ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds)
    total_ms = total * 1_000 + int(rest.ljust(3, "0") if is_iso else rest)
    if total_ms > _LONGEST // _MILLISECOND:
        raise ValueError(_FORM)
    return total_ms * _MILLISECOND


def duration_text(duration: timedelta) -> str:
    """Write a duration, such as `1h30m`. Parts of a millisecond are left out."""
    left_ms = duration // _MILLISECOND
    if left_ms < 0:
        raise ValueError("must not be negative")
    text = ""
    for unit, unit_ms in _UNITS:
        count, left_ms = divmod(left_ms, unit_ms)
        text += f"{count}{unit}" if count else ""
    return text or "0s"


def instant_text(instant: datetime) -> str:
    """Write an instant in UTC with milliseconds."""
    if instant.utcoffset() is None:
        raise ValueError("must have a time zone, such as datetime.now(timezone.utc)")
    return instant.astimezone(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def parse_instant(text: str) -> datetime:
    """Read an instant as the service writes it. Python 3.10 does not know the letter Z."""
    return datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(timezone.utc)


def instant_of_ms(epoch_ms: int) -> datetime:
    """Give the instant of a number of milliseconds since 1970."""
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + epoch_ms * _MILLISECOND
