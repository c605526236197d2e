// The breakers of this node, for operators. Each node has its own breakers.
import { pageBytesMax } from "@punctual/api/Limits"
import type {
  ListBreakers,
  ListBreakersAnswer,
  ResetBreakers,
  ResetBreakersAnswer,
} from "@punctual/api/Service"
import { Effect } from "effect"
import { Engine } from "../engine/Engine.ts"
import type { Call } from "./Call.ts"

export interface BreakerCalls {
  readonly list: Call<ListBreakers, ListBreakersAnswer>
  readonly reset: Call<ResetBreakers, ResetBreakersAnswer>
}

const breakersShown = 1_000

export const makeBreakerCalls: Effect.Effect<BreakerCalls, never, Engine> = Effect.map(Engine, (engine) => ({
  list: () =>
    Effect.sync(() => {
      // It asks for one more than it shows, to find out whether there are more.
      const breakers = engine.breakers(breakersShown + 1)
      const shown = fitting(breakers.slice(0, breakersShown))
      return {
        node: engine.cluster().node,
        breakers: shown.map((breaker) => ({ ...breaker, probeInMs: Math.round(breaker.probeInMs) })),
        ...(breakers.length > shown.length ? { more: true as const } : {}),
      }
    }),
  reset: ({ body, note }) =>
    Effect.sync(() => {
      const { node } = engine.cluster()
      const reset = engine.closeBreakers(body.host)
      note?.({ about: { host: body.host, node }, count: reset })
      return { node, reset }
    }),
}))

/** As many breakers as one answer may have. The names of hosts can be long. */
const fitting = <A>(breakers: ReadonlyArray<A>): ReadonlyArray<A> => {
  let bytes = 0
  const end = breakers.findIndex((breaker) => {
    const isFull = bytes >= pageBytesMax
    bytes += JSON.stringify(breaker).length
    return isFull
  })
  return end === -1 ? breakers : breakers.slice(0, end)
}
