// Whether the broker has answered since the bus was opened. A broker that is away at the start is waited for, as long as
// that takes, so that a program can start before its broker does. If only a change of settings can help,
// such as with a stream that contradicts the contract or with refused credentials, it does not wait, and fails.
import { Effect, Exit, Latch, Scope } from "effect"
import { BusError } from "../Bus.ts"

const firstPauseMs = 500
const longestPauseMs = 5_000

export interface BrokerStartOptions<Begun> {
  /** One try to begin; `isFirst`: the program that starts waits for it. */
  begin(isFirst: boolean): Effect.Effect<Begun, BusError, Scope.Scope>
  /** Present: the broker is waited for. Called if the broker, once it is there, cannot be used. */
  readonly onRefused: ((message: string) => void) | undefined
}

export class BrokerStart<Begun> {
  readonly #began = Latch.makeUnsafe(false)
  #begun: Begun | undefined
  #why = "The broker was not asked yet."

  /** Fails if there is nothing to wait for. Tries go on until the scope closes. */
  static readonly make = Effect.fnUntraced(function* <Begun>({
    begin,
    onRefused,
  }: BrokerStartOptions<Begun>): Effect.fn.Return<BrokerStart<Begun>, BusError, Scope.Scope> {
    const start = new BrokerStart<Begun>()
    const failure = yield* start.#try(begin(true))
    if (failure === undefined) return start
    if (onRefused === undefined || failure.isPermanent === true) return yield* failure
    yield* Effect.forkScoped(start.#goOn(begin(false), onRefused))
    return start
  })

  /** Nothing until the broker has answered. */
  get begun(): Begun | undefined {
    return this.#begun
  }

  whyWaiting(): string | undefined {
    return this.#begun === undefined ? this.#why : undefined
  }

  get await(): Effect.Effect<Begun, BusError> {
    return Effect.andThen(this.#began.await, this.orWhyNot)
  }

  /** What there is, or a failure that says why there is nothing yet. */
  get orWhyNot(): Effect.Effect<Begun, BusError> {
    return Effect.suspend(() =>
      this.#begun === undefined
        ? Effect.fail(new BusError({ message: this.#why }))
        : Effect.succeed(this.#begun),
    )
  }

  #goOn(
    begin: Effect.Effect<Begun, BusError, Scope.Scope>,
    onRefused: (message: string) => void,
  ): Effect.Effect<void, never, Scope.Scope> {
    const self = this
    return Effect.gen(function* () {
      for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(longestPauseMs, 2 * pauseMs)) {
        yield* Effect.sleep(pauseMs)
        const failure = yield* self.#try(begin)
        if (failure === undefined) break
        if (failure.isPermanent === true) return onRefused(failure.message)
      }
      yield* Effect.logInfo("the broker is there: messages come and go from here on")
    })
  }

  /** Answers why it failed. What a failed try opened is closed at once. */
  #try(
    begin: Effect.Effect<Begun, BusError, Scope.Scope>,
  ): Effect.Effect<BusError | undefined, never, Scope.Scope> {
    const self = this
    return Effect.gen(function* () {
      const scope = yield* Scope.fork(yield* Effect.scope)
      const tried = yield* Effect.result(Scope.provide(begin, scope))
      if (tried._tag === "Success") {
        self.#begun = tried.success
        self.#began.openUnsafe()
        return undefined
      }
      yield* Scope.close(scope, Exit.void)
      const { message } = tried.failure
      const isNews = message !== self.#why
      self.#why = message
      if (isNews && tried.failure.isPermanent !== true) {
        yield* Effect.logWarning(`no messages come or go until the broker is there: ${message}`)
      }
      return tried.failure
    })
  }
}
