// The keys of one round of a test with a frozen owner. The process that is frozen and the test must use the same ones.

import { keyOf, shardOf } from "../src/domain/TimerKey.ts"
import type { Put } from "../src/domain/WriteItem.ts"
import { sampleNow, samplePut } from "./timers.ts"

/** All rounds use one shard. */
export const shardOfRounds = 0

const timerIdOf = (prefix: string, shards: number): string => {
  for (let number = 0; ; number++) {
    const timerId = `${prefix}-${number}`
    if (shardOf(keyOf("shop", timerId).uuid, shards) === shardOfRounds) return timerId
  }
}

const putOn = (timerId: string, createdAt = sampleNow): Put =>
  samplePut({
    timerId,
    createdAt,
    fireId: Bun.randomUUIDv7(),
    tags: ["contended"],
    payload: new Uint8Array(32).fill(7),
  })

/** A create of a key that was never used, and one of a key that has an earlier life, which takes other steps. */
export const contendedPuts = (round: number, shards: number) => {
  const used = timerIdOf(`used-${round}`, shards)
  return {
    unused: putOn(timerIdOf(`unused-${round}`, shards)),
    used: { before: putOn(used), put: putOn(used, sampleNow + 10_000) },
  }
}

/** The create of the next owner, on the key that the frozen process was about to use. */
export const nextOwnersPut = (round: number, shards: number): Put =>
  putOn(timerIdOf(`unused-${round}`, shards), sampleNow + 20_000)
