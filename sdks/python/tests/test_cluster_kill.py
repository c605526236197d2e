"""1,000 creates through the client while one of three nodes is killed: no timer is lost, and none is there twice."""

from __future__ import annotations

import asyncio
import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx

from conformance_run import Mode
from harness import Cluster, cluster
from needed import needs
from punctual_client import AsyncPunctual, Punctual

pytestmark = needs("PUNCTUAL_HARNESS")

CREATES = 1_000
IN_PARALLEL = 20
KILL_AFTER = 300
OPTIONS: dict[str, Any] = {
    "url": "http://nodes.test",
    "key": "",
    "namespace": "billing",
    "timeout": 8.0,
    # The shards of the dead node move when its lease ends. These tries last longer than that.
    "max_retries": 20,
}


class OverNodes:
    """A load balancer without probes: each try goes to the next node, dead or alive."""

    def __init__(self, nodes: Cluster) -> None:
        self._turns = itertools.cycle([httpx.URL(url) for url in nodes.urls])

    def choose(self, request: httpx.Request) -> None:
        node = next(self._turns)
        request.url = request.url.copy_with(host=node.host, port=node.port)
        request.headers["host"] = node.netloc.decode()


def test_every_create_ends_well_and_makes_one_timer(mode: Mode) -> None:
    with cluster() as nodes:
        numbers = by_threads(nodes) if mode == "sync" else asyncio.run(by_tasks(nodes))
    assert len(numbers) == CREATES
    assert set(numbers) == set(range(CREATES))


def by_threads(nodes: Cluster) -> list[int]:
    choose = OverNodes(nodes).choose
    done = itertools.count(1)
    limits = httpx.Limits(max_connections=100)
    with httpx.Client(event_hooks={"request": [choose]}, limits=limits, trust_env=False) as http:
        punctual = Punctual(**OPTIONS, http_client=http)

        def create(number: int) -> None:
            punctual.timers.create(delay="1h", callback_url="http://127.0.0.1:9/", payload={"number": number})
            if next(done) == KILL_AFTER:
                nodes.kill(2)

        with ThreadPoolExecutor(IN_PARALLEL) as pool:
            list(pool.map(create, range(CREATES)))
        timers = punctual.timers.list(include=["payload"], limit=500)
        return [(timer.payload or {})["number"] for timer in timers]


async def by_tasks(nodes: Cluster) -> list[int]:
    over = OverNodes(nodes)
    waiting = iter(range(CREATES))
    done = itertools.count(1)

    async def choose(request: httpx.Request) -> None:
        over.choose(request)

    async with httpx.AsyncClient(event_hooks={"request": [choose]}, trust_env=False) as http:
        punctual = AsyncPunctual(**OPTIONS, http_client=http)

        async def lane() -> None:
            for number in waiting:
                await punctual.timers.create(delay="1h", callback_url="http://127.0.0.1:9/", payload={"number": number})
                if next(done) == KILL_AFTER:
                    await asyncio.to_thread(nodes.kill, 2)

        await asyncio.gather(*(lane() for _ in range(IN_PARALLEL)))
        timers = punctual.timers.list(include=["payload"], limit=500)
        return [(timer.payload or {})["number"] async for timer in timers]
