// Creates ids: UUID v7 for fireIds, cancel ids and ids that callers leave out. Ids that one process makes in the same
// millisecond increase in the order of creation, because due order uses them. This is a service so that a simulation
// can control the randomness. In production the random part comes from the system's generator.
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
        return sequence.next(nowMs, pool, used - randomBytes)
      },
    }
  })

  /** Uses Effect's Random: the same seed gives the same ids. */
  static readonly fromRandom = Layer.effect(
    Ids,
    Effect.map(Random.Random, (random) => {
      const sequence = new Sequence()
      return {
        uuidV7: (nowMs) => {
          const bytes = Uint8Array.from({ length: randomBytes }, () =>
            Math.floor(random.nextDoubleUnsafe() * 256),
          )
          return sequence.next(nowMs, bytes, 0)
        },
      }
    }),
  )
}

/** Enough that two processes do not make the same id: 48 bits for each millisecond and position in it. */
const randomBytes = 6

/**
 * The ids of one process: the millisecond, the number of ids made earlier in it, and random bytes. They are built in a
 * buffer, because concatenating many strings is slower, and slower again when the string is first read.
 */
class Sequence {
  #atMs = Number.NaN
  #made = 0
  readonly #text = Buffer.from("00000000-0000-7000-8000-000000000000", "latin1")

  next(nowMs: number, random: Uint8Array, offset: number): string {
    const text = this.#text
    if (nowMs === this.#atMs) this.#made++
    else {
      this.#atMs = nowMs
      this.#made = 0
      const hex = Math.max(0, Math.floor(nowMs)).toString(16).padStart(12, "0").slice(-12)
      text.write(`${hex.slice(0, 8)}-${hex.slice(8)}`, 0, "latin1")
    }
    const made = this.#made
    text[15] = digits[(made >> 22) & 0xf] ?? 0
    writeHex(text, 16, (made >> 14) & 0xff)
    writeHex(text, 19, 0x80 | ((made >> 8) & 0x3f))
    writeHex(text, 21, made & 0xff)
    for (let index = 0; index < randomBytes; index++)
      writeHex(text, 24 + 2 * index, random[offset + index] ?? 0)
    return text.toString("latin1")
  }
}

const digits = Buffer.from("0123456789abcdef", "latin1")

const writeHex = (text: Buffer, at: number, byte: number): void => {
  text[at] = digits[byte >> 4] ?? 0
  text[at + 1] = digits[byte & 0xf] ?? 0
}
