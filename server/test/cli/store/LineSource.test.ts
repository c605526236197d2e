// Splits bytes into lines. The bytes come in pieces of any size.
import { describe, expect, test } from "bun:test"
import { Effect } from "effect"
import { linesOf } from "../../../src/cli/store/LineSource.ts"

async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.byteLength; at += size) yield bytes.subarray(at, at + size)
}

const read = (bytes: Uint8Array, size: number) =>
  Effect.runPromise(
    Effect.gen(function* () {
      const lines = yield* linesOf({ isTerminal: false, chunks: inPieces(bytes, size) })
      const found: Array<string> = []
      for (;;) {
        const line = yield* lines.next
        if (line === undefined) return found
        found.push(line)
      }
    }).pipe(Effect.scoped),
  )

describe("lines", () => {
  test("are the same for pieces of any size, and the last one needs no line end", async () => {
    const bytes = new TextEncoder().encode("a☂\n\nbb\nlast")
    for (const size of [1, 2, 3, 100]) expect(await read(bytes, size)).toEqual(["a☂", "", "bb", "last"])
    expect(await read(new TextEncoder().encode("a\n"), 1)).toEqual(["a"])
    expect(await read(new Uint8Array(), 1)).toEqual([])
  })

  test("have a maximum length, and must be UTF-8", async () => {
    const long = new Uint8Array(17 * 1024 * 1024).fill(97)
    await expect(read(long, 1024 * 1024)).rejects.toThrow("more than")
    await expect(read(new Uint8Array([0xff, 10]), 1)).rejects.toThrow("cannot be read")
  })
})
