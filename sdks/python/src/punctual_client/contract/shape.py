"""The base of everything that the service answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Shape:
    """An object of an answer. Fields that this version does not know are in `extra`, under their names in JSON."""

    extra: Mapping[str, object] = field(default_factory=dict[str, object], repr=False)
