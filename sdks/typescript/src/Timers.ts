/** The calls about timers. */
import type {
  CountTimers,
  CreateTimer,
  DeleteManyTimers,
  DeleteTimer,
  DiscardTimers,
  GetActivity,
  GetTimer,
  ListLives,
  ListTimers,
  ReplayTimers,
  TimerHistogram,
  UpdateTimer,
} from "./contract/requests.ts"
import type {
  ActivityAnswer,
  CountTimersAnswer,
  CreatedItem,
  CreateManyTimersAnswer,
  CreateTimerAnswer,
  DeleteManyTimersAnswer,
  DeleteTimerAnswer,
  DiscardTimersAnswer,
  FailedItem,
  ListLivesAnswer,
  ListTimersAnswer,
  ReplayTimersAnswer,
  Timer,
  TimerAnswer,
  TimerHistogramAnswer,
  UpdateTimerAnswer,
} from "./contract/timers.ts"
import type { Caller, ReadOptions } from "./core/Caller.ts"
import {
  completeCreate,
  completeUpdate,
  inScope,
  ofSelection,
  ofTimer,
  withInstants,
} from "./core/completeRequest.ts"
import type { CallOptions, DelayOptions, PayloadOptions } from "./core/options.ts"
import type { Paged } from "./core/Paged.ts"
import { refusedHere } from "./errors.ts"

/** The calls about timers, as `punctual.timers`. */
export class Timers {
  readonly #caller: Caller

  constructor(caller: Caller) {
    this.#caller = caller
  }

  /**
   * Creates a timer. When this returns, the timer is on stable storage. The client repeats the call after a time-out,
   * unless `onExisting` is `fail`; the result can then be `unchanged` instead of `created`.
   */
  async create<Payload = unknown>(
    request: CreateTimer<Payload>,
    options: DelayOptions = {},
  ): Promise<CreateTimerAnswer<Payload>> {
    const fields = await completeCreate(this.#caller, request, options.delayFrom)
    return this.#caller.call("timers.create", fields, inOneTimer(options))
  }

  /** Creates up to 1,000 timers in one call. One that the service refuses does not affect the others. */
  async createMany<Payload = unknown>(
    timers: ReadonlyArray<CreateTimer<Payload>>,
    options: DelayOptions = {},
  ): Promise<ReadonlyArray<CreatedItem | FailedItem>> {
    if (timers.length === 0) throw refusedHere("timers", "must not be empty")
    const complete = timers.map((timer) => completeCreate(this.#caller, timer, options.delayFrom))
    const fields = { timers: await Promise.all(complete) }
    const { results } = await this.#caller.call<CreateManyTimersAnswer>("timers.createMany", fields, options)
    return results
  }

  /** The pending timer with this id, or else the one that finished last. Throws `timerNotFound` if there is none. */
  async get<Payload = unknown>(request: GetTimer, options: PayloadOptions = {}): Promise<Timer<Payload>> {
    const fields = ofTimer(this.#caller, request)
    const { timer } = await this.#caller.call<TimerAnswer<Payload>>("timers.get", fields, inOneTimer(options))
    return timer
  }

  /** Changes a pending timer. With `ifRevision` the client repeats the call after a time-out, else it does not. */
  async update<Payload = unknown>(
    request: UpdateTimer<Payload>,
    options: DelayOptions = {},
  ): Promise<UpdateTimerAnswer<Payload>> {
    const fields = completeUpdate(this.#caller, request, options.delayFrom)
    return this.#caller.call("timers.update", fields, inOneTimer(options))
  }

  /** Cancels a timer, and says what that did. After `cancelled` no attempt starts. */
  async cancel(request: DeleteTimer, options?: CallOptions): Promise<DeleteTimerAnswer> {
    return this.#caller.call("timers.delete", ofTimer(this.#caller, request), options)
  }

  /** Cancels a limited number of timers. Repeat it while the answer has `more`. Never repeated after a time-out. */
  async cancelMany(request: DeleteManyTimers, options?: CallOptions): Promise<DeleteManyTimersAnswer> {
    const fields = ofSelection(this.#caller, request, "filter", "all")
    return this.#caller.call("timers.deleteMany", fields, options)
  }

  /** All timers that match: `for await (const timer of timers.list({ tag: "trial" }))`. */
  list<Payload = unknown>(request: ListTimers = {}, options: PayloadOptions = {}): Paged<Timer<Payload>> {
    return this.#caller.list(
      "timers.list",
      inScope(this.#caller, request),
      (page: ListTimersAnswer<Payload>) => page.timers,
      inManyTimers(options),
    )
  }

  /** All lives of a timer id that the service still has, latest first. */
  lives<Payload = unknown>(request: ListLives, options: PayloadOptions = {}): Paged<Timer<Payload>> {
    return this.#caller.list(
      "timers.lives",
      ofTimer(this.#caller, request),
      (page: ListLivesAnswer<Payload>) => page.lives,
      inManyTimers(options),
    )
  }

  /** How many timers match. */
  async count(request: CountTimers = {}, options?: CallOptions): Promise<CountTimersAnswer> {
    return this.#caller.call("timers.count", inScope(this.#caller, request), options)
  }

  /** How many timers there are in each part of a span of time. */
  async histogram(request: TimerHistogram, options?: CallOptions): Promise<TimerHistogramAnswer> {
    const fields = { ...request, filter: inScope(this.#caller, request.filter) }
    return this.#caller.call("timers.histogram", fields, options)
  }

  /** What happened over time: created, delivered, retried, dead and cancelled timers in each step. */
  async activity(request: GetActivity, options?: CallOptions): Promise<ActivityAnswer> {
    const { namespace } = this.#caller
    const scope =
      request.namespaces === undefined && namespace !== undefined ? { namespaces: [namespace] } : {}
    return this.#caller.call("timers.activity", { ...withInstants(request), ...scope }, options)
  }

  /** Arms dead letters again. Never repeated after a time-out, except with `dryRun`. */
  async replay(request: ReplayTimers, options?: CallOptions): Promise<ReplayTimersAnswer> {
    const fields = ofSelection(this.#caller, request, "timerId", "filter", "all")
    return this.#caller.call("timers.replay", fields, options)
  }

  /** Removes dead letters. Never repeated after a time-out, except with `dryRun`. */
  async discard(request: DiscardTimers, options?: CallOptions): Promise<DiscardTimersAnswer> {
    const fields = ofSelection(this.#caller, request, "timerId", "filter", "all")
    return this.#caller.call("timers.discard", fields, options)
  }
}

const inOneTimer = ({ rawPayloads, ...options }: PayloadOptions): ReadOptions =>
  rawPayloads === true ? { ...options, payloadDepth: 2 } : options

const inManyTimers = ({ rawPayloads, ...options }: PayloadOptions): ReadOptions =>
  rawPayloads === true ? { ...options, payloadDepth: 3 } : options
