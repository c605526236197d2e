"""The control server of the repository's test run: networks that fail, and clusters whose nodes die."""

from __future__ import annotations

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any

import httpx


def _ask(method: str, path: str, content: object = None) -> Any:
    base = os.environ["PUNCTUAL_HARNESS"]
    answer = httpx.request(method, f"{base}{path}", json=content, timeout=180, trust_env=False)
    answer.raise_for_status()
    return answer.json() if answer.content else None


class Proxy:
    """A network between a client and the service that does what a test says with each request."""

    def __init__(self, target: str) -> None:
        made = _ask("POST", "/proxies", {"target": target})
        self._path = f"/proxies/{made['id']}"
        self.url: str = made["url"]

    def fail(self, *faults: str) -> None:
        _ask("PUT", f"{self._path}/faults", faults)

    def requests(self) -> int:
        count: int = _ask("GET", self._path)["requests"]
        return count

    def stop(self) -> None:
        _ask("DELETE", self._path)


class Cluster:
    """Three nodes on a real database."""

    def __init__(self) -> None:
        made = _ask("POST", "/clusters")
        self._path = f"/clusters/{made['id']}"
        self.urls: Sequence[str] = made["urls"]

    def kill(self, node: int) -> None:
        _ask("DELETE", f"{self._path}/nodes/{node}")

    def stop(self) -> None:
        _ask("DELETE", self._path)


@contextmanager
def cluster() -> Generator[Cluster, None, None]:
    made = Cluster()
    try:
        yield made
    finally:
        made.stop()
