"""The whole life of a timer through both clients, against the real service.

The network between them loses requests and answers, keeps them too long and doubles them.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from datetime import timedelta
from typing import Any

import pytest

from conformance_run import Mode, Sync, resolved
from harness import Proxy
from needed import needs
from punctual_client import AsyncPunctual, ConflictError, NoAnswerError, NotFoundError, Punctual, new_timer_id
from punctual_client.testing import Delivery, TestService

pytestmark = [needs("PUNCTUAL_EXECUTABLE"), needs("PUNCTUAL_HARNESS")]

# A call whose answer is held ends after this. The tries after it have the same limit, so there are many of them.
HOLD = 3.0
NOWHERE = "http://127.0.0.1:9/"


@pytest.fixture(scope="module")
def service() -> Iterator[TestService]:
    with TestService() as started:
        yield started


@pytest.fixture(scope="module")
def proxy(service: TestService) -> Iterator[Proxy]:
    made = Proxy(service.url)
    yield made
    made.stop()


def use(mode: Mode, url: str, work: Callable[[Any], Awaitable[None]], fault: str = "pass") -> None:
    """Do the work through the network. Delays count by the clock of this machine, as in a real program."""
    timeout = HOLD if fault == "hold" else 60.0
    if mode == "sync":
        with Punctual(url, "", namespace="test", max_retries=5, timeout=timeout) as client:
            asyncio.run(resolved(work(Sync(client))))
        return

    async def run() -> None:
        async with AsyncPunctual(url, "", namespace="test", max_retries=5, timeout=timeout) as client:
            await work(client)

    asyncio.run(run())


def new_id() -> str:
    return new_timer_id()


@pytest.mark.parametrize("fault", ["pass", "cutBefore", "cutAfter", "hold", "duplicate"])
def test_a_timer_lives_its_life_in_spite_of_the_network(
    fault: str, mode: Mode, service: TestService, proxy: Proxy
) -> None:
    def reply(delivery: Delivery) -> int:
        return 422 if delivery.timer_id.startswith("bad") else 200

    receiver = service.receiver(reply)
    timer_id = new_id()
    bad = f"bad-{timer_id}"
    execute_at = service.now() + timedelta(hours=1)
    # Each held answer takes its time, so only two calls are held: one that succeeds after it, and one that does not.
    later = "pass" if fault == "hold" else fault

    async def work(punctual: Any) -> None:
        timers = punctual.timers
        proxy.fail(fault)
        created = await timers.create(timer_id=timer_id, execute_at=execute_at, callback_url=receiver.url)
        assert created.result in {"created", "unchanged"}
        proxy.fail(later)
        await timers.create_many([{"timer_id": bad, "execute_at": execute_at, "callback_url": receiver.url}])
        proxy.fail(later)
        read = await timers.get(timer_id)
        assert read.revision == created.timer.revision
        proxy.fail(fault)
        # If the first answer was lost, the repeat finds the new revision: then the change may be our own.
        is_updated = True
        try:
            await timers.update(timer_id, tags=[timer_id], if_revision=read.revision)
        except ConflictError as error:
            is_updated = False
            assert error.code == "revisionMismatch"
            assert fault == "duplicate" or error.written == "unknown"
        assert is_updated == (fault in {"pass", "cutBefore"})
        proxy.fail(later)
        listed = await timers.list(tag=timer_id).to_list(limit=10)
        assert [timer.timer_id for timer in listed] == [timer_id]

        service.advance("1h")
        assert sorted(delivery.timer_id for delivery in receiver.deliveries) == sorted([bad, timer_id])
        proxy.fail(later)
        assert (await timers.get(timer_id)).state == "delivered"
        proxy.fail(later)
        assert (await timers.cancel(timer_id)).result == "alreadyDelivered"
        proxy.fail(later)
        assert (await timers.get(bad)).state == "dead"
        proxy.fail(later)
        assert (await timers.count(state="dead", id_prefix=bad)).count == 1

    use(mode, proxy.url, work, fault)


@pytest.mark.parametrize("fault", ["cutAfter", "hold"])
def test_a_call_that_must_not_happen_twice_is_sent_once(
    fault: str, mode: Mode, service: TestService, proxy: Proxy
) -> None:
    tag = new_id()
    execute_at = service.now() + timedelta(hours=1)

    async def work(punctual: Any) -> None:
        await punctual.timers.create(execute_at=execute_at, callback_url=NOWHERE, tags=[tag])
        before = proxy.requests()
        proxy.fail(fault)
        with pytest.raises(NoAnswerError) as caught:
            await punctual.timers.cancel_many(filter={"tag": tag})
        assert (caught.value.written, caught.value.retryable) == ("unknown", True)
        assert proxy.requests() == before + 1
        # A slow service may still be at work when the client has given up.
        ends = time.monotonic() + 60
        while (await punctual.timers.count(tag=tag)).count > 0:
            assert time.monotonic() < ends

    use(mode, proxy.url, work, fault)


def test_a_task_that_is_cancelled_ends_its_call(service: TestService, proxy: Proxy) -> None:
    async def run() -> None:
        timer_id = new_id()
        proxy.fail("hold")
        async with (
            AsyncPunctual(proxy.url, "", namespace="test", timeout=60) as punctual,
            service.async_client() as direct,
        ):
            call = asyncio.create_task(punctual.timers.create(timer_id=timer_id, delay="1h", callback_url=NOWHERE))
            # The service has the timer, and the client still waits for the answer.
            while not call.done():
                try:
                    await direct.timers.get(timer_id)
                    break
                except NotFoundError:
                    continue
            assert not call.done()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            # The connection of the cancelled call is closed, and the client still works.
            assert (await punctual.timers.get(timer_id)).state == "pending"

    asyncio.run(run())


def test_no_connection_has_written_nothing(mode: Mode) -> None:
    async def work(punctual: Any) -> None:
        with pytest.raises(NoAnswerError) as caught:
            await punctual.with_options(max_retries=0).timers.cancel_many(all=True)
        assert (caught.value.code, caught.value.written) == ("connectionRefused", "no")

    class Direct(Sync):
        def with_options(self, **options: Any) -> Sync:
            return Sync(self._inner.with_options(**options))

    async def adapted(punctual: Any) -> None:
        await work(Direct(punctual._inner) if mode == "sync" else punctual)

    use(mode, "http://127.0.0.1:1", adapted)
