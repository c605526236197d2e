// How many open calls a tenant may have. Counting for every submission would cost too much, so one count gives an
// allowance: so many submissions may follow without another count. The allowance ends after some seconds, because other
// processes submit calls, too, and calls end. So a tenant can exceed its quota by what is submitted at the same moment,
// or by other processes within these seconds.
import { Clock, Effect, Semaphore } from "effect"

export interface OpenCallQuotaOptions<E> {
  readonly callsMax: number
  /** The open calls of a tenant. Counting stops at the limit. */
  readonly count: (tenantId: string, limit: number) => Effect.Effect<number, E>
}

interface Allowance {
  readonly countedAt: number
  room: number
}

/** An allowance is used for this long. */
const allowanceMs = 10_000
/** A tenant without room is counted again after this time at the earliest. */
const recountMs = 1_000
/** Tenants with an allowance. The oldest gives way. */
const tenantsMax = 10_000

export class OpenCallQuota<E> {
  readonly #options: OpenCallQuotaOptions<E>
  readonly #allowances = new Map<string, Allowance>()
  readonly #one = Semaphore.makeUnsafe(1)

  constructor(options: OpenCallQuotaOptions<E>) {
    this.#options = options
  }

  /** Whether the tenant may submit one more call. */
  admit(tenantId: string): Effect.Effect<boolean, E> {
    const self = this
    const known = Effect.map(Clock.currentTimeMillis, (nowMs) => self.#take(tenantId, nowMs))
    return Effect.gen(function* () {
      const isAdmitted = yield* known
      if (isAdmitted !== undefined) return isAdmitted
      // One count at a time. Those who waited for it use its result.
      return yield* self.#one.withPermits(1)(
        Effect.flatMap(known, (again) =>
          again === undefined ? self.#count(tenantId) : Effect.succeed(again),
        ),
      )
    })
  }

  /** `undefined` if the calls must be counted. */
  #take(tenantId: string, nowMs: number): boolean | undefined {
    const allowance = this.#allowances.get(tenantId)
    if (allowance === undefined) return undefined
    const ageMs = nowMs - allowance.countedAt
    if (ageMs < 0 || ageMs >= (allowance.room > 0 ? allowanceMs : recountMs)) return undefined
    if (allowance.room <= 0) return false
    allowance.room--
    return true
  }

  #count(tenantId: string): Effect.Effect<boolean, E> {
    const self = this
    const { callsMax, count } = this.#options
    return Effect.gen(function* () {
      const open = yield* count(tenantId, callsMax)
      const countedAt = yield* Clock.currentTimeMillis
      const isAdmitted = open < callsMax
      self.#keep(tenantId, { countedAt, room: isAdmitted ? callsMax - open - 1 : 0 })
      return isAdmitted
    })
  }

  #keep(tenantId: string, allowance: Allowance): void {
    this.#allowances.delete(tenantId)
    this.#allowances.set(tenantId, allowance)
    const [oldest] = this.#allowances.keys()
    if (this.#allowances.size > tenantsMax && oldest !== undefined) this.#allowances.delete(oldest)
  }
}
