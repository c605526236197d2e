// The sealing key beside the SQLite file: made once, whole, for its owner alone, and never replaced.
import { describe, expect, test } from "bun:test"
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Effect, Result } from "effect"
import { parseUrl } from "../../../src/ports/Adapter.ts"
import { allStores } from "../../../src/stores/all.ts"
import { sqliteKeyFile } from "../../../src/stores/sqlite/SqliteKeyFile.ts"
import { modeOf, withUmask } from "../../../testkit/fileModes.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"

const inFolder = async (body: (storePath: string) => Promise<void>): Promise<void> => {
  using folder = new TemporaryFolder()
  await body(join(folder.path, "punctual.db"))
}

const failureOf = async <A>(effect: Effect.Effect<A, { readonly message: string }>): Promise<string> => {
  const result = await Effect.runPromise(Effect.result(effect))
  return Result.isFailure(result) ? result.failure.message : "it did not fail"
}

describe("the key file", () => {
  test("is missing until it is made, and holds the key from then on", () =>
    inFolder(async (storePath) => {
      const file = sqliteKeyFile(storePath)
      expect(file.path).toBe(`${storePath}.secret-key`)
      expect(await Effect.runPromise(file.read)).toBeUndefined()
      const made = await Effect.runPromise(file.make)
      expect([made.isNew, made.key.length]).toEqual([true, 32])
      expect(readFileSync(file.path, "utf8")).toBe(`${Buffer.from(made.key).toString("hex")}\n`)
      expect(await Effect.runPromise(file.read)).toEqual(made.key)
      expect(await Effect.runPromise(file.make)).toEqual({ key: made.key, isNew: false })
    }))

  test("that is a named pipe is refused at once", () =>
    inFolder(async (storePath) => {
      const { path, read } = sqliteKeyFile(storePath)
      expect(Bun.spawnSync(["mkfifo", path]).exitCode).toBe(0)
      expect(await failureOf(read)).toStartWith(`${path} contains no key`)
    }))

  test("is its owner's alone under any umask, and nothing else is left in the folder", () =>
    inFolder((storePath) =>
      withUmask(0, async () => {
        const { path, make } = sqliteKeyFile(storePath)
        await Effect.runPromise(make)
        expect(modeOf(path)).toBe("600")
        expect(readdirSync(join(storePath, ".."))).toEqual(["punctual.db.secret-key"])
      }),
    ))

  test("is unsafe if others may read or write it, and says what to do", () =>
    inFolder(async (storePath) => {
      const { path, make, whyUnsafe } = sqliteKeyFile(storePath)
      expect(await Effect.runPromise(whyUnsafe)).toBeUndefined()
      await Effect.runPromise(make)
      expect(await Effect.runPromise(whyUnsafe)).toBeUndefined()
      for (const mode of [0o640, 0o604, 0o620]) {
        chmodSync(path, mode)
        expect(await Effect.runPromise(whyUnsafe)).toContain(`${path}, which contains the key`)
      }
    }))

  test("made by many at once is made by one of them, and all have its key", () =>
    inFolder(async (storePath) => {
      const made = await Promise.all(
        Array.from({ length: 20 }, () => Effect.runPromise(sqliteKeyFile(storePath).make)),
      )
      expect(made.filter(({ isNew }) => isNew)).toHaveLength(1)
      expect(new Set(made.map(({ key }) => Buffer.from(key).toString("hex"))).size).toBe(1)
      expect(readdirSync(join(storePath, ".."))).toHaveLength(1)
    }))

  test("that holds something else is left as it is, and named with what to do", () =>
    inFolder(async (storePath) => {
      const { path, read, make } = sqliteKeyFile(storePath)
      for (const text of ["", "hunter2\n", "0".repeat(63), "0".repeat(128), "g".repeat(64)]) {
        writeFileSync(path, text)
        for (const failure of [await failureOf(read), await failureOf(make)]) {
          expect(failure).toContain(`${path} contains no key`)
          expect(failure).toContain("TIMER_SECRET_KEY")
          expect(failure).not.toContain("hunter2")
        }
        expect(readFileSync(path, "utf8")).toBe(text)
      }
    }))

  test("that cannot be read or created is named with what to do", () =>
    inFolder(async (storePath) => {
      const { path, read } = sqliteKeyFile(storePath)
      mkdirSync(path)
      expect(await failureOf(read)).toContain(`${path} contains no key`)
      const nowhere = sqliteKeyFile(join(storePath, "no", "folder.db"))
      expect(await failureOf(nowhere.make)).toContain(`${nowhere.path} cannot be read or created`)
    }))
})

test("a store that nodes share, and one in memory, have no key file and say what to set", () => {
  const sentenceOf = (url: string) => {
    const parsed = parseUrl(allStores, url)
    return "value" in parsed && "instead" in parsed.value.sealingKey ? parsed.value.sealingKey.instead : ""
  }
  expect(sentenceOf("postgres://host/timers")).toMatch(/Nodes share.*TIMER_SECRET_KEY.*on all nodes/)
  expect(sentenceOf("memory:")).toMatch(/memory.*TIMER_SECRET_KEY/)
})
