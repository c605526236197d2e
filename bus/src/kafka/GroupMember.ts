// A member of a consumer group: it joins, sends heartbeats to the broker, and learns which partitions it reads. It takes
// part in cooperative rebalances: when members come and go, it keeps the partitions that stay with it and goes on reading
// them. It gives a partition up before another member gets it.
//
//   join → sync → partitions to give up? give them up, and join again
//               → heartbeats, until the broker says that the group changes → join
//
// If the broker no longer knows the member (it was silent for too long, or the broker lost the group), all its partitions
// are lost. Other members may read them already. The member drops its messages and joins as a new member.
import { heartbeatV4, joinGroupV6, leaveGroupV4, syncGroupV4 } from "../../../drivers/kafka/kafka.ts"
import { assignPartitions } from "./assignPartitions.ts"
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
} from "./groupProtocol.ts"
import type { BrokerLine, KafkaCluster } from "./KafkaCluster.ts"
import { isLastingFailure, kafkaCodeOf, kafkaCodes, kafkaFailureText, refuseCode } from "./KafkaFailure.ts"

export interface GroupMemberOptions {
  readonly group: string
  /** The line on which the member waits for the group. */
  readonly line: string
  /** All of them have the same partitions. */
  readonly topics: ReadonlyArray<string>
  readonly partitionCount: number
  /** A member that is silent for this long has left. */
  readonly sessionTimeoutMs?: number | undefined
  /** From now on the member reads these partitions. */
  onGained(partitions: ReadonlyArray<number>): void
  /** The member must give these partitions up. Resolves when nothing of them is handled any more. Never fails. */
  onGivingUp(partitions: ReadonlyArray<number>): Promise<void>
  /** Other members may already read these partitions. Never fails. */
  onLost(partitions: ReadonlyArray<number>): Promise<void>
  log(message: string): void
}

/** How a member identifies itself when it commits. */
export interface Membership {
  readonly memberId: string
  readonly generationId: number
}

const defaultSessionTimeoutMs = 10_000
const heartbeatEveryMs = 500
/** How long the broker waits for all members to join again. */
const rebalanceTimeoutMs = 20_000
const protocolType = "consumer"
const protocolName = "punctual"
const firstPauseMs = 100
const longestPauseMs = 2_000
const leaveWithinMs = 2_000

export class GroupMember {
  readonly #cluster: KafkaCluster
  readonly #options: GroupMemberOptions
  readonly #line: string
  readonly #sessionTimeoutMs: number
  #memberId = ""
  #generationId = -1
  #owned: ReadonlyArray<number> = []
  #isStopped = false
  #heardAtMs = Number.NEGATIVE_INFINITY
  #wake: (() => void) | undefined

  constructor(cluster: KafkaCluster, options: GroupMemberOptions) {
    this.#cluster = cluster
    this.#options = options
    this.#line = options.line
    this.#sessionTimeoutMs = options.sessionTimeoutMs ?? defaultSessionTimeoutMs
  }

  /** `undefined` while the member is not part of the group. */
  get membership(): Membership | undefined {
    return this.#generationId < 0 ? undefined : { memberId: this.#memberId, generationId: this.#generationId }
  }

  /**
   * Whether the broker has heard from the member lately. If it has not, others may already have the partitions of the
   * member.
   */
  get isTrusted(): boolean {
    return performance.now() - this.#heardAtMs < this.#sessionTimeoutMs
  }

  /**
   * Takes part in the group until `stop`. Fails only before the member has joined for the first time, only while
   * somebody waits for that, and only if joining cannot succeed with these settings.
   */
  async run(onJoined: (partitions: ReadonlyArray<number>) => void, isAwaited: () => boolean): Promise<void> {
    let hasJoined = false
    let pauseMs = firstPauseMs
    while (!this.#isStopped) {
      try {
        const mustJoinAgain = await this.#join()
        hasJoined = true
        onJoined(this.#owned)
        pauseMs = firstPauseMs
        if (!mustJoinAgain) await this.#stay()
      } catch (error) {
        if (this.#isStopped) return
        if (!hasJoined && isAwaited() && isLastingFailure(error)) throw error
        await this.#noteFailure(error)
        await this.#sleep(pauseMs)
        pauseMs = Math.min(longestPauseMs, 2 * pauseMs)
      }
    }
  }

  /** Joins no more. The partitions stay with the member until `leave`. */
  stop(): void {
    this.#isStopped = true
    this.#wake?.()
  }

  /** Tells the broker, so that other members get the partitions at once. */
  async leave(): Promise<void> {
    const memberId = this.#memberId
    if (memberId === "") return
    const leaving = this.#place(`${this.#line} leaving`, leaveWithinMs).then((place) =>
      this.#cluster.ask(place, leaveGroupV4, this.#options.group, [{ memberId }]),
    )
    await leaving.catch(() => {})
  }

  /** Returns whether the member has given partitions up, and must join again. */
  async #join(): Promise<boolean> {
    const { group, topics } = this.#options
    const place = await this.#place(this.#line, rebalanceTimeoutMs + 10_000)
    const subscription = encodeSubscription({
      topics,
      owned: this.#owned,
      generationId: this.#generationId,
    })
    const ask = (memberId: string) =>
      this.#cluster.ask(
        place,
        joinGroupV6,
        group,
        this.#sessionTimeoutMs,
        rebalanceTimeoutMs,
        memberId,
        null,
        protocolType,
        [{ name: protocolName, metadata: subscription }],
      )
    let joined = await ask(this.#memberId)
    if (joined.errorCode === kafkaCodes.memberIdRequired) {
      this.#memberId = joined.memberId ?? ""
      joined = await ask(this.#memberId)
    }
    refuseCode(joined.errorCode)
    this.#memberId = joined.memberId ?? ""
    this.#generationId = joined.generationId
    const isLeader = joined.leader === this.#memberId
    const synced = await this.#cluster.ask(
      place,
      syncGroupV4,
      group,
      joined.generationId,
      this.#memberId,
      null,
      protocolType,
      protocolName,
      isLeader ? this.#assignments(joined.members) : [],
    )
    refuseCode(synced.errorCode)
    this.#heardAtMs = performance.now()
    return this.#apply(decodeAssignment(synced.assignment))
  }

  #assignments(members: ReadonlyArray<{ readonly memberId: string; readonly metadata: Buffer | null }>) {
    const { topics, partitionCount } = this.#options
    const facts = members.map(({ memberId, metadata }) => ({
      memberId,
      ...decodeSubscription(metadata ?? Buffer.alloc(0)),
    }))
    return [...assignPartitions(facts, partitionCount)].map(([memberId, partitions]) => ({
      memberId,
      assignment: encodeAssignment(topics, partitions),
    }))
  }

  async #apply(assigned: ReadonlyArray<number>): Promise<boolean> {
    const before = this.#owned
    const givenUp = before.filter((partition) => !assigned.includes(partition))
    const gained = assigned.filter((partition) => !before.includes(partition))
    if (givenUp.length > 0) await this.#aliveWhile(this.#options.onGivingUp(givenUp))
    this.#owned = assigned
    if (gained.length > 0) this.#options.onGained(gained)
    return givenUp.length > 0
  }

  /** Returns when the group changes. */
  async #stay(): Promise<void> {
    while (!this.#isStopped) {
      await this.#sleep(heartbeatEveryMs)
      if (this.#isStopped) return
      const code = await this.#heartbeat()
      if (code === kafkaCodes.rebalanceInProgress) return
      refuseCode(code)
    }
  }

  /** Sends heartbeats during work that takes long, so that the broker keeps the member in the group. */
  async #aliveWhile(work: Promise<void>): Promise<void> {
    let isDone = false
    const done = work.finally(() => {
      isDone = true
      this.#wake?.()
    })
    done.catch(() => {})
    while (!isDone) {
      await this.#sleep(heartbeatEveryMs)
      if (!isDone) await this.#heartbeat().catch(() => {})
    }
    await done
  }

  async #heartbeat(): Promise<number> {
    const askedAtMs = performance.now()
    const place = await this.#place(this.#line, rebalanceTimeoutMs + 10_000)
    const { errorCode } = await this.#cluster.ask(
      place,
      heartbeatV4,
      this.#options.group,
      this.#generationId,
      this.#memberId,
    )
    if (errorCode === 0 || errorCode === kafkaCodes.rebalanceInProgress) this.#heardAtMs = askedAtMs
    return errorCode
  }

  async #noteFailure(error: unknown): Promise<void> {
    const code = kafkaCodeOf(error)
    if (code === kafkaCodes.rebalanceInProgress) return
    if (code === kafkaCodes.unknownMember || code === kafkaCodes.illegalGeneration) {
      const lost = this.#owned
      if (code === kafkaCodes.unknownMember) this.#memberId = ""
      this.#generationId = -1
      this.#owned = []
      if (lost.length > 0) {
        this.#options.log(
          `the group ${this.#options.group} no longer counts on this member; its messages go to others`,
        )
        await this.#options.onLost(lost)
      }
      return
    }
    this.#cluster.forgetCoordinator(this.#options.group)
    if (code === kafkaCodes.coordinatorLoading || code === kafkaCodes.notCoordinator) return
    if (!this.#cluster.isConnected) return
    this.#options.log(`the group ${this.#options.group} is out of reach: ${kafkaFailureText(error)}`)
  }

  async #place(line: string, answerWithinMs: number): Promise<BrokerLine> {
    const nodeId = await this.#cluster.coordinatorOf(this.#options.group)
    return { nodeId, line, answerWithinMs }
  }

  /** Ends early when the member stops. */
  #sleep(ms: number): Promise<void> {
    if (this.#isStopped) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, ms)
      this.#wake = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }
}
