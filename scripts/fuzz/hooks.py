# Checks of `npm run fuzz` that schemathesis does not have by itself.
import re
from urllib.parse import urlencode

import schemathesis
from schemathesis.generation import GenerationMode

# Rules that JSON Schema cannot express. A request that matches the document may break them. The service must then say
# which rule it was, so each rule is recognised by the text of the refusal.
UNSAYABLE = re.compile(
    "|".join(
        [
            # Durations and instants have a pattern, but their ranges are not in the pattern.
            r"^must be a duration",
            r"^must be an instant",
            r"(in the future|ahead)",
            r"^must not be shorter than initialInterval",
            r"^must be after from",
            r"^must be later than from|^must be whole minutes|^must be at least 5m|(minutes|hours) after from|^must give at most",
            # Only the service knows which cursors it has made.
            r"nextCursor of an earlier answer|cursor of an earlier page",
            # Only the service knows which secrets a namespace has.
            r"^is not the fingerprint of a secret of this namespace",
            # The pattern of a call does not list the audited calls.
            r"^must be an audited call",
            # The limit of ids and tags is in bytes, and JSON Schema counts characters.
            r"bytes of UTF-8",
            # The pattern of ids leaves out the characters above U+FFFF.
            r"invisible or formatting characters|lone surrogates",
            # The service reads URLs and host names with a parser.
            r"\bURL\b|visible ASCII|host name|^must be a host such as",
            r"cannot be delivered by this service",
            r"^must be whsec_|same as the first secret",
            # The pattern of a list of statuses does not say that each may be given once only.
            r"^must be one or several of Submitted",
            # These rules compare several fields.
            r"is only for dead letters and cancelled timers",
            r'^must be pending or dead with namespaces',
            r'^concerns the whole service, so namespaces must be \["\*"\]',
            # Only the service knows how many namespaces a prefix matches.
            r"prefixes? match",
            r"headers?\b",
            r"^must not be before the clock",
            r"\begress",
        ]
    )
)


@schemathesis.hook
def filter_query(ctx, query):
    """A target of over 8192 bytes gets 414 on every path, before anything else is looked at. No call describes it."""
    return not query or len(urlencode(query, doseq=True, errors="surrogatepass")) < 7000


@schemathesis.check
def valid_requests_are_accepted(ctx, response, case):
    """A request that matches the document is refused only for a rule that the document cannot express."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.POSITIVE:
        return
    if response.status_code != 400:
        return
    answer = response.json()
    if answer.get("code") == "egressRefused":
        return
    errors = answer.get("errors") or [{"pointer": "", "detail": answer.get("detail", "")}]
    for error in errors:
        if UNSAYABLE.search(error["detail"]) is None:
            raise AssertionError(f"the document allows this request: {error['pointer']} {error['detail']}")


@schemathesis.check
def refused_items_have_a_problem(ctx, response, case):
    """createMany answers 200 for items that it refuses, and puts a problem at the place of each of them."""
    if case.meta is None or case.meta.generation.mode is not GenerationMode.NEGATIVE:
        return
    if not case.path.endswith("/createMany") or response.status_code != 200:
        return
    results = response.json()["results"]
    if not any("problem" in result for result in results):
        raise AssertionError("the service accepted items that the document does not allow")
