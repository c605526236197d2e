"""The time limit of one try, from the connection to the end of the answer.

httpx has a limit for each of its phases: to get a connection, to connect, to write and to read. Each phase would get the
whole time, and a try could take several times as long. So each phase asks here, when it begins, how much time is left.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Final

_PHASES: Final = ("pool", "connect", "write", "read")
_SHORTEST: Final = 0.001
"""A phase that begins too late ends at once. For sockets 0 means something else."""


class TimeLeft(Mapping[str, float]):
    """The seconds that are left for each phase. It is the extension `timeout` of a request of httpx."""

    def __init__(self, seconds: float) -> None:
        """Begin now."""
        self._ends = monotonic() + seconds

    @property
    def is_over(self) -> bool:
        """Whether the whole time has passed."""
        return monotonic() > self._ends

    def __getitem__(self, phase: str) -> float:
        """Return the seconds that are left."""
        if phase not in _PHASES:
            raise KeyError(phase)
        return max(self._ends - monotonic(), _SHORTEST)

    def __iter__(self) -> Iterator[str]:
        """List the phases."""
        return iter(_PHASES)

    def __len__(self) -> int:
        """Count the phases."""
        return len(_PHASES)
