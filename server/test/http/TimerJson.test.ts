// The contract's schema decodes the JSON text of a timer back to the same timer.
import { expect, test } from "bun:test"
import { shownRetryPolicy } from "@punctual/api/RetryPolicy"
import { TimerSchema } from "@punctual/api/Timer"
import { Schema } from "effect"
import fc from "fast-check"
import type { Attempt, FinishedLife, Spec, Timer } from "../../src/domain/Timer.ts"
import { finishedJson, pendingJson } from "../../src/http/TimerJson.ts"

const decode = Schema.decodeUnknownSync(TimerSchema)
const encoder = new TextEncoder()

const instant = fc.integer({ min: 0, max: 253_402_300_799_998 })
const durationMs = fc.integer({ min: 0, max: 3653 * 86_400_000 })
// No schema of the contract accepts lone surrogates, so they do not occur here.
const text = fc.string({ unit: "binary" }).map((one) => one.toWellFormed())
const optional = <A>(key: string, value: fc.Arbitrary<A>) =>
  fc.option(value).map((one) => (one === null ? {} : { [key]: one }))

const spec: fc.Arbitrary<Spec> = fc
  .tuple(
    fc.oneof(
      fc.constant({ type: "event" as const }),
      fc
        .tuple(text, durationMs, optional("headers", fc.dictionary(text, text, { noNullPrototype: true })))
        .map(([url, timeoutMs, headers]) => ({
          type: "webhook" as const,
          url,
          method: "PATCH" as const,
          timeoutMs,
          body: "payload" as const,
          ...headers,
        })),
    ),
    fc
      .tuple(
        fc.nat(100),
        durationMs,
        durationMs,
        fc.double({ min: 0, max: 1, noNaN: true }),
        optional("maxDurationMs", durationMs),
        optional("waitsMs", fc.array(durationMs, { maxLength: 5 })),
      )
      .map(([maxAttempts, initialIntervalMs, maxIntervalMs, jitter, rest, waits]) => ({
        maxAttempts,
        initialIntervalMs,
        backoffMultiplier: 1.5,
        maxIntervalMs,
        jitter,
        ...rest,
        ...waits,
      })),
    optional("expireAfterMs", durationMs),
    optional("onExpire", fc.constant("drop" as const)),
    optional("onDead", fc.constant({ type: "event" as const })),
  )
  .map(([target, retryPolicy, ...rest]) => Object.assign({ target, retryPolicy }, ...rest))

const attempt: fc.Arbitrary<Attempt> = fc
  .tuple(
    instant,
    fc.nat(),
    optional("status", fc.integer({ min: 100, max: 599 })),
    optional("error", text),
    optional("answer", text),
  )
  .map(([at, durationMs, status, error, answer]) => ({ at, durationMs, ...status, ...error, ...answer }))

const shared = fc
  .tuple(
    text,
    text,
    instant,
    spec,
    fc.json(),
    optional("attemptLog", fc.array(attempt, { minLength: 1, maxLength: 20 })),
    optional("tags", fc.array(text, { minLength: 1, maxLength: 10 })),
  )
  .map(([namespace, timerId, executeAt, spec, payload, rest, tags]) => ({
    namespace,
    timerId,
    uuid: "00".repeat(16),
    fireId: timerId,
    revision: executeAt,
    executeAt,
    attempts: 3,
    createdAt: executeAt,
    correlationId: namespace,
    spec,
    payloadText: payload,
    payload: encoder.encode(payload),
    ...rest,
    ...tags,
  }))

const expected = ({
  payloadText,
  payload: _,
  uuid: __,
  spec,
  ...rest
}: {
  payloadText: string
  payload: Uint8Array
  uuid: string
  spec: Spec
  attemptLog?: ReadonlyArray<Attempt>
}) => ({
  ...rest,
  ...(rest.attemptLog === undefined ? {} : { lastAttempt: rest.attemptLog.at(-1) }),
  ...spec,
  retryPolicy: shownRetryPolicy(spec.retryPolicy),
  payload: JSON.parse(payloadText),
})

test("a pending timer", () => {
  fc.assert(
    fc.property(shared, instant, text, (one, sinceMs, detail) => {
      const timer: Timer = { ...one, fireAt: one.executeAt + 1, updatedAt: one.createdAt }
      const { payloadText: _, ...stored } = one
      const shown: unknown = decode(
        JSON.parse(
          pendingJson(
            {
              state: "pending",
              timer: { ...timer, ...stored },
              waiting: { reason: "breaker", sinceMs, detail },
            },
            true,
          ),
        ),
      )
      expect(shown).toEqual({
        ...expected(one),
        state: "pending",
        fireAt: one.executeAt + 1,
        waiting: { reason: "breaker", since: sinceMs, detail },
        updatedAt: one.createdAt,
      })
      const inFlight = pendingJson({ state: "inFlight", timer, startedAt: sinceMs }, false)
      expect(inFlight).not.toContain('"fireAt"')
      for (const made of JSON.parse(inFlight).attemptLog ?? []) expect(made).not.toHaveProperty("answer")
      expect(decode(JSON.parse(inFlight)).attemptStartedAt).toBe(sinceMs)
      expect(pendingJson({ state: "pending", timer }, false)).not.toContain('"waiting"')
    }),
  )
})

test("a finished life", () => {
  fc.assert(
    fc.property(shared, instant, (one, finishedAt) => {
      const life: FinishedLife = { ...one, state: "dead", finishedAt, latenessMs: 7, reason: "expired" }
      const json = JSON.parse(finishedJson(life, "dead", true))
      expect(json.reason).toBe("expired")
      const { reason: _, ...decoded } = decode(json) as Record<string, unknown>
      expect(decoded).toEqual({
        ...expected(one),
        state: "dead",
        finishedAt,
        updatedAt: finishedAt,
        latenessMs: 7,
      })
    }),
  )
})
