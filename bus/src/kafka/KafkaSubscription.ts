// A subscription of a group: this member's partitions, read as fast as the intake has room, and committed when messages
// are done.
//
// All partitions are read with one waiting request for each broker. The next request is sent when every record of the
// last one is with the intake, so the memory for records is bounded. A partition that may take no more (see
// `PartitionSlot.hasRoom`) is left out, and does not hold up the others.
import { Clock, Effect, Latch, type Scope } from "effect"
import { type BusAbilities, BusError, type Subscription } from "../Bus.ts"
import { type Intake, makeIntake } from "../Intake.ts"
import type { IntakeOptions } from "../IntakeOptions.ts"
import { GroupMember } from "./GroupMember.ts"
import { commitOffsets, type GroupCommit } from "./groupOffsets.ts"
import type { KafkaCluster } from "./KafkaCluster.ts"
import { isLastingFailure, kafkaCodes, kafkaFailureText } from "./KafkaFailure.ts"
import { type DeliveryContext, KafkaIncoming } from "./KafkaIncoming.ts"
import type { KafkaProducer } from "./KafkaProducer.ts"
import type { AsideRecord } from "./KafkaUndeliverable.ts"
import { loadSlot } from "./loadSlot.ts"
import type { PartitionSlot } from "./PartitionSlot.ts"
import { earliest, offsetAt, readPartitions } from "./partitionReads.ts"
import { RetryFeed } from "./RetryFeed.ts"
import { pause, within } from "./within.ts"

export const kafkaAbilities: BusAbilities = {
  delays: true,
  dropsRepeats: false,
  retriesInOrder: true,
  countsUnanswered: false,
  listsUndeliverable: true,
}

export interface KafkaSubscriptionOptions {
  readonly topic: string
  readonly retryTopic: string
  readonly partitionCount: number
  readonly intake: IntakeOptions
  readonly sessionTimeoutMs?: number | undefined
  /** The name of the group at the broker. */
  readonly groupId: string
  setAside(aside: Omit<AsideRecord, "topic">): Effect.Effect<void, BusError>
}

const waitMs = 250
const commitEveryMs = 50
const pauseMs = 500
/** How often the subscription looks at its partitions without a reason. */
const lookEveryMs = 1_000
/**
 * How long `subscribe` waits for partitions. Other members may have them all, or the broker may still wait for a member
 * whose process was killed.
 */
const firstPartitionsWithinMs = 3_000
const settleWithinMs = 5_000

/** Handles messages until the scope closes. */
export const subscribeKafka = Effect.fn("KafkaSubscription.subscribe")(function* (
  cluster: KafkaCluster,
  producer: KafkaProducer,
  subscription: Subscription,
  options: KafkaSubscriptionOptions,
): Effect.fn.Return<void, BusError, Scope.Scope> {
  const context = yield* Effect.context<never>()
  const clock = yield* Clock.clockWith(Effect.succeed)
  const intake = yield* makeIntake(subscription, options.intake, kafkaAbilities)
  const run = Effect.runPromiseWith(context)
  const reader = new GroupReader(cluster, producer, intake, options.groupId, {
    ...options,
    nowMs: () => clock.currentTimeMillisUnsafe(),
    run,
    log: (message) => void run(Effect.logWarning(message)),
  })
  yield* Effect.forkScoped(reader.readAll)
  // Added after the fork, so that it runs first.
  yield* Effect.addFinalizer(() => reader.close)
  yield* Effect.tryPromise({
    try: () => reader.join(),
    catch: (error) =>
      new BusError({
        message: `Kafka at ${cluster.servers}, joining the group ${subscription.group}: ${kafkaFailureText(error)}.`,
        isPermanent: isLastingFailure(error),
      }),
  })
})

interface ReaderOptions extends KafkaSubscriptionOptions {
  nowMs(): number
  run<A>(effect: Effect.Effect<A>): Promise<A>
  log(message: string): void
}

class GroupReader implements DeliveryContext {
  readonly #cluster: KafkaCluster
  readonly #producer: KafkaProducer
  readonly #intake: Intake
  readonly #group: string
  readonly #options: ReaderOptions
  readonly #member: GroupMember
  readonly #slots = new Map<number, PartitionSlot>()
  /** The partitions that this member has, also those that are not loaded yet. */
  readonly #gained = new Set<number>()
  readonly #changed = Latch.makeUnsafe(false)
  readonly #line: string
  readonly #retries: RetryFeed
  #running: Promise<void> = Promise.resolve()
  #committing: Promise<void> | undefined
  #commitTimer: ReturnType<typeof setTimeout> | undefined
  #dueTimer: ReturnType<typeof setTimeout> | undefined
  #turn = 0
  #areNotesRefused = false
  #isClosing = false

  constructor(
    cluster: KafkaCluster,
    producer: KafkaProducer,
    intake: Intake,
    group: string,
    options: ReaderOptions,
  ) {
    this.#cluster = cluster
    this.#producer = producer
    this.#intake = intake
    this.#group = group
    this.#options = options
    this.#line = `${group} ${crypto.randomUUID()}`
    this.#retries = new RetryFeed(cluster, this.#slots, {
      topic: options.retryTopic,
      line: `${this.#line} retries`,
      nowMs: () => this.nowMs(),
      room: () => this.#room,
      take: (record, slot, entry) => this.#intake.take(new KafkaIncoming(record, slot, entry, this)),
      log: options.log,
    })
    this.#member = new GroupMember(cluster, {
      group,
      line: `${this.#line} group`,
      topics: [options.topic, options.retryTopic],
      partitionCount: options.partitionCount,
      sessionTimeoutMs: options.sessionTimeoutMs,
      onGained: (partitions) => {
        for (const partition of partitions) void this.#gain(partition)
      },
      onGivingUp: (partitions) => this.#giveUp(partitions),
      onLost: (partitions) => this.#lose(partitions),
      log: options.log,
    })
  }

  nowMs(): number {
    return this.#options.nowMs()
  }

  setAside(aside: Omit<AsideRecord, "topic">): Effect.Effect<void, BusError> {
    return this.#options.setAside(aside)
  }

  /** Resolves when the member has partitions, or after a while. Then the member goes on trying. */
  async join(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    let isAwaited = true
    const timer = setTimeout(resolve, firstPartitionsWithinMs)
    this.#running = this.#member.run(
      (partitions) => {
        if (partitions.length > 0) resolve()
      },
      () => isAwaited,
    )
    this.#running.catch(reject)
    try {
      await promise
    } finally {
      isAwaited = false
      clearTimeout(timer)
    }
  }

  /** Never ends. */
  get readAll(): Effect.Effect<never> {
    const self = this
    return Effect.gen(function* () {
      for (;;) {
        self.#changed.closeUnsafe()
        self.#feed()
        const targets = self.#targets()
        if (targets.length > 0) yield* Effect.promise(() => self.#read(targets))
        else {
          const room = self.#intake.room() > 0 ? Effect.never : self.#intake.awaitRoom(1)
          yield* Effect.raceFirst(self.#changed.await, room).pipe(Effect.timeoutOption(lookEveryMs))
        }
      }
    })
  }

  /** Running handlers may finish, what is done is committed, and the member leaves the group. */
  get close(): Effect.Effect<void> {
    return Effect.sync(() => {
      this.#isClosing = true
      this.#member.stop()
      for (const slot of this.#slots.values()) slot.leave()
    }).pipe(Effect.andThen(this.#intake.close), Effect.andThen(Effect.promise(() => this.#finish())))
  }

  async #finish(): Promise<void> {
    clearTimeout(this.#dueTimer)
    clearTimeout(this.#commitTimer)
    await within(settleWithinMs, this.#commitLast([...this.#slots.values()]))
    await within(settleWithinMs, this.#member.leave())
    for (const slot of this.#slots.values()) slot.lose()
    this.#slots.clear()
    await within(settleWithinMs, this.#running)
    this.#cluster.hangUp(this.#line)
  }

  async #commitLast(slots: ReadonlyArray<PartitionSlot>): Promise<void> {
    await Promise.all(slots.map((slot) => slot.settled()))
    await this.#committing
    await this.#commit(slots.filter(({ isDirty }) => isDirty))
  }

  async #gain(partition: number): Promise<void> {
    this.#gained.add(partition)
    const { topic, retryTopic, intake } = this.#options
    while (this.#gained.has(partition) && !this.#isClosing) {
      try {
        const latestDueAtMs = this.nowMs() + Math.max(...intake.retryDelaysMs, 0)
        const slot = await loadSlot(this.#cluster, {
          group: this.#group,
          line: `${this.#line} load`,
          topic,
          partition,
          latestDueAtMs,
          slot: {
            partition,
            retryTopic,
            producer: this.#producer,
            onChange: () => this.#noteChange(),
            log: this.#options.log,
          },
        })
        // The partition may have moved on in the meantime.
        if (!this.#gained.has(partition) || this.#isClosing) return
        this.#slots.set(partition, slot)
        slot.isDirty = true
        this.#noteChange()
        return
      } catch (error) {
        this.#options.log(`partition ${partition} of ${topic} cannot be read yet: ${kafkaFailureText(error)}`)
        await pause(pauseMs)
      }
    }
  }

  async #giveUp(partitions: ReadonlyArray<number>): Promise<void> {
    const slots = this.#take(partitions)
    for (const slot of slots) slot.leave()
    await this.#options.run(this.#intake.giveBack((incoming) => isOf(incoming, slots)))
    await within(settleWithinMs, this.#commitLast(slots))
    for (const slot of slots) slot.lose()
  }

  async #lose(partitions: ReadonlyArray<number>): Promise<void> {
    const slots = this.#take(partitions)
    for (const slot of slots) slot.lose()
    await this.#options.run(this.#intake.giveBack((incoming) => isOf(incoming, slots)))
  }

  #take(partitions: ReadonlyArray<number>): ReadonlyArray<PartitionSlot> {
    return partitions.flatMap((partition) => {
      this.#gained.delete(partition)
      const slot = this.#slots.get(partition)
      this.#slots.delete(partition)
      return slot === undefined ? [] : [slot]
    })
  }

  /** Gives records to the intake while it has room: first those that are due again, then the partitions in turn. */
  #feed(): void {
    if (this.#isClosing || !this.#member.isTrusted) return
    this.#retries.feed()
    this.#wakeWhenDue()
    const slots = [...this.#slots.values()]
    let idle = 0
    while (this.#room > 0 && idle < slots.length) {
      const slot = slots[this.#turn++ % slots.length]
      const record = slot?.next()
      idle = record === undefined ? idle + 1 : 0
      if (slot === undefined || record === undefined || !slot.mustHandle(record)) continue
      this.#intake.take(new KafkaIncoming(record, slot, undefined, this))
    }
  }

  /** Copies that are on their way to the intake have their room already. */
  get #room(): number {
    return this.#intake.room() - this.#retries.preparing
  }

  /** The partitions to read now: none while records wait for room in the intake. */
  #targets(): ReadonlyArray<PartitionSlot> {
    if (this.#isClosing || this.#intake.room() === 0 || !this.#member.isTrusted) return []
    const nowMs = performance.now()
    return [...this.#slots.values()].filter(
      (slot) => slot.hasRoom && slot.buffer.length === 0 && slot.notBeforeMs <= nowMs,
    )
  }

  /** Never fails. */
  async #read(slots: ReadonlyArray<PartitionSlot>): Promise<void> {
    const { topic } = this.#options
    const byLeader = new Map<number, Array<PartitionSlot>>()
    for (const slot of slots) {
      try {
        const leader = await this.#cluster.leaderOf(topic, slot.partition)
        byLeader.set(leader, [...(byLeader.get(leader) ?? []), slot])
      } catch {
        slot.notBeforeMs = performance.now() + pauseMs
      }
    }
    if (byLeader.size === 0) await pause(pauseMs)
    await Promise.all([...byLeader].map(([nodeId, those]) => this.#readFrom(nodeId, those)))
  }

  async #readFrom(nodeId: number, slots: ReadonlyArray<PartitionSlot>): Promise<void> {
    const { topic } = this.#options
    const positions = slots.map(({ partition, nextRead }) => ({ topic, partition, from: nextRead }))
    try {
      const parts = await readPartitions(this.#cluster, nodeId, positions, {
        line: `${this.#line} read`,
        waitMs,
      })
      for (const { partition, errorCode, records, next } of parts) {
        const slot = slots.find((one) => one.partition === partition)
        if (slot === undefined || !slot.isActive) continue
        if (errorCode !== 0) await this.#noteReadFailure(slot, errorCode)
        else {
          slot.buffer.push(...records)
          slot.nextRead = next
          if (records.length === 0) slot.passTo(next)
        }
      }
    } catch (error) {
      for (const { partition } of slots) this.#cluster.forgetLeader(topic, partition)
      if (this.#cluster.isConnected && !this.#isClosing) {
        this.#options.log(`reading ${topic} was interrupted: ${kafkaFailureText(error)}`)
      }
      await pause(pauseMs)
    }
  }

  async #noteReadFailure(slot: PartitionSlot, errorCode: number): Promise<void> {
    const { topic } = this.#options
    const { partition } = slot
    this.#cluster.forgetLeader(topic, partition)
    slot.notBeforeMs = performance.now() + pauseMs
    if (errorCode !== kafkaCodes.offsetOutOfRange) return
    // The broker removed messages, by its retention, before this group has read them.
    const first = await offsetAt(this.#cluster, { topic, partition }, earliest)
    this.#options.log(
      `offset ${slot.nextRead} of partition ${partition} of ${topic} is gone; the group ${this.#group} continues at ${first}`,
    )
    slot.restartAt(first)
  }

  /** Copies that are due wait for the time, for room in the intake, or for the answer of another one. */
  #wakeWhenDue(): void {
    clearTimeout(this.#dueTimer)
    const next = this.#retries.nextDueAtMs
    if (next === undefined || this.#isClosing) return
    // Without room, the end of a handler is what makes the difference.
    const inMs = this.#room <= 0 ? lookEveryMs : Math.max(1, Math.min(next - this.nowMs(), lookEveryMs))
    this.#dueTimer = setTimeout(() => this.#feed(), inMs)
  }

  #noteChange(): void {
    this.#changed.openUnsafe()
    if (this.#isClosing || this.#commitTimer !== undefined) return
    this.#commitTimer = setTimeout(() => {
      this.#commitTimer = undefined
      if (this.#isClosing || this.#committing !== undefined) return
      this.#committing = this.#commit([...this.#slots.values()].filter(({ isDirty }) => isDirty)).finally(
        () => {
          this.#committing = undefined
          if ([...this.#slots.values()].some(({ isDirty }) => isDirty)) this.#noteChange()
        },
      )
    }, commitEveryMs)
  }

  /** Never fails. What could not be committed stays dirty. */
  async #commit(slots: ReadonlyArray<PartitionSlot>): Promise<void> {
    const { membership } = this.#member
    if (slots.length === 0 || membership === undefined) return
    const { topic, retryTopic } = this.#options
    const commits = slots.map((slot) => ({ slot, ...slot.commit(!this.#areNotesRefused) }))
    const offsets = commits.flatMap(
      ({ slot: { partition }, main, retries }): ReadonlyArray<GroupCommit> => [
        { topic, partition, ...main },
        { topic: retryTopic, partition, ...retries },
      ],
    )
    for (const slot of slots) slot.isDirty = false
    let code: number = kafkaCodes.requestTimedOut
    try {
      code = await commitOffsets(this.#cluster, this.#group, `${this.#line} commit`, membership, offsets)
    } catch {
      // The next commit contains the same and more.
    }
    if (code === 0) {
      for (const { stored } of commits) stored()
      // Records may have waited for this.
      this.#feed()
      return
    }
    if (code === kafkaCodes.offsetMetadataTooLarge) this.#areNotesRefused = true
    for (const slot of slots) slot.isDirty = true
    await pause(commitEveryMs)
  }
}

const isOf = (incoming: unknown, slots: ReadonlyArray<PartitionSlot>): boolean =>
  incoming instanceof KafkaIncoming && slots.includes(incoming.slot)
