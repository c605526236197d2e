// Rows of all kinds for tests of filters, some of them at the same instant, any query for them, and a plain filter.
import fc from "fast-check"
import { withAttempt } from "../src/domain/AttemptLog.ts"
import { type ErrorClass, networkTexts, timeoutTexts } from "../src/domain/errorClassOf.ts"
import type { Attempt, Spec, Target } from "../src/domain/Timer.ts"
import type { WriteItem } from "../src/domain/WriteItem.ts"
import type { ListedState, ListFilter, ListQuery } from "../src/ports/TimerStore.ts"
import { at } from "./StoreFixture.ts"
import { cancelOf, outcomeOf, putOf, sampleNow, sampleSpec, sampleTimer } from "./timers.ts"

export const sampleWebhook: Extract<Target, { type: "webhook" }> = {
  type: "webhook",
  url: "https://example.test/hook",
  method: "POST",
  timeoutMs: 15_000,
  body: "envelope",
}

export const specTo = (target: Target): Spec => ({ ...sampleSpec, target })

/** Each with the hosts that find it. */
export const sampleTargets: ReadonlyArray<readonly [Target, ReadonlyArray<string>]> = [
  [sampleWebhook, ["example.test", "example.test:443"]],
  [{ ...sampleWebhook, url: "http://example.test:8080/" }, ["example.test", "example.test:8080"]],
  [{ ...sampleWebhook, url: "http://example.test.other/?host=example.test" }, ["example.test.other"]],
  [{ ...sampleWebhook, url: "http://[::1]:9/x" }, ["[::1]", "[::1]:9"]],
  [{ type: "event" }, []],
]

const attempts: ReadonlyArray<readonly [Omit<Attempt, "at" | "durationMs">, ErrorClass | undefined]> = [
  [{ status: 200 }, undefined],
  [{ status: 302, error: "answered 302" }, undefined],
  [{ status: 400, error: "answered 400: not to be repeated" }, "4xx"],
  [{ status: 499, error: "answered 499" }, "4xx"],
  [{ status: 500, error: "answered 500" }, "5xx"],
  [{ status: 599, error: "answered 599" }, "5xx"],
  [{ error: `${timeoutTexts.webhook} example.test within 15s` }, "timeout"],
  [{ error: `${timeoutTexts.handler} 15s` }, "timeout"],
  [{ error: `${networkTexts.refused}: example.test` }, "network"],
  [{ error: `${networkTexts.other} EPIPE: example.test` }, "network"],
  [{ error: "the handler failed: no" }, undefined],
]

/** A row that was stored, and what filters may know of it. */
export interface Stored {
  readonly namespace: string
  readonly timerId: string
  readonly fireId: string
  readonly state: ListedState
  readonly atMs: number
  readonly correlationId: string
  readonly tags: ReadonlyArray<string>
  readonly hosts: ReadonlyArray<string>
  readonly error: ErrorClass | undefined
  readonly reason?: string
  readonly latenessMs?: number
}

export const sampleNamespaces = ["a", "b", "c-1", "empty"]
export const sampleStates = ["pending", "delivered", "cancelled", "dead"] as const

/** Given by callers, also in the form of an id that an earlier program made, and made by the service. */
const correlationIds = [
  "c0",
  "c1",
  "c2",
  "01890a5d-ac96-774b-bcce-b302099a8057",
  "01890a5d-ac96-874b-bcce-b302099a8057",
]

/** Rows of all kinds, some of them at the same instant; first what creates them, then what ends them. */
export const filteredRows = () => {
  const puts: Array<WriteItem> = []
  const ends: Array<WriteItem> = []
  const store = (index: number): Stored => {
    const [target, hosts] = at(sampleTargets, (index * 3 + (index >> 3)) % sampleTargets.length)
    const [attempt, error] = at(attempts, (index * 5 + (index >> 2)) % attempts.length)
    const state = at(sampleStates, (index * 7 + (index >> 4)) % 4)
    const timer = sampleTimer({
      namespace: at(sampleNamespaces, index % 3),
      timerId: `${index % 2 === 0 ? "x" : "y"}${index}`,
      fireAt: sampleNow + (index % 11) * 10,
      correlationId: at(correlationIds, index % 5),
      spec: specTo(target),
      ...(index % 4 === 0 ? { tags: ["blue", `n${index % 3}`] } : {}),
    })
    puts.push(putOf(timer))
    const made = { attemptLog: withAttempt(timer.attemptLog, { at: sampleNow, durationMs: 3, ...attempt }) }
    const atMs = sampleNow + (index % 7) * 15
    const known = {
      namespace: timer.namespace,
      timerId: timer.timerId,
      fireId: timer.fireId,
      state,
      atMs,
      correlationId: timer.correlationId,
      tags: timer.tags ?? [],
      hosts,
      error,
    }
    switch (state) {
      case "pending":
        ends.push(outcomeOf(timer, { to: "retry", fireAt: atMs }, { ...made, at: sampleNow }))
        return known
      case "delivered": {
        const latenessMs = (index % 6) * 100
        ends.push(outcomeOf(timer, { to: "delivered", latenessMs }, { ...made, at: atMs }))
        return { ...known, latenessMs }
      }
      case "cancelled": {
        if (index % 8 < 4) {
          ends.push(cancelOf(timer, { at: atMs }))
          return { ...known, error: undefined }
        }
        const reason = index % 3 === 0 ? "notDead" : "expired"
        ends.push(outcomeOf(timer, { to: "dropped", reason }, { ...made, at: atMs }))
        return { ...known, reason }
      }
      case "dead": {
        const reason = index % 8 < 4 ? "refused" : "expired"
        ends.push(outcomeOf(timer, { to: "dead", reason }, { ...made, at: atMs }))
        return { ...known, reason }
      }
    }
  }
  return { stored: Array.from({ length: 150 }, (_, index) => store(index)), puts, ends }
}

export const isSelected = (one: Stored, filter: ListFilter): boolean => {
  const { inclusiveFromMs: from = -1, exclusiveUntilMs: until = Number.MAX_VALUE, minLateness } = filter
  const lateMs = one.state === "pending" ? (minLateness?.nowMs ?? 0) - one.atMs : (one.latenessMs ?? -1)
  return (
    one.atMs >= from &&
    one.atMs < until &&
    one.timerId.startsWith(filter.idPrefix ?? "") &&
    (filter.correlationId === undefined || one.correlationId === filter.correlationId) &&
    (filter.tag === undefined || one.tags.includes(filter.tag)) &&
    (filter.host === undefined || one.hosts.includes(filter.host)) &&
    (filter.error === undefined || one.error === filter.error) &&
    (filter.reason === undefined || one.reason === filter.reason) &&
    (minLateness === undefined || lateMs >= minLateness.ms)
  )
}

/** Several namespaces, by their names. */
export const setOf = (...names: ReadonlyArray<string>) => ({ asked: names, names })

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 })

/** Any scope, any filter and any limit. */
export const anyQuery = fc
  .record({
    names: fc.oneof(fc.constantFrom(...sampleNamespaces), fc.subarray(sampleNamespaces, { minLength: 1 })),
    state: fc.oneof(fc.constantFrom(...sampleStates), fc.subarray([...sampleStates], { minLength: 1 })),
    inclusiveFromMs: maybe(fc.nat(9).map((step) => sampleNow + step * 10)),
    exclusiveUntilMs: maybe(fc.integer({ min: 1, max: 10 }).map((step) => sampleNow + step * 10)),
    idPrefix: maybe(fc.constantFrom("x", "y1", "z")),
    correlationId: maybe(fc.constantFrom(...correlationIds, "none", "01890a5d-ac96-774b-bcce-b302099a8058")),
    tag: maybe(fc.constantFrom("blue", "n1", "none")),
    host: maybe(
      fc.constantFrom(...sampleTargets.flatMap(([, hosts]) => hosts), "example.test:80", "xample.test"),
    ),
    error: maybe(fc.constantFrom("timeout", "network", "4xx", "5xx")),
    reason: maybe(fc.constantFrom("refused", "expired", "notDead", "other")),
    minLateness: maybe(fc.constantFrom(1, 40, 200, 600).map((ms) => ({ ms, nowMs: sampleNow + 80 }))),
    limit: fc.constantFrom(1, 4, 30, 1_000),
  })
  .map(({ names, ...rest }): Omit<ListQuery, "reversed" | "includePayload"> => {
    const given = Object.fromEntries(Object.entries(rest).filter(([, value]) => value !== undefined))
    // Every field has been made for the query.
    return { ...given, namespace: typeof names === "string" ? names : setOf(...names) } as ListQuery
  })
