// The life of a key, on one node and on several.
import { describe, expect, test } from "bun:test"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Documents } from "@punctual/documents/Documents"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DoorRecords } from "../src/DoorRecords.ts"
import { type KeyDirectory, keysMax, type ShownKey } from "../src/KeyDirectory.ts"
import { keysKind } from "../src/KeyRecord.ts"
import { makeKeyText } from "../src/KeyText.ts"
import { admin, appKey, node, withStore } from "./KeyStore.ts"

const now = 1_900_000_000_000
const hour = 3_600_000

/** The label of the key, or why the text is not valid. */
const judged = (keys: KeyDirectory["Service"], { text }: Pick<ShownKey, "text">, atMs = now): string => {
  const verdict = keys.judge(text, atMs)
  return "key" in verdict ? verdict.key.label : verdict.why
}

describe("the first key", () => {
  test(
    "must be an administrator's, and nothing is stored otherwise",
    withStore(() =>
      Effect.gen(function* () {
        const keys = yield* node()
        const refused = yield* Effect.flip(keys.create(appKey, now))
        expect(refused).toMatchObject({ _tag: "KeyRefused" })
        expect(refused.message).toContain("punctual keys create --admin")
        expect([keys.hasHadKey(), keys.all()]).toEqual([false, []])
        yield* keys.create(admin, now)
        yield* keys.create(appKey, now)
        expect(keys.hasHadKey()).toBe(true)
      }),
    ),
  )
})

describe("a key", () => {
  test(
    "works with its own text only, and the store has only a digest of it",
    withStore(() =>
      Effect.gen(function* () {
        const keys = yield* node()
        const made = yield* keys.create(admin, now)
        expect(judged(keys, made)).toBe("anna")
        expect(judged(keys, makeKeyText(made.id))).toBe("wrong")
        expect(judged(keys, makeKeyText())).toBe("wrong")
        const documents = yield* Documents
        const stored = JSON.stringify(yield* documents.get(keysKind, made.id))
        expect(stored).not.toContain(made.text.slice(16))
        expect(stored).toContain("digest")
      }),
    ),
  )

  test(
    "that expires works until its end, and says so to whoever knows its secret",
    withStore(() =>
      Effect.gen(function* () {
        const keys = yield* node()
        const made = yield* keys.create({ ...admin, expiresAtMs: now + hour }, now)
        expect(judged(keys, made, now + hour - 1)).toBe("anna")
        expect(judged(keys, made, now + hour)).toBe("expired")
        expect(judged(keys, makeKeyText(made.id), now + hour)).toBe("wrong")
      }),
    ),
  )

  test(
    "that is revoked stays revoked, and keys stay required",
    withStore(() =>
      Effect.gen(function* () {
        const keys = yield* node()
        const made = yield* keys.create(admin, now)
        yield* keys.revoke(made.id, now + 1)
        const again = yield* keys.revoke(made.id, now + 2)
        expect(again.record?.revokedAtMs).toBe(now + 1)
        expect(judged(keys, made)).toBe("revoked")
        expect(keys.hasHadKey()).toBe(true)
        expect(yield* Effect.flip(keys.rotate(made.id, hour, now))).toMatchObject({ _tag: "KeyRefused" })
      }),
    ),
  )

  test(
    "that is rotated works with both texts during the grace, and with no third one",
    withStore(() =>
      Effect.gen(function* () {
        const keys = yield* node()
        const first = yield* keys.create(admin, now)
        const second = yield* keys.rotate(first.id, hour, now)
        const at = (ms: number) => [first, second].map((made) => judged(keys, made, now + ms))
        expect(second.id).toBe(first.id)
        expect(at(hour - 1)).toEqual(["anna", "anna"])
        expect(at(hour)).toEqual(["wrong", "anna"])
        const third = yield* keys.rotate(first.id, hour, now)
        expect([first, second, third].map((made) => judged(keys, made))).toEqual(["wrong", "anna", "anna"])
        const last = yield* keys.rotate(first.id, 0, now)
        expect([third, last].map((made) => judged(keys, made))).toEqual(["wrong", "anna"])
      }),
    ),
  )

  test(
    "that does not exist cannot be changed",
    withStore(() =>
      Effect.gen(function* () {
        const keys = yield* node()
        for (const change of [keys.revoke("0123456789", now), keys.confirm("0123456789", now)]) {
          expect(yield* Effect.flip(change)).toMatchObject({ _tag: "NoSuchKey" })
        }
      }),
    ),
  )

  test(
    "whose record is damaged does not work, and the other keys do",
    withStore((memory) =>
      Effect.gen(function* () {
        const keys = yield* node()
        const [good, bad] = [yield* keys.create(admin, now), yield* keys.create(admin, now)]
        const documents = yield* Documents
        const { version = 0 } = (yield* documents.get(keysKind, bad.id)) ?? {}
        const value = { label: "anna", actions: "everything" }
        yield* documents.put({ kind: keysKind, id: bad.id, expectedVersion: version, value, updatedAt: now })
        memory.damage(keysKind, "unreadable", "{")
        yield* keys.refresh
        expect([good, bad].map((made) => judged(keys, made))).toEqual(["anna", "wrong"])
      }),
    ),
  )
})

test(
  "a store that was used with an administrator's key file requires keys for good",
  withStore(() =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "punctual-keys-"))
      const closed = yield* node({ adminKeyFile: join(folder, "admin.key") })
      rmSync(folder, { recursive: true })
      expect(closed.hasHadKey()).toBe(true)
      const later = yield* node()
      expect([later.hasHadKey(), later.all()]).toEqual([true, []])
    }),
  ),
)

test(
  "at the limit of keys, a new key takes the place of the one that ended first, and never of one that works",
  withStore(() =>
    Effect.gen(function* () {
      const documents = yield* Documents
      const record = {
        label: "many",
        actions: ["*"],
        namespaces: ["*"],
        secrets: [],
        createdAtMs: 0,
        madeBy: "test",
        restores: 0,
      }
      const put = (id: string, more: object) =>
        documents.put({ kind: keysKind, id, expectedVersion: 0, value: { ...record, ...more }, updatedAt: 0 })
      for (let number = 2; number < keysMax; number++) yield* put(`key${number}`, {})
      yield* put("later", { revokedAtMs: 2 })
      yield* put("first", { revokedAtMs: 1 })
      const keys = yield* node()
      yield* keys.create(admin, now)
      expect([keys.all().length, keys.find("first"), keys.find("later")?.id]).toEqual([
        keysMax,
        undefined,
        "later",
      ])
      yield* keys.create(admin, now)
      expect(yield* Effect.flip(keys.create(admin, now))).toMatchObject({ _tag: "KeyRefused" })
      expect(keys.all().length).toBe(keysMax)
    }),
  ),
)

describe("other nodes", () => {
  test(
    "know a new key and a revoked key within a second",
    withStore(() =>
      Effect.gen(function* () {
        const [here, there] = [yield* node(), yield* node()]
        expect(there.hasHadKey()).toBe(false)
        const made = yield* here.create(admin, now)
        yield* TestClock.adjust(1_000)
        expect([judged(there, made), there.hasHadKey()]).toEqual(["anna", true])
        yield* here.revoke(made.id, now)
        yield* TestClock.adjust(1_000)
        expect(judged(there, made)).toBe("revoked")
      }),
    ),
  )

  test(
    "that start later know all keys before they answer",
    withStore(() =>
      Effect.gen(function* () {
        const made = yield* (yield* node()).create(admin, now)
        expect(judged(yield* node(), made)).toBe("anna")
      }),
    ),
  )
})

test(
  "after a restore a key works only when it is confirmed, on every node",
  withStore(() =>
    Effect.gen(function* () {
      const [here, there] = [yield* node(), yield* node()]
      const made = yield* here.create(admin, now)
      yield* new DoorRecords(yield* Documents).raiseRestores(now)
      yield* TestClock.adjust(1_000)
      expect([here, there].map((keys) => judged(keys, made))).toEqual(["unconfirmed", "unconfirmed"])
      const later = yield* here.create(admin, now)
      expect(judged(here, later)).toBe("anna")
      yield* here.confirm(made.id, now)
      yield* TestClock.adjust(1_000)
      expect([here, there].map((keys) => judged(keys, made))).toEqual(["anna", "anna"])
    }),
  ),
)

test(
  "the last use of a key is stored at most every 5 minutes",
  withStore(() =>
    Effect.gen(function* () {
      const keys = yield* node()
      const { id } = yield* keys.create(admin, now)
      const documents = yield* Documents
      const versionOf = Effect.map(documents.get("keyUses", id), (found) => found?.version ?? 0)
      yield* TestClock.adjust(600_000)
      keys.used(id, now + 1)
      yield* TestClock.adjust(1_000)
      const first = yield* versionOf
      expect(first).toBeGreaterThan(0)
      keys.used(id, now + 2)
      yield* TestClock.adjust(60_000)
      expect(yield* versionOf).toBe(first)
      expect((yield* keys.lastUsed([id])).get(id)).toBe(now + 2)
      yield* TestClock.adjust(300_000)
      expect(yield* versionOf).toBeGreaterThan(first)
    }),
  ),
)

test(
  "the last use of a key is stored when the service stops",
  withStore(() =>
    Effect.gen(function* () {
      const { id } = yield* (yield* node()).create(admin, now)
      yield* Effect.scoped(
        Effect.gen(function* () {
          const keys = yield* node()
          keys.used(id, now + 1)
          yield* TestClock.adjust(1_000)
          keys.used(id, now + 2)
        }),
      )
      expect((yield* (yield* node()).lastUsed([id])).get(id)).toBe(now + 2)
    }),
  ),
)
