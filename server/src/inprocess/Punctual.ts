// Punctual inside a program: the same engine, stores and contract as the service, without HTTP. Timers are delivered to
// functions of the program or to webhooks. This file is a composition root beside service.ts, for programs that do not
// want another process. Its calls return promises, so programs need no Effect.
//
//   await using punctual = await Punctual.open({ store: "sqlite:./timers.db" })
//   punctual.on("billing", async ({ payload }) => remind(payload))
//   await punctual.create({ namespace: "billing", delay: "30d", payload: { invoice: 4711 } })
import "effect/schema/SchemaJITCompiler/enable"
import { randomBytes } from "node:crypto"
import { hostname } from "node:os"
import { defaultLimits } from "@punctual/api/Limits"
import { Namespace } from "@punctual/api/Namespace"
import { Internal, OwnerUnavailable } from "@punctual/api/Problem"
import { Cause, Effect, Exit, Layer, ManagedRuntime, Option, Result, Schema } from "effect"
import { BulkJobs } from "../bulk/BulkJobs.ts"
import { startersWithoutKeys } from "../bulk/Starters.ts"
import { auditLayer } from "../calls/auditLayer.ts"
import { makeCalls } from "../calls/Calls.ts"
import { type HandlerDeliverer, makeHandlerDeliverer } from "../deliverers/handler/HandlerDeliverer.ts"
import { makeWebhookDeliverer } from "../deliverers/webhook/WebhookDeliverer.ts"
import type { Target } from "../domain/Timer.ts"
import { ActivityLog } from "../engine/activity/ActivityLog.ts"
import { defaultCensusLimits } from "../engine/census/Census.ts"
import { defaultEngineOptions, Engine } from "../engine/Engine.ts"
import { NamespaceDirectory } from "../engine/namespaces/NamespaceDirectory.ts"
import { type Deliverer, Deliverers } from "../ports/Deliverer.ts"
import { Ids } from "../ports/Ids.ts"
import { ShardLeases } from "../ports/ShardLeases.ts"
import { WallClock } from "../ports/WallClock.ts"
import { driversOf, installDriver } from "../program/drivers.ts"
import { layerLogs } from "../program/Logs.ts"
import { settings } from "../settings/Settings.ts"
import { allStores } from "../stores/all.ts"
import { ClockWatch } from "../stores/ClockWatch.ts"
import { HandlerScope } from "./HandlerScope.ts"
import {
  type AuditOfProgram,
  type BreakersOfProgram,
  type BulkOfProgram,
  type EgressOfProgram,
  type NamespacesOfProgram,
  operatorCalls,
  type ServiceOfProgram,
} from "./OperatorCalls.ts"
import type { PayloadForm } from "./PayloadForm.ts"
import { ProgramCalls } from "./ProgramCalls.ts"
import { PunctualError } from "./PunctualError.ts"
import { type OpenTerms, type PunctualOptions, readOptions } from "./PunctualOptions.ts"
import type {
  ActivityQuestion,
  Answers,
  CallName,
  ClockMove,
  DeadTimers,
  DeadTimersToDiscard,
  HistogramQuestion,
  LivesQuery,
  NewTimer,
  TimerCancel,
  TimerChange,
  TimerCount,
  TimerName,
  TimerQuery,
  TimersCancel,
} from "./Requests.ts"
import { deliverTo, type TimerHandler } from "./TimerHandler.ts"
import { untilAlone } from "./untilAlone.ts"

export type {
  AuditOfProgram,
  BreakersOfProgram,
  BulkOfProgram,
  EgressOfProgram,
  NamespacesOfProgram,
  ServiceOfProgram,
} from "./OperatorCalls.ts"
export { PunctualError } from "./PunctualError.ts"
export type { PunctualOptions } from "./PunctualOptions.ts"
export type {
  Answers,
  AuditQuestion,
  BreakerReset,
  BulkName,
  BulkQuery,
  ClockMove,
  DeadTimers,
  DeadTimersToDiscard,
  EgressQuestion,
  HistogramQuestion,
  LivesQuery,
  NamespaceName,
  NamespacePause,
  NamespaceQuery,
  NamespaceTerms,
  NewBulk,
  NewTimer,
  ServicePauseRequest,
  ServiceResumeRequest,
  ShownTimer,
  TimerCancel,
  TimerChange,
  TimerCount,
  TimerName,
  TimerQuery,
  TimersCancel,
} from "./Requests.ts"
export type { HandlerReply, TimerFire, TimerHandler } from "./TimerHandler.ts"

interface Opened {
  readonly runtime: ManagedRuntime.ManagedRuntime<Engine, { readonly message: string }>
  readonly engine: Engine["Service"]
  readonly calls: ProgramCalls
  readonly payloads: PayloadForm
  readonly handlers: HandlerDeliverer
  /** Present if the clock is manual. */
  readonly scope: HandlerScope | undefined
  readonly drainMs: number
}

export class Punctual implements AsyncDisposable {
  readonly namespaces: NamespacesOfProgram
  readonly service: ServiceOfProgram
  readonly breakers: BreakersOfProgram
  readonly egress: EgressOfProgram
  readonly audit: AuditOfProgram
  readonly bulk: BulkOfProgram
  readonly #opened: Opened
  #closing: Promise<void> | undefined

  private constructor(opened: Opened) {
    this.#opened = opened
    const { namespaces, service, breakers, egress, audit, bulk } = operatorCalls((name, request) =>
      this.#ask(name, request),
    )
    this.namespaces = namespaces
    this.service = service
    this.breakers = breakers
    this.egress = egress
    this.audit = audit
    this.bulk = bulk
  }

  /**
   * Resolves when timers can be created. Rejects if another process, or another Punctual of this one, has the store.
   */
  static async open(options: PunctualOptions): Promise<Punctual> {
    return new Punctual(await openWith(readOptions(options, allStores)))
  }

  /**
   * Sets the function that gets the timers of the namespace, and replaces an earlier one. Timers that became due
   * without a handler have waited for it, and start at once.
   */
  on(namespace: string, handler: TimerHandler): void {
    if (!isNamespace(namespace)) {
      throw new PunctualError(
        "invalidRequest",
        "the namespace of a handler must be 1 to 100 characters of A-Z, a-z, 0-9, _ and -, not beginning with _",
      )
    }
    if (typeof handler !== "function") {
      throw new PunctualError("invalidRequest", `the handler of ${namespace} must be a function`)
    }
    const { handlers, scope, payloads } = this.#opened
    const delivering = deliverTo(handler, { form: payloads, maxBytes: limits.payloadBytes })
    handlers.on(namespace, scope === undefined ? delivering : scope.around(delivering))
  }

  /**
   * Resolves when the timer is on stable storage. Without target and callbackUrl the handler of the namespace gets it.
   */
  create(timer: NewTimer): Promise<Answers["timers.create"]> {
    return this.#ask("timers.create", toHandler(timer))
  }

  /** Creates timers in order. If one fails, its result has a `problem`, and the others are still created. */
  createMany(timers: ReadonlyArray<NewTimer>): Promise<Answers["timers.createMany"]> {
    return this.#ask("timers.createMany", { timers: timers.map(toHandler) })
  }

  /** The pending timer, or the one that finished last. Rejects with `timerNotFound` if there is neither. */
  get(name: TimerName): Promise<Answers["timers.get"]> {
    return this.#ask("timers.get", name)
  }

  /** A field that is absent stays as it is, and null clears it. The attempts start again from the first. */
  update(change: TimerChange): Promise<Answers["timers.update"]> {
    return this.#ask("timers.update", change)
  }

  /** After `cancelled` no attempt starts. */
  cancel(cancel: TimerCancel): Promise<Answers["timers.delete"]> {
    return this.#ask("timers.delete", cancel)
  }

  /** Cancels a limited number of timers that match the filter, or of all. Repeat it while the answer has `more`. */
  cancelMany(cancel: TimersCancel): Promise<Answers["timers.deleteMany"]> {
    return this.#ask("timers.deleteMany", cancel)
  }

  /** One page. Send the `nextCursor` of the answer as `cursor` for the next page. */
  list(query: TimerQuery): Promise<Answers["timers.list"]> {
    return this.#ask("timers.list", query)
  }

  /** Counting stops at a limit. Then `capped` is true. */
  count(query: TimerCount): Promise<Answers["timers.count"]> {
    return this.#ask("timers.count", query)
  }

  /** How many timers there are in each part of a span of time. Very many are estimated. */
  histogram(question: HistogramQuestion): Promise<Answers["timers.histogram"]> {
    return this.#ask("timers.histogram", question)
  }

  /** One page of all lives of a key that the store still has, latest first. */
  lives(query: LivesQuery): Promise<Answers["timers.lives"]> {
    return this.#ask("timers.lives", query)
  }

  /** How much happened, and how late attempts were, over time. */
  activity(question: ActivityQuestion): Promise<Answers["timers.activity"]> {
    return this.#ask("timers.activity", question)
  }

  /** Makes dead letters due now, with all their attempts. Repeat the call while the answer has `more`. */
  replay(dead: DeadTimers): Promise<Answers["timers.replay"]> {
    return this.#ask("timers.replay", dead)
  }

  /** Removes dead letters permanently. Repeat the call while the answer has `more`. */
  discard(dead: DeadTimersToDiscard): Promise<Answers["timers.discard"]> {
    return this.#ask("timers.discard", dead)
  }

  /** The shards of the store, and the node that fires them. */
  cluster(): Promise<Answers["cluster.cluster"]> {
    return this.#ask("cluster.cluster", {})
  }

  /**
   * Moves a manual clock. Resolves when all timers that became due on the way have fired and are stored. A handler may
   * not call it, because it would wait for itself.
   */
  async advance(move: ClockMove): Promise<Answers["clock.advance"]> {
    if (this.#opened.scope?.isInside === true) throw new PunctualError("invalidRequest", waitsForItself)
    return this.#ask("clock.advance", move)
  }

  /**
   * Starts no more attempts, waits for running ones within the time limit, stores their outcomes, and closes the store.
   * A handler may call this, but must not wait for it.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #close(): Promise<void> {
    const { runtime, engine, drainMs } = this.#opened
    await runtime.runPromise(engine.drain(drainMs))
    await runtime.dispose()
  }

  async #ask<Name extends CallName>(name: Name, request: unknown): Promise<Answers[Name]> {
    if (this.#closing !== undefined) throw PunctualError.from(closed())
    const { runtime, calls } = this.#opened
    const exit = await runtime.runPromiseExit(calls.ask(name, request))
    if (Exit.isSuccess(exit)) return exit.value
    const failure = Cause.findError(exit.cause)
    if (Result.isFailure(failure)) throw PunctualError.from(unforeseen(exit.cause))
    throw "code" in failure.success
      ? PunctualError.from(failure.success)
      : new PunctualError("internal", failure.success.message)
  }
}

const limits = defaultLimits

const waitsForItself =
  "A handler cannot move the clock, because the clock moves only when every handler has ended. Return nextDelay or nextExecuteAt from the handler, or move the clock outside of it. The clock was not moved."

const isNamespace = Schema.is(Namespace)

const toHandler = (timer: NewTimer): object =>
  typeof timer !== "object" || timer === null || timer.target !== undefined || timer.callbackUrl !== undefined
    ? timer
    : { ...timer, target: { type: "handler" } }

const openWith = async (terms: OpenTerms): Promise<Opened> => {
  const handlers = makeHandlerDeliverer({ timeoutMs: terms.handlerTimeout })
  const runtime = ManagedRuntime.make(layerOf(terms, handlers))
  const program = Effect.gen(function* () {
    const engine = yield* Engine
    const wall = yield* WallClock
    const clock = yield* ClockWatch
    const calls = new ProgramCalls({
      limits,
      calls: yield* makeCalls({ limits, cluster: { clockOffsetMs: () => clock.offsetMs() } }),
      payloads: terms.payloads,
      now: () => wall.now(),
    })
    const isOwning = yield* untilOwning(engine).pipe(Effect.timeoutOption(terms.openTimeout))
    if (Option.isNone(isOwning)) return yield* Effect.fail({ message: taken(terms), isTaken: true })
    const scope = terms.clock.kind === "manual" ? new HandlerScope() : undefined
    const { payloads, drainTimeout: drainMs } = terms
    return { runtime, engine, calls, payloads, handlers, scope, drainMs }
  })
  const exit = await runtime.runPromiseExit(program)
  if (Exit.isSuccess(exit)) return exit.value
  await runtime.dispose()
  const failure = Cause.findError(exit.cause)
  if (Result.isFailure(failure)) throw PunctualError.from(unforeseen(exit.cause))
  const { success: error } = failure
  throw "isTaken" in error
    ? new PunctualError("ownerUnavailable", error.message, { written: "no" })
    : new PunctualError("internal", error.message)
}

const untilOwning = (engine: Engine["Service"]): Effect.Effect<void> =>
  Effect.sleep(5).pipe(
    Effect.repeat({
      while: () => {
        const { ownedShards, shards } = engine.status()
        return ownedShards < Math.max(1, shards)
      },
    }),
    Effect.asVoid,
  )

const layerOf = (terms: OpenTerms, handlers: HandlerDeliverer) => {
  const node = `${hostname()}:${process.pid}-${randomBytes(4).toString("hex")}`
  const engine = {
    ...defaultEngineOptions,
    ownership: { ...defaultEngineOptions.ownership, node },
    historyRetentionMs: terms.historyRetention,
    maxPendingByDefault: Number(settings.maxPendingPerNamespace.byDefault),
    census: defaultCensusLimits,
    onBroken: (message: string) => terms.onFatal(failed(`the engine has failed: ${message}`)),
  }
  return BulkJobs.layer(Effect.succeed(startersWithoutKeys)).pipe(
    Layer.provideMerge(ActivityLog.layer({ retentionMs: terms.historyRetention })),
    Layer.provideMerge(Engine.layer(engine)),
    Layer.provideMerge(deliverersLayer(terms, handlers)),
    Layer.provideMerge(
      NamespaceDirectory.layer({ secretKeys: terms.secretKey, keyFile: terms.store.sealingKey }),
    ),
    Layer.provideMerge(auditLayer(terms.auditRetention)),
    Layer.provideMerge(clockLayer(terms)),
    Layer.provideMerge(ClockWatch.layer.pipe(Layer.provide(WallClock.system))),
    Layer.provideMerge(aloneLayer(terms, node)),
    Layer.provideMerge(storeLayer(terms)),
    Layer.provide(Ids.system),
    Layer.provideMerge(layerLogs(terms.log, process.stderr.isTTY === true)),
  )
}

/** Succeeds when no other process uses the store. A store that cannot be shared checks this by itself. */
const aloneLayer = (
  terms: OpenTerms,
  node: string,
): Layer.Layer<never, { readonly message: string }, ShardLeases> =>
  terms.store.adapter.isShared
    ? Layer.effectDiscard(
        Effect.gen(function* () {
          const { leaseMs } = defaultEngineOptions.ownership
          const alone = untilAlone(yield* ShardLeases, node, leaseMs)
          if (Option.isNone(yield* Effect.timeoutOption(alone, terms.openTimeout))) {
            return yield* Effect.fail({ message: taken(terms), isTaken: true })
          }
        }),
      )
    : Layer.empty

const deliverersLayer = ({ egress }: OpenTerms, handlers: HandlerDeliverer) =>
  Layer.effect(
    Deliverers,
    Effect.map(NamespaceDirectory, (directory) => {
      const webhook = makeWebhookDeliverer({
        egress,
        payloadBytes: limits.payloadBytes,
        secretsOf: (namespace) => directory.of(namespace).secrets,
        onSecretsChange: directory.onChange,
      })
      return {
        byType: new Map<Target["type"], Deliverer>([
          ["handler", handlers],
          ["webhook", webhook],
        ]),
      }
    }),
  )

const clockLayer = ({ clock }: OpenTerms): Layer.Layer<WallClock> =>
  clock.kind === "manual" ? WallClock.manual(clock.startMs ?? Date.now()) : WallClock.system

/** Installs the driver of the store first, because the adapter may need it. */
const storeLayer = ({ store, shards, historyRetention, onFatal }: OpenTerms) =>
  Layer.unwrap(
    Effect.as(
      driversOf([store], installDriver),
      store.open({
        shards,
        historyRetentionMs: historyRetention,
        workerUrl: new URL("../stores/sqlite/worker.ts", import.meta.url),
        onFatal: (message) => onFatal(failed(`the store has failed: ${message}`)),
      }),
    ),
  )

const failed = (message: string): PunctualError =>
  new PunctualError("internal", `Punctual fires no more timers: ${message}`)

const taken = ({ store }: OpenTerms): string =>
  `Another process, or another Punctual in this process, has opened ${store.place}: close it first.`

const closed = () =>
  new OwnerUnavailable({
    detail: "This Punctual is closed. Nothing was written.",
    retryAfterSeconds: 1,
    written: "no",
  })

const unforeseen = (cause: Cause.Cause<unknown>) =>
  new Internal({ detail: `An unexpected error: ${String(Cause.squash(cause)).slice(0, 200)}` })
