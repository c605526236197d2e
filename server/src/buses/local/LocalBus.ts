// The bus of a service that has no broker: messages go from those who publish to those who subscribe in the
// same process. It keeps the laws of the port with one promise fewer, since memory does not outlive the
// process: so `publish` resolves only when every envelope was handled (or is a dead letter), and whoever
// published keeps its own record of it until then.
//
// How long that may take: `publishWithinMs` is the time that one message may need by the laws, every delivery
// with the whole of a handler's time, and every delay between them. A message that waits longer, behind others
// of its key or for a handler that cannot work, stays on the bus; `publish` fails then without being
// permanent, and the same envelope published again waits for the first. A handler that publishes to the key it
// is handling waits for itself until its time is over: it must not.
//
// Everything is bounded: messages that are not handled, the ids that repeats are told by, and dead letters.
import { encodeEnvelope, type SealedEnvelope } from "@punctual/api/Envelope"
import { Clock, Effect, Layer, type Scope } from "effect"
import {
  Bus,
  BusError,
  type BusSample,
  type DeadLetters,
  PublishError,
  type Subscription,
} from "../../ports/Bus.ts"
import { WallClock } from "../../ports/WallClock.ts"
import type { Delivered } from "../Delivered.ts"
import { defaultIntakeOptions, type IntakeOptions, makeIntake } from "../Intake.ts"
import { LocalDeadLetters } from "./LocalDeadLetters.ts"
import { LocalTopic } from "./LocalTopic.ts"
import { type Copy, Mailbox, type Posted } from "./Mailbox.ts"
import { RecentIds } from "./RecentIds.ts"

export interface LocalBusOptions {
  readonly intake: IntakeOptions
  /** Messages that are not handled yet. */
  readonly unhandledAtMost: number
  /** How long repeats are told by their id, and by how many ids. */
  readonly repeatsWithinMs: number
  readonly idsAtMost: number
  readonly deadLettersAtMost: number
  readonly deadLettersAtMostPerTenant: number
}

const defaultLocalBusOptions: LocalBusOptions = {
  intake: defaultIntakeOptions,
  unhandledAtMost: 10_000,
  repeatsWithinMs: 120_000,
  idsAtMost: 100_000,
  deadLettersAtMost: 10_000,
  deadLettersAtMostPerTenant: 1_000,
}

export const LocalBus = {
  layer: (options: Partial<LocalBusOptions> = {}): Layer.Layer<Bus, never, WallClock> =>
    Layer.effect(Bus, makeLocalBus({ ...defaultLocalBusOptions, ...options })),
}

const makeLocalBus = Effect.fnUntraced(function* (options: LocalBusOptions) {
  const wall = yield* WallClock
  const clock = yield* Clock.clockWith(Effect.succeed)
  const busScope = yield* Effect.scope
  const runFork = Effect.runForkWith(yield* Effect.context<never>())
  const topic = new LocalTopic()
  const recentIds = new RecentIds(options.repeatsWithinMs, options.idsAtMost)
  const buried = new LocalDeadLetters({
    atMost: options.deadLettersAtMost,
    atMostPerTenant: options.deadLettersAtMostPerTenant,
  })
  const publishWithinMs = longestHandlingMs(options.intake)

  const publish = Effect.fnUntraced(function* (envelopes: ReadonlyArray<SealedEnvelope>) {
    const refusal = refusalOf(envelopes, topic, options.unhandledAtMost)
    if (refusal !== undefined) return yield* refusal
    const nowMs = Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const waitingFor: Array<Posted> = []
    const published = envelopes.map((envelope) => {
      const { id, type, tenantId: tenant } = envelope
      const earlier = topic.find(id)
      const isDuplicate = earlier !== undefined || recentIds.has(id, nowMs)
      if (earlier !== undefined) waitingFor.push(earlier)
      if (!isDuplicate) {
        recentIds.add(id, nowMs)
        waitingFor.push(topic.post({ bytes: encodeEnvelope(envelope), tenant }, id, type))
      }
      return { isDuplicate }
    })
    yield* Effect.forEach(waitingFor, ({ handled }) => handled.await, { discard: true }).pipe(
      Effect.timeoutOrElse({
        duration: publishWithinMs,
        orElse: () => Effect.fail(notHandled(publishWithinMs)),
      }),
    )
    return published
  })

  const deliver =
    (mailbox: Mailbox) =>
    (copy: Copy): Delivered => {
      const { posted, delivery } = copy
      const again = { posted, delivery: delivery + 1 }
      return {
        bytes: posted.bytes,
        delivery,
        addressedTenant: posted.tenant,
        messageKey: String(posted.sequence),
        acknowledge: () => topic.finish(copy),
        redeliverIn: (delayMs) => {
          if (delayMs === 0) topic.giveBack(again, mailbox)
          else
            runFork(
              Effect.sleep(delayMs).pipe(
                Effect.andThen(Effect.sync(() => topic.giveBack(again, mailbox))),
                Effect.forkIn(busScope),
              ),
            )
        },
        // Nobody waits: what is held stays until it is answered.
        keepWaiting: () => {},
        bury: (tenant, facts) => buried.bury(tenant, facts, posted, wall.now()),
      }
    }

  const subscribe = Effect.fnUntraced(function* (
    subscription: Subscription,
  ): Effect.fn.Return<void, never, Scope.Scope> {
    const mailbox = new Mailbox(subscription)
    // Finalizers run from the last to the first: nothing new comes, the intake closes, and what is left is
    // for others.
    yield* Effect.addFinalizer(() => Effect.sync(() => topic.leave(mailbox)))
    const intake = yield* makeIntake(subscription, options.intake).pipe(
      Effect.provideService(WallClock, wall),
    )
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        mailbox.isOpen = false
      }),
    )
    yield* Effect.forkScoped(mailbox.feed(intake, deliver(mailbox)))
    topic.join(mailbox)
  })

  const sample = Effect.sync((): BusSample => {
    const oldestDeadLetterAt = buried.oldestDiedAt
    const sampled = { isConnected: true, lag: topic.unhandledCount }
    return oldestDeadLetterAt === undefined ? sampled : { ...sampled, oldestDeadLetterAt }
  })

  return { publish, subscribe, sample, deadLetters: deadLettersOf(buried, topic, options) }
})

const deadLettersOf = (
  buried: LocalDeadLetters,
  topic: LocalTopic,
  { unhandledAtMost }: LocalBusOptions,
): DeadLetters => ({
  list: Effect.fnUntraced(function* (tenant, page) {
    const { cursor = "0" } = page
    if (!/^\d{1,15}$/.test(cursor))
      return yield* new BusError({ message: "the cursor must be one that an earlier page answered" })
    return buried.list(tenant, page)
  }),
  find: (tenant, id) => Effect.sync(() => buried.find(tenant, id)?.entry),
  /** Under no id, so that it is no repeat. It does not wait to be handled: the dead letter was no safer. */
  replay: Effect.fnUntraced(function* (tenant, id) {
    const found = buried.find(tenant, id)
    if (found === undefined) return "notFound"
    const type = found.entry.letter.envelope?.type
    if (!topic.isHeard(type)) return yield* new BusError({ message: unheard(type) })
    if (topic.unhandledCount >= unhandledAtMost)
      return yield* new BusError({ message: full(unhandledAtMost) })
    buried.remove(tenant, id)
    topic.post(found.sent, undefined, type)
    return "replayed"
  }),
  discard: (tenant, id) => Effect.sync(() => (buried.remove(tenant, id) ? "discarded" : "notFound")),
})

/** Before anything is taken: all of the envelopes or none. */
const refusalOf = (
  envelopes: ReadonlyArray<SealedEnvelope>,
  topic: LocalTopic,
  unhandledAtMost: number,
): PublishError | undefined => {
  if (topic.unhandledCount + envelopes.length > unhandledAtMost) {
    const isPermanent = envelopes.length > unhandledAtMost
    return new PublishError({ message: full(unhandledAtMost), isPermanent })
  }
  const unheardOf = envelopes.find(({ type }) => !topic.isHeard(type))
  return unheardOf && new PublishError({ message: unheard(unheardOf.type), isPermanent: false })
}

const longestHandlingMs = ({ retryDelaysMs, ackWaitMs }: IntakeOptions): number =>
  retryDelaysMs.reduce((sum, delayMs) => sum + delayMs + ackWaitMs, ackWaitMs)

const unheard = (type: string | undefined): string =>
  `nobody in this process subscribes to ${type ?? "anything"}`

const full = (unhandledAtMost: number): string =>
  `the local bus takes at most ${unhandledAtMost} messages that are not handled: publish fewer, or later`

const notHandled = (withinMs: number): PublishError =>
  new PublishError({
    message: `the messages were not handled within ${withinMs} ms; they stay on the bus, and the same again waits for them`,
    isPermanent: false,
  })
