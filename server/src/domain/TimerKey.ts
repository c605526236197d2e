// From what the caller names to where it lives: (namespace, timerId) → uuid → shard. The hash is
// SHA-256, so that no tenant can craft an id that collides with another's.
import { hash } from "node:crypto"
import type { TimerKey, Uuid } from "./Timer.ts"

export const keyOf = (namespace: string, timerId: string): TimerKey => ({
  namespace,
  timerId,
  // From the bytes: a part of a longer text would be copied out of it when it is first compared.
  uuid: hash("sha256", `${namespace}\0${timerId}`, "buffer").toString("hex", 0, 16),
})

/** `uuid` as one 128-bit number, modulo the shard count. */
export const shardOf = (uuid: Uuid, shards: number): number => {
  // Of a power of two only the last digits count.
  if ((shards & (shards - 1)) === 0) return Number.parseInt(uuid.slice(24), 16) & (shards - 1)
  let remainder = 0
  for (let word = 0; word < 32; word += 8) {
    remainder = (remainder * 0x1_0000_0000 + Number.parseInt(uuid.slice(word, word + 8), 16)) % shards
  }
  return remainder
}
