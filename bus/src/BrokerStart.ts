// Waits for the broker after the bus was opened. If the broker is unreachable at the start, the bus waits for it
// without a limit, so that a program can start before its broker. The bus does not wait, and fails, if only a change of
// settings can help. Examples are a stream that contradicts the contract, and refused credentials.
import { Effect, Exit, Latch, Scope } from "effect"
import { BusError } from "./Bus.ts"

const firstPauseMs = 500
const longestPauseMs = 2_000

export interface BrokerStartOptions<Begun> {
  /** One try to start. `isFirst`: the starting program waits for this try. */
  begin(isFirst: boolean): Effect.Effect<Begun, BusError, Scope.Scope>
  /** Present if the bus waits for the broker. Called if the broker answers but cannot be used. */
  readonly onRefused: ((message: string) => void) | undefined
}

export class BrokerStart<Begun> {
  readonly #began = Latch.makeUnsafe(false)
  #begun: Begun | undefined
  #why = "The bus has not tried to reach the broker yet."

  /** Fails if waiting cannot help. Otherwise it tries until the scope closes. */
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

  /** `undefined` until the broker has answered. */
  get begun(): Begun | undefined {
    return this.#begun
  }

  whyWaiting(): string | undefined {
    return this.#begun === undefined ? this.#why : undefined
  }

  get await(): Effect.Effect<Begun, BusError> {
    return Effect.andThen(this.#began.await, this.orWhyNot)
  }

  /** Returns what has started, or fails with the reason why nothing has started yet. */
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
      yield* Effect.logInfo("the broker is reachable: messages are sent and received from now on")
    })
  }

  /** Returns the error if the try failed. Everything that a failed try opened is closed at once. */
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
        yield* Effect.logWarning(`no messages are sent or received until the broker is reachable: ${message}`)
      }
      return tried.failure
    })
  }
}
