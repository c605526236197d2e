// The keys that seal webhook secrets, as a directory over a store uses them: from the settings, or from a file that is
// made when the first secret is set.
import { describe, expect, test } from "bun:test"
import { chmodSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { Context, Effect, Layer, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import {
  type DirectoryOptions,
  NamespaceDirectory,
} from "../../../src/engine/namespaces/NamespaceDirectory.ts"
import type { SealingKeyFile } from "../../../src/ports/SealingKeyFile.ts"
import { makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { sqliteKeyFile } from "../../../src/stores/sqlite/SqliteKeyFile.ts"
import { TemporaryFolder } from "../../../testkit/TemporaryFolder.ts"

interface Rig {
  readonly logs: Array<string>
  open(options: DirectoryOptions): Effect.Effect<NamespaceDirectory["Service"], never, Scope.Scope>
}

const withStore = (body: (rig: Rig) => Effect.Effect<void, unknown, Scope.Scope>): Promise<void> => {
  const database = makeMemoryDatabase({ shards: 1 })
  const logs: Array<string> = []
  const logger = Logger.make<unknown, void>(({ message }) => {
    logs.push(String(message))
  })
  const rig: Rig = {
    logs,
    open: (options) =>
      Effect.map(
        Layer.build(Layer.provide(NamespaceDirectory.layer(options), MemoryStore.over(database))),
        (services) => Context.get(services, NamespaceDirectory),
      ),
  }
  return Effect.runPromise(
    body(rig).pipe(Effect.scoped, Effect.provide(TestClock.layer()), Effect.provide(Logger.layer([logger]))),
  )
}

const withKeyFile = async (body: (file: SealingKeyFile) => Promise<void>): Promise<void> => {
  using folder = new TemporaryFolder()
  await body(sqliteKeyFile(join(folder.path, "punctual.db")))
}

const key = new Uint8Array(32).fill(1)
const first = new Uint8Array(24).fill(2)

describe("webhook secrets", () => {
  const sealIn = (directory: NamespaceDirectory["Service"], namespace: string) =>
    Effect.gen(function* () {
      const { madeFile } = yield* directory.readyToSeal(namespace)
      const webhookSecrets = [directory.seal.seal(namespace, first)]
      yield* directory.change(namespace, 1, () => Effect.succeed({ webhookSecrets }))
      return madeFile
    })

  test("cause one warning if other users may read the key file", () =>
    withKeyFile((file) =>
      withStore(({ open, logs }) =>
        Effect.gen(function* () {
          const directory = yield* open({ keyFile: { can: file } })
          yield* sealIn(directory, "shop")
          chmodSync(file.path, 0o644)
          yield* sealIn(directory, "shop")
          yield* sealIn(directory, "other")
          expect(logs.filter((line) => line.includes("run chmod 600"))).toHaveLength(1)
        }),
      ),
    ))

  test("are sealed by a key that is made on first need, kept in a file and found again", () =>
    withKeyFile((file) =>
      withStore((rig) =>
        Effect.gen(function* () {
          const directory = yield* rig.open({ keyFile: { can: file } })
          expect(existsSync(file.path)).toBe(false)
          expect(yield* sealIn(directory, "shop")).toBe(file.path)
          expect(rig.logs.splice(0)).toEqual([expect.stringMatching(new RegExp(`${file.path}.*backups`))])
          expect(yield* sealIn(directory, "zoo")).toBeUndefined()
          const again = yield* rig.open({ keyFile: { can: file } })
          expect(again.of("shop").secrets).toEqual([Buffer.from(first)])
          expect(yield* sealIn(again, "park")).toBeUndefined()
          expect(rig.logs).toEqual([])
        }),
      ),
    ))

  test("wait while their key file is missing or another, which is named, and open when it is put back", () =>
    withKeyFile((file) =>
      withStore((rig) =>
        Effect.gen(function* () {
          yield* sealIn(yield* rig.open({ keyFile: { can: file } }), "shop")
          rig.logs.length = 0
          const text = readFileSync(file.path, "utf8")
          rmSync(file.path)
          const directory = yield* rig.open({ keyFile: { can: file } })
          expect(rig.logs.splice(0)).toEqual([
            expect.stringMatching(new RegExp(`secrets of shop cannot be opened.*${file.path} is missing`)),
          ])
          const refused = yield* Effect.flip(directory.readyToSeal("zoo"))
          expect(refused.message).toMatch(
            new RegExp(`\\(shop\\).*${file.path} is missing.*--reset webhookSecrets`),
          )
          expect(existsSync(file.path)).toBe(false)
          for (const [wrong, why] of [
            ["hunter2", "contains no key"],
            ["0".repeat(64), "is not the one that sealed them"],
          ] as const) {
            writeFileSync(file.path, wrong, { mode: 0o600 })
            const opened = yield* rig.open({ keyFile: { can: file } })
            expect(opened.of("shop").secrets).toBe("sealed")
            expect(rig.logs.splice(0)).toEqual([
              expect.stringMatching(new RegExp(`${file.path} ${why}|in ${file.path} ${why}`)),
            ])
          }
          writeFileSync(file.path, text)
          yield* directory.refresh
          expect(directory.of("shop").secrets).toEqual([Buffer.from(first)])
          expect(rig.logs).toEqual(["all webhook secrets can be opened"])
        }),
      ),
    ))

  test("are not sealed under a wrong key file, and all open when the right file is back, also after a restart", () =>
    withKeyFile((file) =>
      withStore((rig) =>
        Effect.gen(function* () {
          const before = yield* rig.open({ keyFile: { can: file } })
          yield* sealIn(before, "shop")
          const text = readFileSync(file.path, "utf8")
          writeFileSync(file.path, "0".repeat(64))
          const restarted = yield* rig.open({ keyFile: { can: file } })
          for (const directory of [before, restarted]) {
            const refused = yield* Effect.flip(directory.readyToSeal("zoo"))
            expect(refused.message).toMatch(
              new RegExp(`\\(shop\\).*in ${file.path} is not the one.*--reset webhookSecrets`),
            )
          }
          // The refusal changes nothing for a service that knows the right key.
          expect(before.of("shop").secrets).toEqual([Buffer.from(first)])
          expect(restarted.of("shop").secrets).toBe("sealed")
          writeFileSync(file.path, text)
          expect(yield* sealIn(restarted, "zoo")).toBeUndefined()
          for (const directory of [before, restarted, yield* rig.open({ keyFile: { can: file } })]) {
            yield* directory.refresh
            for (const namespace of ["shop", "zoo"]) {
              expect(directory.of(namespace).secrets).toEqual([Buffer.from(first)])
            }
          }
        }),
      ),
    ))

  test("are not sealed under a key whose file was removed meanwhile", () =>
    withKeyFile((file) =>
      withStore((rig) =>
        Effect.gen(function* () {
          const directory = yield* rig.open({ keyFile: { can: file } })
          yield* sealIn(directory, "shop")
          rmSync(file.path)
          const refused = yield* Effect.flip(directory.readyToSeal("zoo"))
          expect(refused.message).toMatch(new RegExp(`\\(shop\\).*${file.path} is missing`))
          expect(existsSync(file.path)).toBe(false)
        }),
      ),
    ))

  test("that another key does not open count as sealed as soon as that key is used", () =>
    withKeyFile((file) =>
      withStore((rig) =>
        Effect.gen(function* () {
          const directory = yield* rig.open({ keyFile: { can: file } })
          yield* sealIn(directory, "shop")
          const stranger = yield* rig.open({ secretKeys: [key] })
          yield* sealIn(stranger, "zoo")
          writeFileSync(file.path, Buffer.from(key).toString("hex"))
          yield* directory.refresh
          expect(directory.of("zoo").secrets).toEqual([Buffer.from(first)])
          expect(directory.of("shop").secrets).toBe("sealed")
          expect((yield* Effect.flip(directory.readyToSeal("park"))).message).toContain("(shop)")
        }),
      ),
    ))

  test("of one namespace alone are set anew under a new key, if the old key is lost", () =>
    withKeyFile((file) =>
      withStore((rig) =>
        Effect.gen(function* () {
          yield* sealIn(yield* rig.open({ keyFile: { can: file } }), "shop")
          rmSync(file.path)
          const directory = yield* rig.open({ keyFile: { can: file } })
          expect(yield* sealIn(directory, "shop")).toBe(file.path)
          expect(directory.of("shop").secrets).toEqual([Buffer.from(first)])
        }),
      ),
    ))

  test("are sealed by the key of the settings, and no file is made, if there is one", () =>
    withKeyFile((file) =>
      withStore((rig) =>
        Effect.gen(function* () {
          const directory = yield* rig.open({ secretKeys: [key], keyFile: { can: file } })
          expect(yield* sealIn(directory, "shop")).toBeUndefined()
          expect(existsSync(file.path)).toBe(false)
          yield* rig.open({ keyFile: { can: file } })
          expect(rig.logs.at(-1)).toMatch(/TIMER_SECRET_KEY is not set/)
        }),
      ),
    ))
})
