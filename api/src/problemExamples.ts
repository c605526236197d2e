/** An example problem document for each code. The OpenAPI document shows them for every failure. */
import { type ProblemCode, problemCodes } from "./Problem.ts"

/** The fields of the document besides type, title, status and code. */
const specifics: Readonly<
  Record<ProblemCode, { readonly detail: string; readonly [field: string]: unknown }>
> = {
  invalidJson: { detail: "The body cannot be parsed as JSON: Expected '}'" },
  invalidRequest: {
    detail: "/delay must be a duration from 0s to 3653d, such as 90s, 1h30m, 250ms, 7d or PT90S",
    errors: [
      {
        pointer: "/delay",
        detail: "must be a duration from 0s to 3653d, such as 90s, 1h30m, 250ms, 7d or PT90S",
      },
    ],
  },
  egressRefused: {
    detail:
      "/callbackUrl must not go to 127.0.0.1: TIMER_EGRESS of this service does not allow it. Use another URL, or ask the operator to add loopback to TIMER_EGRESS",
    errors: [
      {
        pointer: "/callbackUrl",
        detail:
          "must not go to 127.0.0.1: TIMER_EGRESS of this service does not allow it. Use another URL, or ask the operator to add loopback to TIMER_EGRESS",
      },
    ],
  },
  unauthorized: {
    detail:
      "This call needs a key. Send it in the header Authorization: Bearer <key>. Commands read it from --key-file, TIMER_API_KEY, TIMER_API_KEY_FILE or TIMER_ADMIN_KEY_FILE.",
  },
  forbidden: { detail: "The key needs the action timers.write in the namespace billing." },
  keyNotFound: { detail: "There is no key with this id." },
  jobNotFound: { detail: "There is no job with this id, or the key may not read all its namespaces." },
  countChanged: {
    detail:
      "The filter matches 250 timers now, over 10 % more than the 200 that were expected. Nothing was started: look at the timers again, then start the job with the new count.",
    currentCount: 250,
  },
  callNotFound: { detail: "The tenant has no service call with this id." },
  callExists: { detail: "A service call with this id exists, with another request. Use another id." },
  callState: { detail: "The call is Running, so it cannot be cancelled." },
  storeUnavailable: {
    detail: "The store does not answer. The result is unknown: send the same request again.",
    retryAfterSeconds: 1,
    written: "unknown",
  },
  keyRefused: { detail: "The key is revoked. Make a new one." },
  notFound: { detail: "See /docs/api for all paths." },
  messageNotFound: { detail: "The namespace has no undeliverable message with this id." },
  timerNotFound: { detail: "The namespace has no timer with this id." },
  methodNotAllowed: { detail: "Use POST for /api/v1/timers/create." },
  requestTimeout: { detail: "The body did not arrive within 30000 ms. Send it without pauses." },
  timerExists: { detail: "A timer with this id is pending, at revision 1893412800000." },
  revisionMismatch: {
    detail: "The timer is at revision 1893412800001. Read it again before changing it.",
    currentRevision: 1893412800001,
  },
  timerInFlight: {
    detail: "An attempt is in flight. The timer cannot be changed until the attempt has ended.",
  },
  clockNotManual: {
    detail:
      "The service uses the system clock. To move the time in tests, start the service with TIMER_CLOCK=manual or manual:<instant>.",
  },
  restoredFromBackup: {
    detail: "All overdue timers would fire at once. To allow that, resume with fireOverdue: true.",
  },
  messageRefused: { detail: "The bus cannot list its undeliverable messages." },
  bodyTooLarge: { detail: "The body must be at most 1048576 bytes." },
  unsupportedMediaType: {
    detail: "Send the body as JSON, in UTF-8, with the header content-type: application/json.",
  },
  quotaExceeded: {
    detail:
      "The namespace already has 100000 pending timers, which is its limit. Nothing was written. Try again when timers have fired, or cancel some. An operator can raise the limit: maxPending of the namespace, or TIMER_MAX_PENDING_PER_NAMESPACE of the service.",
    quota: "maxPending",
    retryAfterSeconds: 10,
    written: "no",
  },
  internal: { detail: "An unexpected error. The log of the service has the cause." },
  brokerUnavailable: {
    detail: "The broker does not answer: retry.",
    retryAfterSeconds: 5,
    written: "no",
  },
  overloaded: { detail: "Too many calls are running: retry.", retryAfterSeconds: 1, written: "no" },
  ownerUnavailable: {
    detail: "Another process owns the store, and this one waits to take over. Nothing was written.",
    retryAfterSeconds: 1,
    written: "no",
  },
}

/** The keys are codes. A code without an example above uses its title as the detail. */
export const problemExamples: Readonly<Record<string, Readonly<Record<string, unknown>>>> =
  Object.fromEntries(
    Object.entries(problemCodes).map(([code, { status, title }]) => {
      // The entries of `problemCodes` have its codes as keys. Not every code has specifics.
      const { detail = `${title}.`, ...more } =
        (specifics as Partial<typeof specifics>)[code as ProblemCode] ?? {}
      return [code, { type: `urn:punctual:problem:${code}`, title, status, code, detail, ...more }]
    }),
  )
