// Fresh ids: UUID v7 for fireIds, cancel ids and the ids callers leave out. A service, so that a
// simulation can own its randomness; in production the random part comes from the system's generator.
import { randomFillSync } from "node:crypto"
import { Context, Effect, Layer, Random } from "effect"

export class Ids extends Context.Service<Ids, { uuidV7(nowMs: number): string }>()("punctual/ports/Ids") {
  static readonly system = Layer.sync(Ids, () => {
    const pool = new Uint8Array(10 * 1024)
    let used = pool.length
    return {
      uuidV7: (nowMs) => {
        if (used === pool.length) {
          randomFillSync(pool)
          used = 0
        }
        used += 10
        return formatV7(nowMs, pool, used - 10)
      },
    }
  })

  /** From Effect's Random: the same seed gives the same ids. */
  static readonly fromRandom = Layer.effect(
    Ids,
    Effect.map(Random.Random, (random) => ({
      uuidV7: (nowMs) => {
        const bytes = Uint8Array.from({ length: 10 }, () => Math.floor(random.nextDoubleUnsafe() * 256))
        return formatV7(nowMs, bytes, 0)
      },
    })),
  )
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

let lastMs = -1
let lastTime = ""

/** The first 48 bits of an id made at this instant; most ids are made at the same one as the last. */
const timePart = (nowMs: number): string => {
  if (nowMs !== lastMs) {
    const hex = Math.max(0, Math.floor(nowMs)).toString(16).padStart(12, "0").slice(-12)
    lastMs = nowMs
    lastTime = `${hex.slice(0, 8)}-${hex.slice(8)}`
  }
  return lastTime
}

const formatV7 = (nowMs: number, random: Uint8Array, offset: number): string => {
  const hex = (index: number) => hexOfByte[random[offset + index] ?? 0] ?? "00"
  const version = hexOfByte[0x70 | ((random[offset] ?? 0) & 0x0f)]
  const variant = hexOfByte[0x80 | ((random[offset + 2] ?? 0) & 0x3f)]
  return (
    `${timePart(nowMs)}-${version}${hex(1)}-${variant}${hex(3)}-` +
    `${hex(4)}${hex(5)}${hex(6)}${hex(7)}${hex(8)}${hex(9)}`
  )
}
