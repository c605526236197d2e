"""A real service for a test, with a clock that only the test moves: a reminder in 31 days takes milliseconds.

The service keeps its timers in memory, listens on a free port of this machine, and ends with the test.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import subprocess
import time
from collections.abc import Mapping
from datetime import datetime
from threading import Event, Thread
from typing import TYPE_CHECKING, Final

import httpx

from .._async.client import AsyncPunctual
from .._core.durations import instant_text
from .._sync.client import Punctual
from ..contract.operators import AdvanceClockAnswer
from ..contract.requests import Duration, InstantInput
from .receiver import Reply, TestReceiver

if TYPE_CHECKING:
    from typing_extensions import Self

_START_WITHIN: Final = 60.0
_ADVANCE_WITHIN: Final = 60.0
_MOST_ADVANCES: Final = 1_000
_OUTPUT_CHARS_KEPT: Final = 10_000
_LISTENS = re.compile(r"listens on (https?:\S+)\s")


class TestService:
    """A running service with a manual clock: `with TestService() as service`."""

    __test__ = False
    """It is no test, whatever its name says to pytest."""

    def __init__(
        self,
        *,
        executable: str | None = None,
        start_at: InstantInput | None = None,
        namespace: str = "test",
        settings: Mapping[str, str] | None = None,
    ) -> None:
        """Start the program, and return when the service takes timers.

        Args:
            executable: The program. When left out: the variable `PUNCTUAL_EXECUTABLE`, or `punctual` on the PATH.
                Nothing is downloaded.
            start_at: Where the clock begins; now when left out.
            namespace: The namespace of `punctual`.
            settings: More settings, such as `TIMER_EGRESS`.

        """
        at = "" if start_at is None else f":{start_at if isinstance(start_at, str) else instant_text(start_at)}"
        # Settings of the machine must not reach the test.
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("TIMER_")}
        own = {
            "TIMER_STORE_URL": "memory:",
            "TIMER_HTTP_PORT": "0",
            "TIMER_LOG": "warn",
            # With a key the service can keep the webhook secrets of the test.
            "TIMER_SECRET_KEY": "0123456789abcdef" * 4,
            "TIMER_CLOCK": f"manual{at}",
        }
        self._receivers: list[TestReceiver] = []
        self._output = ""
        self._listens = Event()
        self._process = subprocess.Popen(  # noqa: S603
            [executable or _find_executable(), "serve"],
            env={**inherited, **own, **(settings or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        # If the test ends without a stop, the service must not stay.
        atexit.register(self._process.kill)
        self._reader = Thread(target=self._read_output, daemon=True)
        self._reader.start()
        try:
            self.url = self._until_ready()
            """The URL of the service."""
        except BaseException:
            self._end_process()
            raise
        self.punctual = Punctual(self.url, "", namespace=namespace, delay_from="server")
        """A client of the service. Its delays count by the clock of the service."""
        self._namespace = namespace

    def async_client(self) -> AsyncPunctual:
        """Make an async client of the service. Its delays count by the clock of the service."""
        return AsyncPunctual(self.url, "", namespace=self._namespace, delay_from="server")

    def now(self) -> datetime:
        """Return the time of the service."""
        return self.punctual.service.get().now

    def advance(self, by: Duration) -> AdvanceClockAnswer:
        """Move the clock. Every timer that becomes due on the way has fired, and its outcome is stored, when this returns.

        If your receiver runs in the event loop of the test: `await asyncio.to_thread(service.advance, "31d")`.
        """
        clock = self.punctual.with_options(timeout=_ADVANCE_WITHIN).clock
        answer = clock.advance(by=by)
        end, fired = answer.now, answer.fired
        # A part of the firings may be left for another call. It goes on to the same instant.
        for _ in range(_MOST_ADVANCES):
            if not answer.more:
                break
            answer = clock.advance(to=end)
            fired += answer.fired
        return AdvanceClockAnswer(now=answer.now, fired=fired, more=answer.more)

    def receiver(self, reply: Reply | None = None) -> TestReceiver:
        """Make an endpoint for timers that records what it gets. It answers 200, unless `reply` says otherwise."""
        receiver = TestReceiver(reply)
        self._receivers.append(receiver)
        return receiver

    def stop(self) -> None:
        """End the service and its receivers."""
        for receiver in self._receivers:
            receiver.stop()
        self._receivers.clear()
        self.punctual.close()
        self._end_process()

    def __enter__(self) -> Self:
        """Use the service in a `with` statement, which stops it."""
        return self

    def __exit__(self, *_: object) -> None:
        """End the service and its receivers."""
        self.stop()

    def _end_process(self) -> None:
        atexit.unregister(self._process.kill)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()

    def _read_output(self) -> None:
        for line in self._process.stdout or ():
            self._output = (self._output + line.decode("utf-8", "replace"))[-_OUTPUT_CHARS_KEPT:]
            if _LISTENS.search(self._output):
                self._listens.set()
        # The program has ended, or it will never say more.
        self._listens.set()

    def _until_ready(self) -> str:
        ends = time.monotonic() + _START_WITHIN
        self._listens.wait(_START_WITHIN)
        found = _LISTENS.search(self._output)
        if found is None:
            raise RuntimeError(f"the test service did not start\n{self._output}")
        with httpx.Client(trust_env=False) as http:
            while time.monotonic() < ends:
                if http.get(f"{found[1]}/health/ready").is_success:
                    return found[1]
                time.sleep(0.02)
        raise RuntimeError(f"the test service did not become ready\n{self._output}")


def _find_executable() -> str:
    found = os.environ.get("PUNCTUAL_EXECUTABLE") or shutil.which("punctual")
    if not found:
        raise RuntimeError("there is no program: set PUNCTUAL_EXECUTABLE to it, or put punctual on the PATH")
    return found
