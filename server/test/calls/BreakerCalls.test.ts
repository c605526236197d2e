import { expect, test } from "bun:test"
import { pageBytesMax } from "@punctual/api/Limits"
import { anonymous } from "@punctual/door/Caller"
import { Effect } from "effect"
import { makeBreakerCalls } from "../../src/calls/BreakerCalls.ts"
import { Engine } from "../../src/engine/Engine.ts"

test("a list of breakers of hosts with very long names ends after a megabyte, and says that there are more", async () => {
  const breaker = { namespace: "shop", host: "h".repeat(2_000), failures: 10, waiting: 1, probeInMs: 0.4 }
  const engine: Pick<Engine["Service"], "breakers" | "cluster"> = {
    breakers: (limit) => Array.from({ length: limit }, () => breaker),
    cluster: () => ({ node: "n1", members: [], shards: [] }),
  }
  const calls = await Effect.runPromise(
    Effect.provideService(makeBreakerCalls, Engine, engine as Engine["Service"]),
  )
  const answer = await Effect.runPromise(calls.list({ body: {}, caller: anonymous, receivedAt: 0 }))
  const text = JSON.stringify(answer)
  expect(text.length).toBeLessThan(1.1 * pageBytesMax)
  expect(text.length).toBeGreaterThan(0.9 * pageBytesMax)
  expect(answer.more).toBe(true)
})
