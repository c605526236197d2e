// What clients ask for: creates of every kind, changes, cancels, schedules over the bus, many timers due at once,
// replays and discards of dead letters, and repeated creates as the contract allows. In some worlds a client also catches
// up after a time in which it was down. Clients call any node and record each request and answer.
import { Effect } from "effect"
import type { Spec } from "../../src/domain/Timer.ts"
import { keyOf } from "../../src/domain/TimerKey.ts"
import type { CancelAnswer, ChangeAnswer, PutAnswer, ScheduleAnswer } from "../../src/domain/WriteItem.ts"
import type { Discarded, Replayed } from "../../src/engine/front/DeadLetters.ts"
import type { CreateCommand, Scheduler } from "../../src/engine/front/Scheduler.ts"
import type { Answer, Ask, HistoryRecorder, Key } from "../History.ts"
import type { Chance } from "./Chance.ts"
import { callNode, type Failure, type Heard } from "./callNode.ts"
import type { Scenario, Tenant } from "./Scenario.ts"
import { MachineClock, startMs } from "./SimClock.ts"
import type { SimNode } from "./SimNode.ts"
import { SimProcess } from "./SimProcess.ts"
import { onceOnly, type Watch } from "./Watch.ts"
import type { World } from "./World.ts"

export interface WorkloadParts {
  readonly world: World
  readonly scenario: Scenario
  readonly nodes: ReadonlyArray<SimNode>
  readonly recorder: HistoryRecorder
  readonly watch: Watch
}

type Call<A> = (scheduler: Scheduler["Service"]) => Effect.Effect<A, Failure>

const encoder = new TextEncoder()
/** So few ids that clients often use the same one. */
const sharedIds = 6
/** If a node certainly did nothing, the client calls another node, at most this many times. */
const triesPerAsk = 6
/** The average time between two catch-ups. */
const catchUpEveryMs = 10_000

/** Deaths are told to a host that is no timer's target. */
const onDead = {
  type: "webhook",
  url: "https://told.test/dead",
  method: "POST",
  timeoutMs: 10_000,
  body: "envelope",
} as const

export class Workload {
  /** The number of requests that all clients sent. */
  asks = 0
  readonly #parts: WorkloadParts
  readonly #process: SimProcess
  readonly #chance: Chance
  /** Creates that clients send again and again. */
  readonly #onceCreates: Array<CreateCommand> = []
  #made = 0

  constructor(parts: WorkloadParts) {
    this.#parts = parts
    const { world } = parts
    this.#chance = world.chance("workload")
    const exact = new MachineClock(world, { wall: 1, monotonic: 1 })
    this.#process = new SimProcess("clients", world, exact, world.chance("clients"))
  }

  begin(): void {
    for (let client = 0; client < this.#parts.scenario.clients; client++) {
      this.#process.post(() => this.#process.run(this.#askUntilTroublesEnd))
    }
    if (this.#parts.scenario.hasCatchUps)
      this.#process.post(() => this.#process.run(this.#catchUpUntilTroublesEnd))
  }

  readonly #askUntilTroublesEnd: Effect.Effect<void> = Effect.suspend(() => {
    const self = this
    const { world, scenario } = this.#parts
    return Effect.gen(function* () {
      while (world.nowMs < scenario.troubledMs) {
        yield* Effect.sleep(self.#chance.between(1, 2 * scenario.askEveryMs))
        yield* self.#askSomething
      }
    })
  })

  /** The last catch-up begins when the troubles end: they kept the client from the service. */
  readonly #catchUpUntilTroublesEnd: Effect.Effect<void> = Effect.suspend(() => {
    const self = this
    const { world, scenario } = this.#parts
    const tenants = scenario.tenants.filter(({ isOnBus }) => !isOnBus)
    return Effect.gen(function* () {
      while (world.nowMs < scenario.troubledMs) {
        const waitMs = self.#chance.between(1, 2 * catchUpEveryMs)
        yield* Effect.sleep(Math.min(waitMs, scenario.troubledMs - world.nowMs))
        const tenant = tenants[self.#chance.below(tenants.length)]
        if (tenant !== undefined) yield* self.#catchUp(tenant)
      }
    })
  })

  readonly #askSomething: Effect.Effect<void> = Effect.suspend(() => {
    const chance = this.#chance
    const tenant = this.#parts.scenario.tenants[chance.below(this.#parts.scenario.tenants.length)]
    if (tenant === undefined) return Effect.void
    if (tenant.isOnBus) return chance.happens(0.75) ? this.#schedule(tenant) : this.#cancel(tenant)
    const ask = chance.weighted([
      [40, () => this.#createAndRepeat(this.#newCommand(tenant, this.#someId(tenant.namespace)))],
      [12, () => this.#createOnce],
      [14, () => this.#change(tenant)],
      [14, () => this.#cancel(tenant)],
      [6, () => this.#burst(tenant)],
      [4, () => this.#dispose(tenant, "replay")],
      [1, () => this.#dispose(tenant, "discard")],
    ])
    return ask?.() ?? Effect.void
  })

  // ── Requests ──────────────────────────────────────────────────────────────────────────────────

  /** If a create gets no answer, the client sends it again. The timer must not fire twice. */
  #createAndRepeat(command: CreateCommand): Effect.Effect<void> {
    const self = this
    return Effect.gen(function* () {
      for (let time = 0; time < 3; time++) {
        const heard = yield* self.#create(command)
        if (heard.kind !== "unknown" || self.#chance.happens(0.3)) return
        yield* Effect.sleep(self.#chance.between(10, 2_000))
      }
    })
  }

  #create(command: CreateCommand): Effect.Effect<Heard<PutAnswer>> {
    return this.#ask<PutAnswer>(
      askOfCreate(command),
      (scheduler) => scheduler.create(command),
      (answer) => {
        if (answer.result === "created" || answer.result === "replaced")
          return { result: answer.result, fireId: answer.timer.fireId, revision: answer.timer.revision }
        // The finished life may come from this create, or from an earlier one.
        return answer.result === "alreadyFinished" ? undefined : nothingDone(answer.result)
      },
      (answer) => ("timer" in answer ? answer.timer : answer.life),
    )
  }

  /** Creates a new timer that gets no other request, or repeats the create of an earlier one. */
  get #createOnce(): Effect.Effect<void> {
    const [chance, onceCreates] = [this.#chance, this.#onceCreates]
    const earlier = chance.happens(0.6) ? onceCreates[chance.below(onceCreates.length)] : undefined
    if (earlier !== undefined) return this.#createAndRepeat(earlier)
    const quiet = { namespace: "quiet", temper: "calm", isOnBus: false } as const
    const command = {
      ...this.#newCommand(quiet, `${onceOnly}${this.#made++}`),
      onExisting: "replace",
    } as const
    onceCreates.push(command)
    return this.#createAndRepeat(command)
  }

  #burst(tenant: Tenant): Effect.Effect<void> {
    const chance = this.#chance
    const size = tenant.temper === "calm" ? chance.between(4, 10) : chance.between(10, 40)
    const executeAt = this.#someInstant()
    const commands = Array.from({ length: size }, () => ({
      ...this.#newCommand(tenant, `b-${this.#made++}`),
      executeAt,
    }))
    return this.#createAll(commands)
  }

  /**
   * A client was down for a while. It creates what should have fired meanwhile, and what is due in the next minute. In a
   * small window, the later timers must not take the room of the overdue ones.
   */
  #catchUp(tenant: Tenant): Effect.Effect<void> {
    const chance = this.#chance
    const nowMs = this.#now()
    const commands = Array.from({ length: chance.between(20, 60) }, () => ({
      ...this.#newCommand(tenant, `p-${this.#made++}`),
      executeAt: nowMs + chance.between(-30_000, 60_000),
    }))
    return this.#createAll(commands)
  }

  /** Many creates at once. Each is a separate request. */
  #createAll(commands: ReadonlyArray<CreateCommand>): Effect.Effect<void> {
    return Effect.forEach(commands, (command) => this.#create(command), {
      concurrency: "unbounded",
      discard: true,
    })
  }

  #schedule(tenant: Tenant): Effect.Effect<void> {
    const { namespace } = tenant
    const timerId = this.#someId(namespace)
    const executeAt = this.#someInstant()
    const askedAt = this.#now() - this.#chance.skewed(0, 3_000)
    const request: Ask = { op: "create", key: { namespace, timerId }, executeAtMs: executeAt }
    return Effect.asVoid(
      this.#ask<ScheduleAnswer>(
        request,
        (scheduler) =>
          scheduler.schedule({ namespace, timerId, executeAt, askedAt, spec: this.#spec(tenant) }),
        (answer) => {
          // The request may have been carried out before without an answer. Then it now comes too late because of its
          // own effect.
          if (answer.result === "ignored" || answer.result === "cancelled") return undefined
          if (answer.result === "unchanged") return nothingDone(answer.result)
          const { fireId, revision } = answer.timer
          return { result: answer.result === "created" ? "created" : "replaced", fireId, revision }
        },
        (answer) => ("timer" in answer ? answer.timer : undefined),
      ),
    )
  }

  #change({ namespace }: Tenant): Effect.Effect<void> {
    const timerId = this.#someId(namespace)
    const executeAt = this.#chance.happens(0.8) ? this.#someInstant() : undefined
    const payload = this.#chance.happens(0.4) ? this.#payload({ namespace, timerId }) : undefined
    const set = {
      ...(executeAt === undefined ? {} : { executeAt }),
      ...(payload === undefined ? {} : { payload }),
    }
    const request: Ask = {
      op: "update",
      key: { namespace, timerId },
      ...(executeAt === undefined ? {} : { executeAtMs: executeAt }),
      ...(payload === undefined ? {} : { payload }),
    }
    return Effect.asVoid(
      this.#ask<ChangeAnswer>(
        request,
        (scheduler) => scheduler.update({ namespace, timerId, set }),
        (answer) =>
          answer.result === "changed"
            ? { result: "changed", fireId: answer.timer.fireId, revision: answer.timer.revision }
            : nothingDone(answer.result),
        (answer) => ("timer" in answer ? answer.timer : undefined),
      ),
    )
  }

  #cancel({ namespace }: Tenant): Effect.Effect<void> {
    const timerId = this.#someId(namespace)
    return Effect.asVoid(
      this.#ask<CancelAnswer>(
        { op: "cancel", key: { namespace, timerId } },
        (scheduler) => scheduler.cancel(namespace, timerId, undefined),
        ({ result }) => (result === "cancelled" || result === "inFlight" ? { result } : nothingDone(result)),
        () => undefined,
      ),
    )
  }

  /** Replays or discards the dead letters of a key, often of a key that has some. */
  #dispose({ namespace }: Tenant, op: "replay" | "discard"): Effect.Effect<void> {
    const dead = this.#parts.watch.deadIn(namespace)
    const timerId = dead[this.#chance.below(dead.length)] ?? this.#someId(namespace)
    return Effect.asVoid(
      this.#ask<{ readonly done: number }>(
        { op, key: { namespace, timerId } },
        (scheduler) => {
          const asked: Effect.Effect<Replayed | Discarded | undefined, Failure> = scheduler[op]({
            namespace,
            timerId,
            isDryRun: false,
          })
          return Effect.mapBoth(asked, {
            onSuccess: (answer) => ({ done: countIn(answer) }),
            // The service may have removed some dead letters before it refused another one.
            onFailure: (error) => (op === "replay" ? error : { _tag: error._tag, mayBeDone: true }),
          })
        },
        ({ done }) =>
          done > 0
            ? { result: op === "replay" ? "replayed" : "discarded" }
            : nothingDone("no dead letter was free"),
        () => undefined,
      ),
    )
  }

  /** Asks one node after another until one answers, or until the result is unknown. */
  #ask<A>(
    request: Ask,
    call: Call<A>,
    answerOf: (answer: A) => Answer | undefined,
    ownerOf: (answer: A) => Key | undefined,
  ): Effect.Effect<Heard<A>> {
    const self = this
    const { recorder, watch, world } = this.#parts
    const { namespace, timerId } = request.key
    return Effect.gen(function* () {
      self.asks++
      const ask = recorder.asked(request)
      const isOver = watch.asking(keyOf(namespace, timerId).uuid)
      let heard: Heard<A> = { kind: "refused", because: "no node" }
      for (let tries = 0; tries < triesPerAsk && heard.kind === "refused"; tries++) {
        if (tries > 0) yield* Effect.sleep(self.#chance.between(5, 400))
        heard = yield* callNode(self.#process, self.#someNode(), self.#chance, call)
      }
      isOver()
      const result = resultOf(heard, answerOf)
      world.trace.note(
        "clients",
        () => `${request.op} ${namespace}/${timerId}: ${result?.result ?? "unknown"}`,
      )
      if (result !== undefined) recorder.answered(ask, result)
      const owner = heard.kind === "answered" ? ownerOf(heard.answer) : undefined
      if (owner !== undefined && (owner.namespace !== namespace || owner.timerId !== timerId)) {
        watch.broken(
          "isolation",
          `${namespace}/${timerId} was answered with ${owner.namespace}/${owner.timerId}`,
        )
      }
      return heard
    })
  }

  // ── Random choices ────────────────────────────────────────────────────────────────────────────

  #now(): number {
    return Math.floor(startMs + this.#parts.world.nowMs)
  }

  #someNode(): SimNode {
    const node = this.#parts.nodes[this.#chance.below(this.#parts.nodes.length)]
    if (node === undefined) throw new Error("a world without nodes")
    return node
  }

  /** Often an id whose attempt runs now. There a request and the outcome of the attempt meet. */
  #someId(namespace: string): string {
    const running = this.#chance.happens(0.3) ? this.#parts.watch.runningIn(namespace) : []
    const meant = running[this.#chance.below(running.length)]
    if (meant !== undefined) return meant
    return this.#chance.happens(0.7) ? `t-${this.#chance.below(sharedIds)}` : `u-${this.#made++}`
  }

  #someInstant(): number {
    const chance = this.#chance
    const inMs = chance.weighted([
      [10, chance.between(-5_000, 0)],
      [35, chance.between(0, 1_500)],
      [35, chance.between(1_500, 8_000)],
      [15, chance.between(8_000, 40_000)],
      [5, 600_000],
    ])
    return this.#now() + (inMs ?? 0)
  }

  #newCommand(tenant: Tenant, timerId: string): CreateCommand {
    const { namespace } = tenant
    return {
      namespace,
      timerId,
      executeAt: this.#someInstant(),
      spec: this.#spec(tenant),
      onExisting: this.#chance.oneOf(["replace", "replace", "keep", "fail"]),
      payload: this.#payload({ namespace, timerId }),
      correlationId: `c-${this.#made}`,
    }
  }

  #payload({ namespace, timerId }: Key): Uint8Array {
    return encoder.encode(JSON.stringify({ for: `${namespace}/${timerId}`, made: this.#made++ }))
  }

  #spec({ namespace, temper }: Tenant): Spec {
    const host = temper === "calm" ? namespace : `${namespace}-${this.#chance.below(2)}`
    return {
      target: {
        type: "webhook",
        url: `https://${host}.test/hook`,
        method: "POST",
        timeoutMs: 10_000,
        body: "envelope",
      },
      retryPolicy: {
        maxAttempts: 5,
        initialIntervalMs: 400,
        backoffMultiplier: 2,
        maxIntervalMs: 3_000,
        jitter: 0.2,
      },
      ...(temper === "moody" && this.#chance.happens(0.1) ? { expireAfterMs: 2_000 } : {}),
      ...(temper === "moody" && this.#chance.happens(0.7) ? { onDead } : {}),
    }
  }
}

const countIn = (answer: Replayed | Discarded | undefined): number => {
  if (answer === undefined) return 0
  return "replayed" in answer ? answer.replayed : answer.discarded
}

const nothingDone = (because: string): Answer => ({ result: "nothingDone", because })

const resultOf = <A>(heard: Heard<A>, answerOf: (answer: A) => Answer | undefined): Answer | undefined => {
  switch (heard.kind) {
    case "answered":
      return answerOf(heard.answer)
    case "refused":
      return { result: "nothingDone", because: heard.because }
    case "unknown":
      return undefined
  }
}

const askOfCreate = ({ namespace, timerId = "", executeAt, payload }: CreateCommand): Ask => ({
  op: "create",
  key: { namespace, timerId },
  executeAtMs: executeAt,
  ...(payload === undefined ? {} : { payload }),
})
