// Compares a node's clock with the database's. It is read now and then, shown, and reported once each time that it goes
// wrong.
import { expect, test } from "bun:test"
import { Effect, Layer, Logger, Metric } from "effect"
import { TestClock } from "effect/testing"
import { StoreClock } from "../../src/ports/StoreClock.ts"
import { StoreError } from "../../src/ports/TimerStore.ts"
import { WallClock } from "../../src/ports/WallClock.ts"
import { ClockWatch } from "../../src/stores/ClockWatch.ts"

interface Rig {
  /** What the database's clock says next. Undefined means that the database is unreachable. */
  offsetMs: number | undefined
  reads: number
  readonly logged: Array<string>
  readonly watch: ClockWatch["Service"]
  /** Lets the time between two reads pass. */
  readonly later: Effect.Effect<void>
}

const withRig = (
  body: (rig: Rig) => Effect.Effect<void>,
  offsetMs: number | undefined = 0,
): Promise<void> => {
  const logged: Array<string> = []
  const clock = {
    offsetMs: () =>
      Effect.suspend(() => {
        rig.reads++
        return rig.offsetMs === undefined
          ? Effect.fail(new StoreError({ message: "away", isFatal: false }))
          : Effect.succeed(rig.offsetMs)
      }),
  }
  const rig: { -readonly [name in keyof Rig]: Rig[name] } = {
    offsetMs,
    reads: 0,
    logged,
    watch: { offsetMs: () => undefined },
    later: TestClock.adjust(10_000),
  }
  const logger = Logger.make(({ logLevel, message }) => {
    if (logLevel !== "Debug") logged.push(`${logLevel}: ${message}`)
  })
  const layer = ClockWatch.layer.pipe(
    Layer.provide(Layer.merge(Layer.succeed(StoreClock, clock), WallClock.fromClock)),
    Layer.provideMerge(Logger.layer([logger])),
  )
  return Effect.runPromise(
    Effect.gen(function* () {
      rig.watch = yield* ClockWatch
      yield* TestClock.adjust(1)
      yield* body(rig)
    }).pipe(Effect.provide(layer), Effect.scoped, Effect.provide(TestClock.layer())),
  )
}

test("the clock is read at once, and then every ten seconds", () =>
  withRig(
    (rig) =>
      Effect.gen(function* () {
        expect([rig.reads, rig.watch.offsetMs()]).toEqual([1, 40])
        yield* TestClock.adjust(9_000)
        expect(rig.reads).toBe(1)
        yield* TestClock.adjust(1_000)
        expect(rig.reads).toBe(2)
        const gauge = Metric.gauge("timer_clock_offset_seconds", {
          description: "How far this node's clock is ahead of the database's; negative if it is behind",
        })
        expect((yield* Metric.value(gauge)).value).toBe(0.04)
      }),
    40,
  ))

test("half a second is reported, once for each time that it is crossed", () =>
  withRig((rig) =>
    Effect.gen(function* () {
      for (const offsetMs of [500, 501, 900, 500, -501, -3_000, 0]) {
        rig.offsetMs = offsetMs
        yield* rig.later
      }
      expect(rig.logged.map((line) => line.replace(/,.*/, ""))).toEqual([
        "Warn: this node's clock is 501ms ahead of the database's",
        "Info: this node's clock agrees with the database's again",
        "Warn: this node's clock is 501ms behind the database's",
        "Info: this node's clock agrees with the database's again",
      ])
    }),
  ))

test("an unreachable database is asked again, and the last value stays", () =>
  withRig(
    (rig) =>
      Effect.gen(function* () {
        rig.offsetMs = undefined
        yield* rig.later
        expect([rig.watch.offsetMs(), rig.logged]).toEqual([7, []])
        rig.offsetMs = 9
        yield* rig.later
        expect(rig.watch.offsetMs()).toBe(9)
      }),
    7,
  ))
