// A bus with dead letters on it, and `punctual dlq` run against them with its output caught.

import { MessageType, type SealedEnvelope } from "@punctual/api/Envelope"
import { EnvelopeId } from "@punctual/api/EnvelopeId"
import { Namespace } from "@punctual/api/Namespace"
import { TimerId } from "@punctual/api/TimerId"
import { Context, Effect, Exit, Layer, Logger, Scope } from "effect"
import { LocalBus } from "../../../src/buses/local/LocalBus.ts"
import type { Surroundings } from "../../../src/cli/frame/CommandRuntime.ts"
import type { OpenDeadLetters } from "../../../src/cli/messages/dlq.ts"
import { Bus, type DeadLetters, type HandlerFailure, MessageRefused } from "../../../src/ports/Bus.ts"
import { WallClock } from "../../../src/ports/WallClock.ts"
import { type Ended, run } from "../CommandFixture.ts"

/** Where the clock of the dead letters starts. */
const startMs = Date.UTC(2030, 0, 1)

export interface DeadLetterRig {
  readonly deadLetters: DeadLetters
  /** What the handler does with messages; it refuses them, to begin with. */
  handle: (serviceCallId: string) => Effect.Effect<void, HandlerFailure>
  readonly handled: Array<string>
  /** Resolves when each has been handled, or is a dead letter. */
  send(...messages: ReadonlyArray<Partial<Sent>>): Promise<void>
  run(...args: ReadonlyArray<string>): Promise<Ended>
  runOn(deadLetters: DeadLetters, ...args: ReadonlyArray<string>): Promise<Ended>
  ids(tenant: string): Promise<ReadonlyArray<string>>
  [Symbol.asyncDispose](): Promise<void>
}

interface Sent {
  readonly tenant: string
  readonly serviceCallId: string
  /** Put into the message as it is, whether it is JSON or not. */
  readonly payloadJson: string
}

const busWith = (tickMs: number) =>
  LocalBus.layer().pipe(
    Layer.provide(
      Layer.sync(WallClock, () => {
        let nowMs = startMs
        return {
          now: () => {
            nowMs += tickMs
            return nowMs
          },
        }
      }),
    ),
    // It warns of every dead letter, which here are meant.
    Layer.provide(Logger.layer([])),
  )

/** Each that dies is by a tick later than the one before. */
export const deadLetterRig = async ({ tickMs = 1 } = {}): Promise<DeadLetterRig> => {
  const scope = Scope.makeUnsafe()
  const inScope = <A, E>(effect: Effect.Effect<A, E, Scope.Scope>) =>
    Effect.runPromise(
      effect.pipe(Effect.provideService(Scope.Scope, scope), Effect.provide(Logger.layer([]))),
    )
  const { publish, subscribe, deadLetters } = Context.get(await inScope(Layer.build(busWith(tickMs))), Bus)
  const rig: DeadLetterRig = {
    deadLetters,
    handled: [],
    handle: () => Effect.fail(new MessageRefused({ message: "no such plan" })),
    send: (...messages) => Effect.runPromise(Effect.asVoid(publish(messages.map(envelopeOf)))),
    run: (...args) => rig.runOn(deadLetters, ...args),
    runOn: (letters, ...args) => runDlq(args, Effect.succeed(letters)),
    ids: async (tenant) => {
      const { entries } = await Effect.runPromise(deadLetters.list(tenant, { limit: 10_000 }))
      return entries.map(({ id }) => id)
    },
    [Symbol.asyncDispose]: () => Effect.runPromise(Scope.close(scope, Exit.void)),
  }
  await inScope(
    subscribe({
      topic: "serviceCall",
      types: new Set(["ScheduleTimer"]),
      handle: ({ envelope: { aggregateId } }) =>
        Effect.andThen(
          rig.handle(aggregateId),
          Effect.sync(() => rig.handled.push(aggregateId)),
        ),
      observe: () => {},
    }),
  )
  return rig
}

/** Runs `punctual dlq <args>`. */
export const runDlq = (
  args: ReadonlyArray<string>,
  openDeadLetters: OpenDeadLetters,
  surroundings: Partial<Surroundings> = {},
): Promise<Ended> => run(["dlq", ...args], { parts: { openDeadLetters }, ...surroundings })

let sent = 0

const envelopeOf = (message: Partial<Sent>): SealedEnvelope => {
  const { tenant = "billing", serviceCallId = "invoice-1", payloadJson = "{}" } = message
  return {
    id: EnvelopeId.make(`01890a5d-ac96-774b-bcce-${(++sent).toString().padStart(12, "0")}`),
    type: MessageType.make("ScheduleTimer"),
    tenantId: Namespace.make(tenant),
    aggregateId: TimerId.make(serviceCallId),
    timestampMs: startMs,
    payloadJson,
  }
}
