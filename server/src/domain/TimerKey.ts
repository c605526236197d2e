// From the caller's key to its shard: (namespace, timerId) → uuid → shard. The hash is SHA-256, so that no caller can
// make an id that collides with an id of another namespace.
import { hash } from "node:crypto"
import type { TimerKey, Uuid } from "./Timer.ts"

export const keyOf = (namespace: string, timerId: string): TimerKey => ({
  namespace,
  timerId,
  // Made from the bytes: a part of a longer string would be copied when it is first compared.
  uuid: hash("sha256", `${namespace}\0${timerId}`, "buffer").toString("hex", 0, 16),
})

/** `uuid` as one 128-bit number, modulo the shard count. */
export const shardOf = (uuid: Uuid, shards: number): number => {
  // For a power of two only the last digits matter.
  if ((shards & (shards - 1)) === 0) return Number.parseInt(uuid.slice(24), 16) & (shards - 1)
  let remainder = 0
  for (let word = 0; word < 32; word += 8) {
    remainder = (remainder * 0x1_0000_0000 + Number.parseInt(uuid.slice(word, word + 8), 16)) % shards
  }
  return remainder
}
