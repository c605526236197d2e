"""Every public name has a docstring, because editors show it to users, and every file says why it exists."""

from __future__ import annotations

import importlib
import inspect
from typing import get_origin

import pytest

PARTS = ("punctual_client", "punctual_client.contract", "punctual_client.testing", "punctual_client.webhooks")


@pytest.mark.parametrize("part", PARTS)
def test_every_public_name_has_a_docstring(part: str) -> None:
    module = importlib.import_module(part)
    missing: list[str] = []
    for name in module.__all__:
        member = getattr(module, name)
        # Aliases of types have their text in the source, which editors show.
        if get_origin(member) is not None or not (inspect.isclass(member) or inspect.isfunction(member)):
            continue
        missing += [name] if not inspect.getdoc(member) else []
        methods = inspect.getmembers(member, inspect.isfunction) if inspect.isclass(member) else []
        public = [method for method in methods if not method[0].startswith("_")]
        missing += [f"{name}.{method}" for method, function in public if not function.__doc__]
    assert missing == []
