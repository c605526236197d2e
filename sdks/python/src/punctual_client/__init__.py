"""The client of Punctual: create, change, find and cancel timers."""

from ._async.client import AsyncPunctual
from ._async.paging import AsyncPaged
from ._async.timers import AsyncTimers
from ._core.caller import Answer, Page
from ._core.durations import parse_duration
from ._core.new_timer_id import new_timer_id
from ._core.raw_json import RawJson
from ._core.settings import AnswerEvent, Clock, FailureEvent, Hooks, RequestEvent
from ._sync.client import Punctual
from ._sync.paging import Paged
from ._sync.timers import Timers
from .contract.timers import Timer
from .errors import (
    AccessError,
    ConflictError,
    Failure,
    InvalidRequestError,
    NoAnswerError,
    NotFoundError,
    PunctualError,
    QuotaError,
    UnavailableError,
)

__all__ = [
    "AccessError",
    "Answer",
    "AnswerEvent",
    "AsyncPaged",
    "AsyncPunctual",
    "AsyncTimers",
    "Clock",
    "ConflictError",
    "Failure",
    "FailureEvent",
    "Hooks",
    "InvalidRequestError",
    "NoAnswerError",
    "NotFoundError",
    "Page",
    "Paged",
    "Punctual",
    "PunctualError",
    "QuotaError",
    "RawJson",
    "RequestEvent",
    "Timer",
    "Timers",
    "UnavailableError",
    "new_timer_id",
    "parse_duration",
]
