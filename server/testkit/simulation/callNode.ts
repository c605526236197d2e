// A client's call to a node, and what the client can conclude from the result. The node may be down, may crash during
// the call, or may be frozen. Then the result is unknown, and the contract says what a client may do next.
import { Context, Effect, Exit, Option } from "effect"
import { Scheduler } from "../../src/engine/front/Scheduler.ts"
import type { Chance } from "./Chance.ts"
import type { SimNode } from "./SimNode.ts"
import type { SimProcess } from "./SimProcess.ts"

export type Heard<A> =
  | { readonly kind: "answered"; readonly answer: A }
  /** The node certainly did nothing. The client may try another node. */
  | { readonly kind: "refused"; readonly because: string }
  /** The node may have done it, or may still do it. */
  | { readonly kind: "unknown" }

/** A refusal says whether the call may still have been carried out. */
export interface Failure {
  readonly _tag: string
  readonly mayBeDone?: boolean
}

const longestTripUs = 3_000
const patienceMs = 7_000

/** One call to one node. */
export const callNode = <A>(
  client: SimProcess,
  node: SimNode,
  chance: Chance,
  ask: (scheduler: Scheduler["Service"]) => Effect.Effect<A, Failure>,
): Effect.Effect<Heard<A>> => {
  const { world } = client
  const travel = (run: () => void) => world.after(chance.between(50, longestTripUs), run)
  const call = Effect.callback<Heard<A>>((resume) => {
    const back = (heard: Heard<A>) => travel(() => client.post(() => resume(Effect.succeed(heard))))
    travel(() => {
      const { process, services } = node
      if (process === undefined || services === undefined) {
        back({ kind: "refused", because: "no connection" })
        return
      }
      const hangsUp = process.whenCrashed(() => back({ kind: "unknown" }))
      process.post(() => {
        process.run(ask(Context.get(services, Scheduler))).addObserver((exit) => {
          hangsUp()
          back(conclude(exit))
        })
      })
    })
  })
  return Effect.map(
    Effect.timeoutOption(call, patienceMs),
    Option.getOrElse((): Heard<A> => ({ kind: "unknown" })),
  )
}

const conclude = <A>(exit: Exit.Exit<A, Failure>): Heard<A> => {
  if (Exit.isSuccess(exit)) return { kind: "answered", answer: exit.value }
  const error = Option.getOrUndefined(Exit.findErrorOption(exit))
  if (error === undefined || error.mayBeDone === true) return { kind: "unknown" }
  return { kind: "refused", because: error._tag }
}
