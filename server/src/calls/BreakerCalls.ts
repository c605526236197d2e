// The breakers of this node, for operators. Each node has its own breakers.
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
      return {
        node: engine.cluster().node,
        breakers: breakers
          .slice(0, breakersShown)
          .map((breaker) => ({ ...breaker, probeInMs: Math.round(breaker.probeInMs) })),
        ...(breakers.length > breakersShown ? { more: true as const } : {}),
      }
    }),
  reset: ({ body }) =>
    Effect.sync(() => {
      const reset = engine.closeBreakers(body.host)
      return { node: engine.cluster().node, reset }
    }),
}))
