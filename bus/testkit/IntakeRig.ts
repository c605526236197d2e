// An intake alone, under virtual time. Its messages record the answers to the broker, the test scripts the handler, and
// only the test moves the time.
import { test } from "bun:test"
import { Effect, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import type { BusError } from "../src/Bus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../src/Envelope.ts"
import type { Incoming } from "../src/Incoming.ts"
import { type Intake, makeIntake } from "../src/Intake.ts"
import { defaultIntakeOptions, type IntakeOptions } from "../src/IntakeOptions.ts"
import type { UndeliverableFacts } from "../src/Undeliverable.ts"
import { type Handle, Listener, sampleMessage, sampleNow } from "./BusFixture.ts"

/** A delivery that records the answers. */
export class ToldDelivery implements Incoming {
  readonly bytes: Uint8Array
  readonly delivery: number
  readonly addressedTenant: string | undefined
  readonly messageKey: string
  /** `acknowledged`, or `again in … ms`. */
  readonly answers: Array<string> = []
  readonly setAsides: Array<{ readonly tenant: string; readonly facts: UndeliverableFacts }> = []
  keptWaiting = 0
  /** The result of storing an undeliverable message. */
  storing: Effect.Effect<void, BusError> = Effect.void

  constructor(message: OutgoingEnvelope | Uint8Array, delivery = 1, addressedTenant?: string) {
    this.bytes = message instanceof Uint8Array ? message : encodeEnvelope(message)
    this.delivery = delivery
    this.addressedTenant = addressedTenant
    this.messageKey = message instanceof Uint8Array ? `raw-${message.length}` : message.id
  }

  acknowledge(): void {
    this.answers.push("acknowledged")
  }

  redeliverIn(delayMs: number): void {
    this.answers.push(`again in ${delayMs} ms`)
  }

  keepWaiting(): void {
    this.keptWaiting++
  }

  setAside(tenant: string, facts: UndeliverableFacts): Effect.Effect<void, BusError> {
    return Effect.tap(this.storing, () => Effect.sync(() => this.setAsides.push({ tenant, facts })))
  }
}

export interface IntakeRig {
  readonly intake: Intake
  readonly listener: Listener
  readonly logs: ReadonlyArray<string>
  /** Takes a message of the key. */
  take(key: string, delivery?: number): ToldDelivery
  /** Lets time pass, and returns when everything that follows from it has happened. */
  advance(ms: number): Effect.Effect<void>
}

export interface RigOptions extends Partial<IntakeOptions> {
  /** The broker cannot delay. */
  readonly cannotDelay?: true
  /** Retries at the broker keep the order of a key. */
  readonly retriesInOrder?: true
  readonly handle?: Handle
}

type RigBody = (rig: IntakeRig) => Effect.Effect<void, unknown, Scope.Scope>

/** A test that reads as a law, with an intake of its own. */
export const intakeTest = (title: string, options: RigOptions, body: RigBody): void => {
  test(title, () => runIntake(options, body))
}

/** The same for properties, once for each case. */
export const runIntake = (
  { handle, cannotDelay, retriesInOrder, ...options }: RigOptions,
  body: RigBody,
): Promise<void> => {
  const logs: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => {
    logs.push(String(message))
  })
  const listener = new Listener(handle)
  return Effect.gen(function* () {
    yield* TestClock.setTime(sampleNow)
    const intake = yield* makeIntake(
      listener.subscription,
      { ...defaultIntakeOptions, ...options },
      {
        delays: cannotDelay !== true,
        retriesInOrder: retriesInOrder === true,
      },
    )
    const take = (key: string, delivery?: number) => {
      const told = new ToldDelivery(sampleMessage({ key }), delivery)
      intake.take(told)
      return told
    }
    const advance = (ms: number) => still.pipe(Effect.andThen(TestClock.adjust(ms)), Effect.andThen(still))
    yield* body({ intake, listener, logs, take, advance })
  }).pipe(
    Effect.scoped,
    Effect.provide(Logger.layer([logger])),
    Effect.provide(TestClock.layer()),
    Effect.runPromise,
  )
}

/** More turns than the longest chain of fibres here needs. */
const still = Effect.repeat(Effect.yieldNow, { times: 20 }).pipe(Effect.asVoid)
