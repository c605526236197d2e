// Fresh ids: UUID v7 for fireIds, cancel ids and the ids callers leave out. Those that one process makes in the same
// millisecond rise in the order in which they are made: due order goes by them. A service, so that a simulation can
// own its randomness; in production the random part comes from the system's generator.
import { randomFillSync } from "node:crypto"
import { Context, Effect, Layer, Random } from "effect"

export class Ids extends Context.Service<Ids, { uuidV7(nowMs: number): string }>()("punctual/ports/Ids") {
  static readonly system = Layer.sync(Ids, () => {
    const pool = new Uint8Array(randomBytes * 1024)
    let used = pool.length
    const sequence = new Sequence()
    return {
      uuidV7: (nowMs) => {
        if (used === pool.length) {
          randomFillSync(pool)
          used = 0
        }
        used += randomBytes
        return formatV7(sequence, nowMs, pool, used - randomBytes)
      },
    }
  })

  /** From Effect's Random: the same seed gives the same ids. */
  static readonly fromRandom = Layer.effect(
    Ids,
    Effect.map(Random.Random, (random) => {
      const sequence = new Sequence()
      return {
        uuidV7: (nowMs) => {
          const bytes = Uint8Array.from({ length: randomBytes }, () =>
            Math.floor(random.nextDoubleUnsafe() * 256),
          )
          return formatV7(sequence, nowMs, bytes, 0)
        },
      }
    }),
  )
}

/** Enough that no two processes make the same id: 48 bits for each millisecond and place in it. */
const randomBytes = 6

/** The first 76 bits of the ids of one process: the millisecond, and how many were made in it before. */
class Sequence {
  private atMs = Number.NaN
  private made = 0
  private time = ""

  next(nowMs: number): string {
    if (nowMs === this.atMs) this.made++
    else {
      const hex = Math.max(0, Math.floor(nowMs)).toString(16).padStart(12, "0").slice(-12)
      this.atMs = nowMs
      this.made = 0
      this.time = `${hex.slice(0, 8)}-${hex.slice(8)}`
    }
    const high = ((this.made >> 14) & 0xfff).toString(16).padStart(3, "0")
    const low = (0x8000 | (this.made & 0x3fff)).toString(16)
    return `${this.time}-7${high}-${low}`
  }
}

const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"))

const formatV7 = (sequence: Sequence, nowMs: number, random: Uint8Array, offset: number): string => {
  const hex = (index: number) => hexOfByte[random[offset + index] ?? 0] ?? "00"
  return `${sequence.next(nowMs)}-${hex(0)}${hex(1)}${hex(2)}${hex(3)}${hex(4)}${hex(5)}`
}
