// The bus inside one process. It carries messages between parts of the same program. It keeps the laws of the port, but
// it holds messages in memory and loses them when the process ends. So `publish` resolves only when every group has
// handled every envelope, or the envelope is stored as undeliverable. Until then the publisher (an outbox or a timer)
// keeps its own record of the message. If no group takes a type that needs a subscriber, `publish` fails. A message of
// another type that no group takes is done at once.
//
// `publishWithinMs` is the longest time that the laws allow for one message: every delivery with the full time of a
// handler, and every delay between them. A message can take longer if it waits behind others of its key, or for an
// unavailable handler. It then stays on the bus, and `publish` fails with an error that is not permanent. If the same
// envelope is published again, that call waits for the first message. A handler must not publish to the key that it is
// handling, because it would wait for itself until its time is over.
//
// Everything is bounded: unhandled messages and undeliverable messages in number and bytes, and the ids by which repeats
// are recognised.
//
// Each ability can be turned off, so that the suite also tests a bus whose broker lacks the ability.
import { Clock, Context, Effect, Layer, type Scope } from "effect"
import { Bus, type BusAbilities, BusError, PublishError, type Subscription } from "../Bus.ts"
import { encodeEnvelope, type OutgoingEnvelope } from "../Envelope.ts"
import type { Incoming } from "../Incoming.ts"
import { makeIntake } from "../Intake.ts"
import { defaultIntakeOptions, type IntakeOptions } from "../IntakeOptions.ts"
import { type RoutingTable, unrouted } from "../RoutingTable.ts"
import { largestUndeliverablePage, UndeliverableMessages } from "../UndeliverableMessages.ts"
import { LocalExchange } from "./LocalExchange.ts"
import type { LocalGroup } from "./LocalGroup.ts"
import { LocalUndeliverable, type Sent } from "./LocalUndeliverable.ts"
import { type Copy, Mailbox, type Posted } from "./Mailbox.ts"
import { RecentIds } from "./RecentIds.ts"

export interface LocalBusOptions {
  readonly intake: IntakeOptions
  /** Messages that are not handled yet, and their bytes. */
  readonly unhandledAtMost: number
  readonly unhandledBytesAtMost: number
  /** How long, and for how many ids, the bus recognises repeats. */
  readonly repeatsWithinMs: number
  readonly idsAtMost: number
  readonly undeliverableAtMost: number
  readonly undeliverableAtMostPerTenant: number
  readonly undeliverableBytesAtMost: number
  readonly undeliverableBytesAtMostPerTenant: number
  readonly abilities: BusAbilities
}

const mebibyte = 1_024 * 1_024

export const defaultLocalBusOptions: LocalBusOptions = {
  intake: defaultIntakeOptions,
  unhandledAtMost: 10_000,
  unhandledBytesAtMost: 64 * mebibyte,
  repeatsWithinMs: 120_000,
  idsAtMost: 100_000,
  undeliverableAtMost: 10_000,
  undeliverableAtMostPerTenant: 1_000,
  undeliverableBytesAtMost: 64 * mebibyte,
  undeliverableBytesAtMostPerTenant: 16 * mebibyte,
  abilities: {
    delays: true,
    dropsRepeats: true,
    retriesInOrder: false,
    countsUnanswered: true,
    listsUndeliverable: true,
  },
}

export const LocalBus = {
  layer: (
    routing: RoutingTable,
    options: Partial<LocalBusOptions> = {},
  ): Layer.Layer<Bus | UndeliverableMessages> =>
    Layer.effectContext(makeLocalBus(routing, { ...defaultLocalBusOptions, ...options })),
}

const makeLocalBus = Effect.fnUntraced(function* (routing: RoutingTable, options: LocalBusOptions) {
  const { abilities } = options
  const clock = yield* Clock.clockWith(Effect.succeed)
  const runFork = Effect.runForkWith(yield* Effect.context<Scope.Scope>())
  const exchange = new LocalExchange()
  const recentIds = new RecentIds(options.repeatsWithinMs, options.idsAtMost)
  const aside = new LocalUndeliverable({
    atMost: options.undeliverableAtMost,
    atMostPerTenant: options.undeliverableAtMostPerTenant,
    bytesAtMost: options.undeliverableBytesAtMost,
    bytesAtMostPerTenant: options.undeliverableBytesAtMostPerTenant,
  })
  const publishWithinMs = longestHandlingMs(options.intake)

  /**
   * Posts the envelope. If the envelope repeats a message that is not handled yet, this returns that message instead.
   */
  const postOnce = ({ envelope: { id, type }, sent }: Routed, nowMs: number) => {
    if (!exchange.isHeard(type)) return { isDuplicate: false }
    const earlier = abilities.dropsRepeats ? exchange.find(id) : undefined
    if (earlier !== undefined) return { isDuplicate: true, posted: earlier }
    if (abilities.dropsRepeats && recentIds.has(id, nowMs)) return { isDuplicate: true }
    recentIds.add(id, nowMs)
    return { isDuplicate: false, posted: exchange.post(sent, id) }
  }

  const publish = Effect.fnUntraced(function* (envelopes: ReadonlyArray<OutgoingEnvelope>) {
    const routed = yield* routedBy(routing, envelopes)
    const refusal = refusalOf(routed, { exchange, routing, options })
    if (refusal !== undefined) return yield* refusal
    const nowMs = Number(clock.monotonicTimeNanosUnsafe() / 1_000_000n)
    const published = routed.map((one) => postOnce(one, nowMs))
    const waitingFor = published.flatMap(({ posted }): ReadonlyArray<Posted> => (posted ? [posted] : []))
    yield* Effect.forEach(waitingFor, ({ handled }) => handled.await, { discard: true }).pipe(
      Effect.timeoutOrElse({
        duration: publishWithinMs,
        orElse: () => Effect.fail(notHandled(publishWithinMs)),
      }),
    )
    return published.map(({ isDuplicate }) => ({ isDuplicate }))
  })

  const incomingFor =
    (group: LocalGroup, mailbox: Mailbox) =>
    (copy: Copy): Incoming => {
      const { posted, delivery } = copy
      const giveBack = Effect.sync(() => group.put({ posted, delivery: delivery + 1 }, mailbox))
      return {
        bytes: posted.bytes,
        delivery,
        addressedTenant: posted.tenant,
        messageKey: String(posted.sequence),
        acknowledge: () => exchange.finish(copy, group),
        redeliverIn: (delayMs) => {
          if (delayMs === 0) Effect.runSync(giveBack)
          else runFork(Effect.forkScoped(Effect.andThen(Effect.sleep(delayMs), giveBack)))
        },
        // The local bus has no time limit for an answer, so a held message simply stays.
        keepWaiting: () => {},
        setAside: (tenant, facts) =>
          abilities.listsUndeliverable
            ? aside.keep(tenant, facts, posted, clock.currentTimeMillisUnsafe())
            : Effect.void,
      }
    }

  const subscribe = Effect.fnUntraced(function* (
    subscription: Subscription,
  ): Effect.fn.Return<void, BusError, Scope.Scope> {
    const group = exchange.groupOf(subscription)
    if (group instanceof BusError) return yield* group
    const mailbox = new Mailbox()
    // Finalizers run from the last to the first: the mailbox closes, then the intake closes, then the other members get
    // what is left.
    yield* Effect.addFinalizer(() => Effect.sync(() => exchange.leave(group, mailbox)))
    const intake = yield* makeIntake(subscription, options.intake, abilities)
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        mailbox.isOpen = false
      }),
    )
    yield* Effect.forkScoped(mailbox.feed(intake, incomingFor(group, mailbox)))
    exchange.join(group, mailbox)
  })

  const bus = Bus.of({
    abilities,
    publish,
    subscribe,
    sample: (group) => Effect.sync(() => ({ isConnected: true, lag: exchange.lagOf(group) })),
    whyWaiting: () => undefined,
    audience: {
      hears: (type) => exchange.isHeard(type),
      onArrival: (listener) => exchange.onArrival(listener),
    },
  })
  return Context.make(Bus, bus).pipe(
    Context.add(
      UndeliverableMessages,
      abilities.listsUndeliverable ? keptIn(aside, exchange, options) : unlisted,
    ),
  )
})

const keptIn = (
  aside: LocalUndeliverable,
  exchange: LocalExchange,
  options: LocalBusOptions,
): UndeliverableMessages["Service"] => ({
  list: Effect.fnUntraced(function* (tenant, { cursor, limit }) {
    if (cursor !== undefined && !/^\d{1,15}$/.test(cursor)) {
      return yield* new BusError({ message: wrongCursor, isPermanent: true })
    }
    const atMost = Math.max(1, Math.min(limit, largestUndeliverablePage))
    return aside.list(tenant, { after: Number(cursor ?? 0), limit: atMost })
  }),
  find: (tenant, id) => Effect.sync(() => aside.find(tenant, id)?.message),
  /**
   * The message is posted without an id, so that it does not count as a repeat. The call does not wait for its
   * handling.
   */
  replay: Effect.fnUntraced(function* (tenant, id) {
    const found = aside.find(tenant, id)
    if (found === undefined) return "notFound"
    const { group = "" } = found.message.record
    if (!exchange.isOpen(group)) return yield* new BusError({ message: absent(group) })
    const isFull =
      exchange.unhandledCount >= options.unhandledAtMost ||
      exchange.unhandledBytes + found.sent.bytes.length > options.unhandledBytesAtMost
    if (isFull) return yield* new BusError({ message: full(options) })
    aside.remove(tenant, id)
    exchange.post(found.sent, undefined, group)
    return "replayed"
  }),
  discard: (tenant, id) => Effect.sync(() => (aside.remove(tenant, id) ? "discarded" : "notFound")),
  oldestAt: Effect.sync(() => aside.oldestAt),
})

const wrongCursor = "must be the cursor of an earlier page"

const refused = Effect.fail(
  new BusError({
    message: "This bus cannot list undeliverable messages. See the log, which names each of them.",
    isPermanent: true,
  }),
)

const unlisted: UndeliverableMessages["Service"] = {
  list: () => refused,
  find: () => refused,
  replay: () => refused,
  discard: () => refused,
  oldestAt: Effect.undefined,
}

interface Routed {
  readonly envelope: OutgoingEnvelope
  readonly sent: Sent
}

/** Adds the topic and the bytes to each envelope. Fails if one of them has no topic. */
const routedBy = (
  routing: RoutingTable,
  envelopes: ReadonlyArray<OutgoingEnvelope>,
): Effect.Effect<ReadonlyArray<Routed>, PublishError> =>
  Effect.forEach(envelopes, (envelope) => {
    const topic = routing.topicOf(envelope.type)
    if (topic === undefined)
      return Effect.fail(new PublishError({ message: unrouted(envelope.type), isPermanent: true }))
    const { tenantId: tenant, aggregateId } = envelope
    const sent = { bytes: encodeEnvelope(envelope), tenant, topic, key: `${tenant}/${aggregateId}` }
    return Effect.succeed({ envelope, sent })
  })

/** Checks before anything is posted, so that either all envelopes are posted or none. */
const refusalOf = (
  routed: ReadonlyArray<Routed>,
  {
    exchange,
    routing,
    options,
  }: {
    readonly exchange: LocalExchange
    readonly routing: RoutingTable
    readonly options: LocalBusOptions
  },
): PublishError | undefined => {
  const { unhandledAtMost, unhandledBytesAtMost } = options
  const bytes = routed.reduce((sum, { sent }) => sum + sent.bytes.length, 0)
  if (
    exchange.unhandledCount + routed.length > unhandledAtMost ||
    exchange.unhandledBytes + bytes > unhandledBytesAtMost
  ) {
    const isPermanent = routed.length > unhandledAtMost || bytes > unhandledBytesAtMost
    return new PublishError({ message: full(options), isPermanent })
  }
  const unheard = routed.find(
    ({ envelope: { type } }) => routing.needsSubscriber(type) && !exchange.isHeard(type),
  )?.envelope
  if (unheard === undefined) return undefined
  const message = `no group in this process subscribes to ${unheard.type}`
  return new PublishError({ message, isPermanent: false })
}

const longestHandlingMs = ({ retryDelaysMs, ackWaitMs }: IntakeOptions): number =>
  retryDelaysMs.reduce((sum, delayMs) => sum + delayMs + ackWaitMs, ackWaitMs)

const absent = (group: string): string => `the group ${group} has no member in this process`

const full = ({ unhandledAtMost, unhandledBytesAtMost }: LocalBusOptions): string =>
  `the local bus holds at most ${unhandledAtMost} unhandled messages and ${unhandledBytesAtMost} bytes of them: publish fewer, or try again later`

const notHandled = (withinMs: number): PublishError =>
  new PublishError({
    message: `the messages were not handled within ${withinMs} ms; they stay on the bus: publish the same again to wait for them`,
    isPermanent: false,
  })
