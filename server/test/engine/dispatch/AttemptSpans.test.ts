// The spans of attempts, from the engine under virtual time.
import { expect } from "bun:test"
import type { SamplerName } from "@punctual/telemetry/Sampler"
import { spanContextOf } from "@punctual/telemetry/SpanContext"
import type { EndedSpan } from "@punctual/telemetry/TelemetryRecords"
import { Effect } from "effect"
import {
  delivered,
  type EngineHarness,
  engineTest,
  hostFailed,
  refused,
} from "../../../testkit/EngineHarness.ts"
import { recordedSpans } from "../../../testkit/recordedSpans.ts"

const spanTest = (
  title: string,
  body: (
    harness: EngineHarness,
    spans: ReadonlyArray<EndedSpan>,
  ) => ReturnType<Parameters<typeof engineTest>[2]>,
  name?: SamplerName,
): void => {
  const { spans, tracing } = recordedSpans(name)
  engineTest(title, { tracing }, (harness) => body(harness, spans))
}

/** Longer than the waits of the sample's retries. */
const retriedMs = 60_000

const created = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

spanTest(
  "each attempt is a span in the trace of the create, links to its span, and sends its own id",
  (harness, spans) =>
    Effect.gen(function* () {
      const script = [refused, delivered]
      harness.onFire(() => Effect.succeed(script.shift() ?? delivered))
      yield* harness.create({ timerId: "a", inMs: 1_000, traceparent: created })
      yield* harness.advance(retriedMs)
      expect(spans).toHaveLength(2)
      const { traceId } = spanContextOf(created)
      for (const [index, span] of spans.entries()) {
        expect(span).toMatchObject({
          context: { traceId, isSampled: true },
          parent: spanContextOf(created),
          link: spanContextOf(created),
          attributes: {
            "punctual.namespace": "shop",
            "punctual.timer.id": "a",
            "punctual.attempt": index + 1,
            "punctual.outcome": index === 0 ? "retry" : "delivered",
            "punctual.lateness_ms": 0,
            "http.response.status_code": index === 0 ? 409 : 200,
          },
        })
        expect(harness.firesOf("a")[index]?.ownTraceparent).toBe(`00-${traceId}-${span.context.spanId}-01`)
      }
      expect(spans.map(({ error }) => error)).toEqual(["409", undefined])
    }),
)

spanTest(
  "without a trace of the create, the attempts of an arming are one trace without a link",
  (harness, spans) =>
    Effect.gen(function* () {
      const script = [hostFailed, delivered]
      harness.onFire(() => Effect.succeed(script.shift() ?? delivered))
      yield* harness.create({ timerId: "a" })
      yield* harness.advance(retriedMs)
      const { fireId } = harness.firesOf("a")[0] ?? { fireId: "" }
      expect(spans.map(({ context }) => context.traceId)).toEqual(
        [1, 2].map(() => fireId.replaceAll("-", "")),
      )
      expect(spans.map(({ parent, link }) => [parent, link])).toEqual([
        [undefined, undefined],
        [undefined, undefined],
      ])
    }),
)

spanTest("a timer that dies says so in the span of its last attempt", (harness, spans) =>
  Effect.gen(function* () {
    harness.onFire(() =>
      Effect.succeed({ kind: "dead", reason: "refused", error: "a secret answer", status: 410 }),
    )
    yield* harness.create({ timerId: "a" })
    yield* harness.advance(1_000)
    expect(spans).toMatchObject([{ attributes: { "punctual.outcome": "dead" }, error: "410" }])
    // What a receiver answered stays inside.
    expect(JSON.stringify(spans)).not.toContain("secret")
  }),
)

spanTest("a trace that is left out has no spans, and its webhook tells the receiver so", (harness, spans) =>
  Effect.gen(function* () {
    yield* harness.create({ timerId: "a", traceparent: created.replace(/01$/, "00") })
    yield* harness.advance(1_000)
    expect(spans).toEqual([])
    expect(harness.firesOf("a")[0]?.ownTraceparent).toMatch(
      /^00-4bf92f3577b34da6a3ce929d0e0e4736-(?!00f067aa0ba902b7)[0-9a-f]{16}-00$/,
    )
  }),
)

engineTest("without tracing an attempt has no span of its own", {}, (harness) =>
  Effect.gen(function* () {
    yield* harness.create({ timerId: "a", traceparent: created })
    yield* harness.advance(1_000)
    expect(harness.firesOf("a")).toMatchObject([{ traceparent: created }])
    expect(harness.firesOf("a")[0]?.ownTraceparent).toBeUndefined()
  }),
)

spanTest(
  "an attempt that is superseded while it runs says so",
  (harness, spans) =>
    Effect.gen(function* () {
      const hanging = harness.hang()
      yield* harness.create({ timerId: "a" })
      yield* harness.advance(10)
      yield* harness.cancel("a")
      yield* hanging.endAll()
      expect(spans).toMatchObject([{ attributes: { "punctual.outcome": "superseded" } }])
    }),
  "always_on",
)
