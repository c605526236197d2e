"""Completes requests before they are sent: the namespace of the client, an id, delays as instants.

It refuses requests that select nothing or everything by mistake, such as an empty id from an unset variable.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from ..contract.requests import CreateTimer, UpdateTimer
from .caller import Caller
from .durations import instant_of_ms, instant_text, parse_duration
from .new_timer_id import new_timer_id
from .refused import refused_here
from .repeats import Fields
from .wire import fields_of


def in_namespace(caller: Caller, fields: Fields) -> Fields:
    """Add the namespace of the client, unless the request names one."""
    namespace = fields.get("namespace")
    namespace = caller.namespace if namespace is None else namespace
    if namespace is None:
        raise refused_here("namespace", "is missing: give it in the request, or once for the client")
    if namespace == "":
        raise refused_here("namespace", "must not be empty")
    return {**fields, "namespace": namespace}


def in_scope(caller: Caller, fields: Fields) -> Fields:
    """Add the namespace of the client, unless the request names one or several."""
    namespaces = fields.get("namespaces")
    if namespaces is None:
        return in_namespace(caller, fields)
    if namespaces == []:
        raise refused_here("namespaces", "must not be empty")
    return fields


def of_timer(caller: Caller, fields: Fields) -> Fields:
    """Complete the request about one timer."""
    if not fields.get("timerId"):
        raise refused_here("timerId", "must not be empty")
    return in_namespace(caller, fields)


def of_selection(caller: Caller, fields: Fields, *choices: str) -> Fields:
    """Complete the request about many timers. It must say which ones."""
    given = [name for name in choices if fields.get(name) is not None]
    if len(given) != 1:
        raise refused_here("request", f"must have exactly one of {', '.join(choices)}")
    if fields.get("timerId") == "":
        raise refused_here("timerId", "must not be empty")
    selection = fields.get("filter")
    if isinstance(selection, Mapping):
        values = cast("Mapping[str, object]", selection).values()
        if all(value is None or value == "" for value in values):
            raise refused_here("filter", "must have at least one field: for all timers give all=True instead")
    return in_namespace(caller, fields)


def of_create(caller: Caller, timer: CreateTimer) -> Fields:
    """Complete a create, with an id, so that it can be repeated."""
    fields = fields_of(CreateTimer, timer)
    if fields.get("timerId") == "":
        raise refused_here("timerId", "must not be empty: leave it out to get a new one")
    if fields.get("timerId") is None:
        fields["timerId"] = new_timer_id(caller.connection.now_ms())
    return in_namespace(caller, _without_delay(caller, fields))


def of_update(caller: Caller, timer_id: str, changes: UpdateTimer) -> Fields:
    """Complete a change of a timer."""
    fields = {**fields_of(UpdateTimer, changes), "timerId": timer_id}
    return of_timer(caller, _without_delay(caller, fields))


def _without_delay(caller: Caller, fields: Fields) -> Fields:
    """Send a delay as an instant, so that a repeat does not move the timer."""
    delay = fields.get("delay")
    if delay is None or "executeAt" in fields or caller.connection.settings.delay_from == "server":
        return fields
    try:
        execute_at = instant_of_ms(caller.connection.now_ms()) + parse_duration(str(delay))
    except ValueError as error:
        raise refused_here("delay", str(error)) from None
    others = {name: value for name, value in fields.items() if name != "delay"}
    return {**others, "executeAt": instant_text(execute_at)}
