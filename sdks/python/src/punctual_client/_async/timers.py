# tools/make_async.py made this file from _sync/timers.py: change that file.
"""The calls about timers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

from .._core.caller import Caller, Page, pages_of
from .._core.complete import in_scope, of_create, of_selection, of_timer, of_update
from .._core.refused import refused_here
from .._core.wire import fields_of, given
from ..contract.requests import (
    CountTimers,
    CreateTimer,
    DeleteManyTimers,
    DiscardTimers,
    Duration,
    GetActivity,
    HistogramFilter,
    InstantInput,
    ListTimers,
    ReplayTimers,
    UpdateTimer,
)
from ..contract.timers import (
    ActivityAnswer,
    CountTimersAnswer,
    CreatedItem,
    CreateManyTimersAnswer,
    CreateTimerAnswer,
    DeleteManyTimersAnswer,
    DeleteTimerAnswer,
    DiscardTimersAnswer,
    FailedItem,
    ListLivesAnswer,
    ListTimersAnswer,
    ReplayTimersAnswer,
    Timer,
    TimerAnswer,
    TimerHistogramAnswer,
    UpdateTimerAnswer,
)
from .group import AsyncGroup
from .paging import AsyncPaged

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .driver import AsyncDriver

P = TypeVar("P")
Q = TypeVar("Q")

# How many brackets deep the payloads of an answer are: see parse_with_payloads.
_IN_ONE = 2
_IN_MANY = 3


class AsyncTimers(AsyncGroup, Generic[P]):
    """The calls about timers, as `punctual.timers`. `P` is the type of the payloads in answers."""

    def __init__(self, driver: AsyncDriver, caller: Caller, load: Callable[[str], P] | None = None) -> None:
        """Make the calls of a client. Only the client does this."""
        super().__init__(driver, caller)
        self._load = load

    def with_payloads(self, load: Callable[[str], Q]) -> AsyncTimers[Q]:
        """Return the same calls, whose answers have payloads that `load` made of their JSON text.

        Examples are `Reminder.model_validate_json` of pydantic, `RawJson` for the exact text, or
        `partial(json.loads, parse_float=Decimal)`.
        """
        return AsyncTimers(self._driver, self._caller, load)

    async def create(self, **timer: Unpack[CreateTimer]) -> CreateTimerAnswer[P]:
        """Create a timer. When this returns, the timer is on stable storage.

        The client repeats the call after a time-out, unless `on_existing` is `fail`; the result can then be
        `unchanged` instead of `created`.
        """
        fields = of_create(self._caller, timer)
        return await self._run(
            self._caller.call_with_payloads("timers.create", fields, CreateTimerAnswer[P], self._load, _IN_ONE)
        )

    async def create_many(self, timers: Sequence[CreateTimer]) -> tuple[CreatedItem | FailedItem, ...]:
        """Create up to 1,000 timers in one call. One that the service refuses does not affect the others."""
        if not timers:
            raise refused_here("timers", "must not be empty")
        fields = {"timers": [of_create(self._caller, timer) for timer in timers]}
        answer = await self._run(self._caller.call("timers.createMany", fields, CreateManyTimersAnswer))
        return answer.results

    async def get(self, timer_id: str, *, namespace: str | None = None) -> Timer[P]:
        """Return the pending timer with this id, or else the one that finished last.

        Raises `NotFoundError` if there is none.
        """
        fields = of_timer(self._caller, given(timer_id=timer_id, namespace=namespace))
        answer = await self._run(
            self._caller.call_with_payloads("timers.get", fields, TimerAnswer[P], self._load, _IN_ONE)
        )
        return answer.timer

    async def update(self, timer_id: str, **changes: Unpack[UpdateTimer]) -> UpdateTimerAnswer[P]:
        """Change a pending timer. With `if_revision` the client repeats the call after a time-out, else it does not."""
        fields = of_update(self._caller, timer_id, changes)
        return await self._run(
            self._caller.call_with_payloads("timers.update", fields, UpdateTimerAnswer[P], self._load, _IN_ONE)
        )

    async def cancel(
        self, timer_id: str, *, namespace: str | None = None, if_revision: int | None = None
    ) -> DeleteTimerAnswer:
        """Cancel a timer, and say what that did. After `cancelled` no attempt starts.

        With `if_revision` it is cancelled only if it still has this revision.
        """
        fields = given(timer_id=timer_id, namespace=namespace, if_revision=if_revision)
        return await self._run(self._caller.call("timers.delete", of_timer(self._caller, fields), DeleteTimerAnswer))

    async def cancel_many(self, **selection: Unpack[DeleteManyTimers]) -> DeleteManyTimersAnswer:
        """Cancel a limited number of timers. Repeat it while the answer has `more`. Never repeated after a time-out."""
        fields = of_selection(self._caller, fields_of(DeleteManyTimers, selection), "filter", "all")
        return await self._run(self._caller.call("timers.deleteMany", fields, DeleteManyTimersAnswer))

    def list(self, **request: Unpack[ListTimers]) -> AsyncPaged[Timer[P]]:
        """List all timers that match, such as those with `tag="trial"`."""
        fields = in_scope(self._caller, fields_of(ListTimers, request))
        return self._paged(
            pages_of(
                lambda page: self._caller.call_with_payloads(
                    "timers.list", page, ListTimersAnswer[P], self._load, _IN_MANY
                ),
                fields,
                lambda answer: Page(answer.timers, answer.next_cursor),
            )
        )

    def lives(
        self,
        timer_id: str,
        *,
        namespace: str | None = None,
        cursor: str | None = None,
        limit: int | None = None,
    ) -> AsyncPaged[Timer[P]]:
        """List all lives of a timer id that the service still has, latest first."""
        request = given(timer_id=timer_id, namespace=namespace, cursor=cursor, limit=limit)
        return self._paged(
            pages_of(
                lambda page: self._caller.call_with_payloads(
                    "timers.lives", page, ListLivesAnswer[P], self._load, _IN_MANY
                ),
                of_timer(self._caller, request),
                lambda answer: Page(answer.lives, answer.next_cursor),
            )
        )

    async def count(self, **request: Unpack[CountTimers]) -> CountTimersAnswer:
        """Count the timers that match."""
        fields = in_scope(self._caller, fields_of(CountTimers, request))
        return await self._run(self._caller.call("timers.count", fields, CountTimersAnswer))

    async def histogram(self, *, filter: HistogramFilter, buckets: int) -> TimerHistogramAnswer:  # noqa: A002
        """Count the timers in each part of a span of time. `buckets` is from 1 to 500."""
        scope = in_scope(self._caller, fields_of(HistogramFilter, filter))
        return await self._run(
            self._caller.call("timers.histogram", {"filter": scope, "buckets": buckets}, TimerHistogramAnswer)
        )

    async def activity(
        self, *, from_: InstantInput, until: InstantInput, step: Duration, **request: Unpack[GetActivity]
    ) -> ActivityAnswer:
        """Tell what happened over time: created, delivered, retried, dead and cancelled timers in each step.

        A step is whole minutes or whole hours.
        """
        fields = {**fields_of(GetActivity, request), **given(from_=from_, until=until, step=step)}
        if "namespaces" not in fields and self._caller.namespace is not None:
            fields["namespaces"] = [self._caller.namespace]
        return await self._run(self._caller.call("timers.activity", fields, ActivityAnswer))

    async def replay(self, **selection: Unpack[ReplayTimers]) -> ReplayTimersAnswer:
        """Arm dead letters again. Never repeated after a time-out, except with `dry_run`."""
        fields = of_selection(self._caller, fields_of(ReplayTimers, selection), "timerId", "filter", "all")
        return await self._run(self._caller.call("timers.replay", fields, ReplayTimersAnswer))

    async def discard(self, **selection: Unpack[DiscardTimers]) -> DiscardTimersAnswer:
        """Remove dead letters. Never repeated after a time-out, except with `dry_run`."""
        fields = of_selection(self._caller, fields_of(DiscardTimers, selection), "timerId", "filter", "all")
        return await self._run(self._caller.call("timers.discard", fields, DiscardTimersAnswer))
