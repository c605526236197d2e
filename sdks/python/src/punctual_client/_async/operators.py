# tools/make_async.py made this file from _sync/operators.py: change that file.
"""The calls for operators, by group."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import TYPE_CHECKING, Literal

from .._core.caller import Page, pages_of
from .._core.complete import in_namespace, in_scope
from .._core.event_stream import stream_request
from .._core.wire import fields_of, given
from ..contract.access import (
    AuditRecord,
    ConfirmKeysAnswer,
    CreateKey,
    DiscardMessageAnswer,
    EndSessionAnswer,
    Key,
    KeyAnswer,
    ListAudit,
    ListAuditAnswer,
    ListedMessage,
    ListKeysAnswer,
    ListMessagesAnswer,
    MessageAnswer,
    NewKeyAnswer,
    ReplayMessageAnswer,
    RevokeLeakedKeyAnswer,
    SelfAnswer,
    SessionAnswer,
    StoredMessage,
)
from ..contract.operators import (
    AdvanceClockAnswer,
    BulkAnswer,
    BulkFilterInput,
    BulkJob,
    CheckEgressAnswer,
    ListBreakersAnswer,
    ListBulkAnswer,
    ListNamespacesAnswer,
    NamespaceAnswer,
    NamespaceView,
    PutNamespace,
    PutNamespaceAnswer,
    ResetBreakersAnswer,
    ServiceAnswer,
    StartBulk,
    StreamEvent,
)
from .group import AsyncGroup
from .paging import AsyncPaged

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..contract.requests import Duration, InstantInput


class AsyncBulk(AsyncGroup):
    """Jobs that replay, discard or cancel many timers, also of several namespaces."""

    async def start(self, **job: Unpack[StartBulk]) -> BulkJob:
        """Start a job. Never repeated after a time-out: look with `list` first."""
        fields = fields_of(StartBulk, job)
        scope = in_scope(self._caller, fields_of(BulkFilterInput, job["filter"]))
        answer = await self._run(self._caller.call("bulk.start", {**fields, "filter": scope}, BulkAnswer))
        return answer.job

    async def get(self, job_id: str) -> BulkJob:
        """Tell the progress of a job."""
        answer = await self._run(self._caller.call("bulk.get", given(job_id=job_id), BulkAnswer))
        return answer.job

    def list(self, *, cursor: str | None = None, limit: int | None = None) -> AsyncPaged[BulkJob]:
        """List all jobs, newest first."""
        return self._paged(
            pages_of(
                lambda page: self._caller.call("bulk.list", page, ListBulkAnswer),
                given(cursor=cursor, limit=limit),
                lambda answer: Page(answer.jobs, answer.next_cursor),
            )
        )

    async def abort(self, job_id: str) -> BulkJob:
        """Stop a job. What it has done stays done."""
        answer = await self._run(self._caller.call("bulk.abort", given(job_id=job_id), BulkAnswer))
        return answer.job


class AsyncNamespaces(AsyncGroup):
    """Settings of namespaces."""

    async def put(self, namespace: str | None = None, **settings: Unpack[PutNamespace]) -> PutNamespaceAnswer:
        """Change settings: secrets, retry policy, quotas, pause."""
        fields = {**fields_of(PutNamespace, settings), **given(namespace=namespace)}
        return await self._run(
            self._caller.call("namespaces.put", in_namespace(self._caller, fields), PutNamespaceAnswer)
        )

    async def get(self, namespace: str | None = None) -> NamespaceView:
        """Return the settings and counts of a namespace."""
        fields = in_namespace(self._caller, given(namespace=namespace))
        answer = await self._run(self._caller.call("namespaces.get", fields, NamespaceAnswer))
        return answer.settings

    def list(
        self, *, prefix: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> AsyncPaged[NamespaceView]:
        """List all namespaces that the key may read, by name."""
        return self._paged(
            pages_of(
                lambda page: self._caller.call("namespaces.list", page, ListNamespacesAnswer),
                given(prefix=prefix, cursor=cursor, limit=limit),
                lambda answer: Page(answer.namespaces, answer.next_cursor),
            )
        )


class AsyncService(AsyncGroup):
    """The service as a whole."""

    async def get(self, *, settings: Literal[True] | None = None) -> ServiceAnswer:
        """Tell the time of the service, its pause and its program; with `settings` also its settings."""
        return await self._run(self._caller.call("service.get", given(settings=settings), ServiceAnswer))

    async def pause(self, *, reason: str | None = None) -> ServiceAnswer:
        """Stop all firing. Timers are still accepted."""
        return await self._run(self._caller.call("service.pause", given(reason=reason), ServiceAnswer))

    async def resume(self, *, fire_overdue: Literal[True] | None = None) -> ServiceAnswer:
        """Start firing again. After a restore, `fire_overdue` must be given."""
        fields = given(fire_overdue=fire_overdue)
        return await self._run(self._caller.call("service.resume", fields, ServiceAnswer))


class AsyncBreakers(AsyncGroup):
    """Hosts that failed too often in a row."""

    async def list(self) -> ListBreakersAnswer:
        """List the open breakers of the node that answers."""
        return await self._run(self._caller.call("breakers.list", {}, ListBreakersAnswer))

    async def reset(self, host: str) -> ResetBreakersAnswer:
        """Try a host again at once."""
        return await self._run(self._caller.call("breakers.reset", given(host=host), ResetBreakersAnswer))


class AsyncKeys(AsyncGroup):
    """Who may call the service."""

    async def create(self, **key: Unpack[CreateKey]) -> NewKeyAnswer:
        """Make a key. Never repeated after a time-out, so that there are not two."""
        return await self._run(self._caller.call("keys.create", fields_of(CreateKey, key), NewKeyAnswer))

    async def rotate(self, id: str, *, grace: Duration | None = None) -> NewKeyAnswer:  # noqa: A002
        """Give a key a new secret. The old one stays valid for `grace`. Never repeated after a time-out."""
        return await self._run(self._caller.call("keys.rotate", given(id=id, grace=grace), NewKeyAnswer))

    async def revoke(self, id: str) -> Key:  # noqa: A002
        """End a key, on every node within a second."""
        answer = await self._run(self._caller.call("keys.revoke", given(id=id), KeyAnswer))
        return answer.key

    async def revoke_leaked(self, api_key: str) -> RevokeLeakedKeyAnswer:
        """End a key that others have seen. Who knows it may revoke it."""
        fields = given(api_key=api_key)
        return await self._run(self._caller.call("keys.revokeLeaked", fields, RevokeLeakedKeyAnswer))

    async def confirm(
        self,
        *,
        id: str | None = None,  # noqa: A002
        all: Literal[True] | None = None,  # noqa: A002
    ) -> ConfirmKeysAnswer:
        """Confirm keys of a restored store: one, or all."""
        return await self._run(self._caller.call("keys.confirm", given(id=id, all=all), ConfirmKeysAnswer))

    async def get(self, id: str) -> Key:  # noqa: A002
        """Return one key, without its secret."""
        answer = await self._run(self._caller.call("keys.get", given(id=id), KeyAnswer))
        return answer.key

    def list(self, *, cursor: str | None = None, limit: int | None = None) -> AsyncPaged[Key]:
        """List all keys, without their secrets."""
        return self._paged(
            pages_of(
                lambda page: self._caller.call("keys.list", page, ListKeysAnswer),
                given(cursor=cursor, limit=limit),
                lambda answer: Page(answer.keys, answer.next_cursor),
            )
        )

    async def self(self) -> SelfAnswer:
        """Tell who calls, and what the caller may do."""
        return await self._run(self._caller.call("keys.self", {}, SelfAnswer))


class AsyncSessions(AsyncGroup):
    """Cookies in place of keys, for pages."""

    async def create(self, api_key: str) -> SessionAnswer:
        """Exchange a key for a cookie, which the client of httpx keeps."""
        return await self._run(self._caller.call("sessions.create", given(api_key=api_key), SessionAnswer))

    async def end(self) -> EndSessionAnswer:
        """End the session of the cookie."""
        return await self._run(self._caller.call("sessions.end", {}, EndSessionAnswer))


class AsyncMessages(AsyncGroup):
    """Messages from the broker that could not be handled."""

    def list(
        self, *, namespace: str | None = None, cursor: str | None = None, limit: int | None = None
    ) -> AsyncPaged[ListedMessage]:
        """List all messages that could not be handled."""
        return self._paged(
            pages_of(
                lambda page: self._caller.call("messages.list", page, ListMessagesAnswer),
                given(namespace=namespace, cursor=cursor, limit=limit),
                lambda answer: Page(answer.messages, answer.next_cursor),
            )
        )

    async def get(self, id: str, *, namespace: str | None = None) -> StoredMessage:  # noqa: A002
        """Return one message with its content."""
        fields = in_namespace(self._caller, given(id=id, namespace=namespace))
        answer = await self._run(self._caller.call("messages.get", fields, MessageAnswer))
        return answer.message

    async def replay(self, id: str, *, namespace: str | None = None) -> ReplayMessageAnswer:  # noqa: A002
        """Handle a message again. Never repeated after a time-out."""
        fields = in_namespace(self._caller, given(id=id, namespace=namespace))
        return await self._run(self._caller.call("messages.replay", fields, ReplayMessageAnswer))

    async def discard(self, id: str, *, namespace: str | None = None) -> DiscardMessageAnswer:  # noqa: A002
        """Remove a message. Never repeated after a time-out."""
        fields = in_namespace(self._caller, given(id=id, namespace=namespace))
        return await self._run(self._caller.call("messages.discard", fields, DiscardMessageAnswer))


class AsyncAudit(AsyncGroup):
    """What operators did."""

    def list(self, **request: Unpack[ListAudit]) -> AsyncPaged[AuditRecord]:
        """List what operators did, latest first."""
        return self._paged(
            pages_of(
                lambda page: self._caller.call("audit.list", page, ListAuditAnswer),
                fields_of(ListAudit, request),
                lambda answer: Page(answer.records, answer.next_cursor),
            )
        )


class AsyncEgress(AsyncGroup):
    """Which URLs the service may call."""

    async def check(self, url: str) -> CheckEgressAnswer:
        """Tell whether the service may call a URL, and why."""
        return await self._run(self._caller.call("egress.check", given(url=url), CheckEgressAnswer))


class AsyncManualClock(AsyncGroup):
    """The clock of a service that runs with `TIMER_CLOCK=manual`."""

    async def advance(
        self,
        *,
        by: Duration | None = None,
        to: InstantInput | None = None,
        max_firings: int | None = None,
    ) -> AdvanceClockAnswer:
        """Move the clock `by` a duration or `to` an instant. All timers that become due on the way fire before this returns."""
        fields = given(by=by, to=to, max_firings=max_firings)
        return await self._run(self._caller.call("clock.advance", fields, AdvanceClockAnswer))


class AsyncEvents(AsyncGroup):
    """What happens to timers, as it happens."""

    def stream(
        self,
        *,
        namespaces: Sequence[str] | None = None,
        types: Sequence[str] | None = None,
        last_event_id: str | None = None,
    ) -> AsyncGenerator[StreamEvent, None]:
        """Read events until the service ends the stream, or until you stop. If the connection breaks, this raises.

        It is for watching: a program that must not miss anything uses webhooks. Begin again with the `id` of the last
        event. The namespaces are names, or prefixes such as `team-*`. The stream holds a connection until it is closed: use
        `contextlib.closing`, or `aclosing` with the async client, if you stop before its end.
        """
        connection = self._caller.connection
        plan = stream_request(connection, namespaces, types, last_event_id)
        return self._driver.stream(plan, connection)
