// The laws of the Documents port, as one suite that every adapter runs.
import { describe, expect, test } from "bun:test"
import { Effect, type Scope } from "effect"
import { largestDocumentBytes, largestPage, tombstonesCleared, tombstonesKeptMs } from "../src/DocumentRow.ts"
import type { DocumentChange, DocumentList, Documents } from "../src/Documents.ts"

/** The documents of one test, empty at first. */
export interface OpenedDocuments {
  readonly documents: Documents["Service"]
  /** Overwrites the JSON text of a document, bypassing the adapter. */
  damage(kind: string, id: string, text: string): Effect.Effect<void, unknown>
  /** Closes the documents and opens them again on the same data. Absent if nothing is left to open. */
  readonly reopened?: Effect.Effect<Documents["Service"], unknown, Scope.Scope>
}

export interface DocumentsFixture {
  readonly name: string
  readonly fresh: Effect.Effect<OpenedDocuments, unknown, Scope.Scope>
  /** Why the documents cannot be reopened, if that is so. */
  readonly reopenSkipped?: string
}

const everything = {
  text: 'Grüße \u{1f4be} "x" \\ \n \u0000 \ud800',
  numbers: [0, -1.5, 1e300, Number.MAX_SAFE_INTEGER],
  nested: { none: null, yes: true, empty: {}, list: [] },
  "a key": "",
}

const at = 1_900_000_000_000

export const documentsSuite = (fixture: DocumentsFixture): void => {
  describe(`Documents: ${fixture.name}`, () => {
    const law = (
      title: string,
      body: (opened: OpenedDocuments) => Effect.Effect<void, unknown, Scope.Scope>,
    ) => test(title, () => Effect.runPromise(Effect.scoped(Effect.flatMap(fixture.fresh, body))))
    writingLaws(law)
    readingLaws(law)
    removalLaws(law)
    damageLaws(law)
    if (fixture.reopenSkipped !== undefined) {
      test.skip(`an answered write survives (skipped: ${fixture.reopenSkipped})`, () => {})
      return
    }
    law("an answered write survives, and versions go on rising", ({ documents, reopened }) =>
      Effect.gen(function* () {
        const steps = stepsOf(documents)
        const kept = yield* steps.put("kept", everything)
        const gone = yield* steps.remove("gone", (yield* steps.put("gone", 1)).version)
        if (reopened === undefined) throw new Error("the fixture cannot reopen its documents")
        const again = yield* reopened
        expect(yield* again.get("thing", "kept")).toEqual(kept)
        expect(yield* again.changesAfter("thing", 0, 10)).toEqual([kept, gone])
        expect((yield* stepsOf(again).put("kept", 2, kept.version)).version).toBeGreaterThan(gone.version)
      }),
    )
  })
}

type Law = (
  title: string,
  body: (opened: OpenedDocuments) => Effect.Effect<void, unknown, Scope.Scope>,
) => void

/** Writes of the kind `thing` that must succeed. */
const stepsOf = (documents: Documents["Service"]) => ({
  put: (id: string, value: unknown, expectedVersion = 0, updatedAt = at) =>
    Effect.map(documents.put({ kind: "thing", id, value, expectedVersion, updatedAt }), (stored) => {
      if (stored === undefined) throw new Error(`${id} was not at version ${expectedVersion}`)
      return stored
    }),
  remove: (id: string, expectedVersion: number, updatedAt = at) =>
    Effect.map(documents.remove({ kind: "thing", id, expectedVersion, updatedAt }), (removed) => {
      if (removed === undefined) throw new Error(`${id} was not at version ${expectedVersion}`)
      return removed
    }),
  ids: (asked: Partial<DocumentList> = {}) =>
    Effect.map(documents.list("thing", { exclusiveAfterId: "", limit: 100, ...asked }), (found) =>
      found.map(({ id }) => id),
    ),
  changes: (after = 0) => documents.changesAfter("thing", after, 100),
})

const writingLaws = (law: Law): void => {
  law(
    "what is stored comes back the same, under a version that a write names to replace it",
    ({ documents }) =>
      Effect.gen(function* () {
        const { put } = stepsOf(documents)
        expect(yield* documents.get("thing", "a")).toBeUndefined()
        const first = yield* put("a", everything)
        expect(first).toEqual({
          state: "stored",
          kind: "thing",
          id: "a",
          version: first.version,
          updatedAt: at,
          value: everything,
        })
        expect(yield* documents.get("thing", "a")).toEqual(first)
        const other = yield* put("b", null)
        expect(yield* documents.get("thing", "b")).toEqual(other)
        const second = yield* put("a", [7], first.version, at + 1)
        expect(second).toMatchObject({ value: [7], updatedAt: at + 1 })
        expect(yield* documents.get("thing", "a")).toEqual(second)
        expect(other.version).toBeGreaterThan(first.version)
        expect(second.version).toBeGreaterThan(other.version)
      }),
  )

  law("what a caller does with a value after it was stored changes nothing", ({ documents }) =>
    Effect.gen(function* () {
      const value = { list: [1] }
      const stored = yield* stepsOf(documents).put("a", value)
      value.list.push(2)
      expect(stored.value).toEqual({ list: [1] })
      expect(yield* documents.get("thing", "a")).toMatchObject({ value: { list: [1] } })
    }),
  )

  law("a write that names another version than the stored one changes nothing", ({ documents }) =>
    Effect.gen(function* () {
      const { put } = stepsOf(documents)
      const first = yield* put("a", 1)
      const second = yield* put("a", 2, first.version)
      const wrong = { kind: "thing", id: "a", value: 3, updatedAt: at }
      for (const expectedVersion of [0, first.version, second.version + 1]) {
        expect(yield* documents.put({ ...wrong, expectedVersion })).toBeUndefined()
        expect(yield* documents.remove({ ...wrong, expectedVersion })).toBeUndefined()
      }
      const { version: expectedVersion } = second
      expect(yield* documents.put({ ...wrong, id: "b", expectedVersion })).toBeUndefined()
      expect(yield* documents.put({ ...wrong, kind: "other", expectedVersion })).toBeUndefined()
      expect(yield* documents.get("thing", "a")).toEqual(second)
      expect(yield* documents.get("thing", "b")).toBeUndefined()
      expect(yield* documents.get("other", "a")).toBeUndefined()
    }),
  )

  for (const isNew of [true, false]) {
    law(`of writes that expect the same ${isNew ? "absence" : "version"}, one succeeds`, ({ documents }) =>
      Effect.gen(function* () {
        const expectedVersion = isNew ? 0 : (yield* stepsOf(documents).put("a", "first")).version
        const written = yield* Effect.forEach(
          Array.from({ length: 8 }, (_, value) => value),
          (value) => documents.put({ kind: "thing", id: "a", value, expectedVersion, updatedAt: at }),
          { concurrency: "unbounded" },
        )
        const [won, ...others] = written.filter((one) => one !== undefined)
        expect(others).toEqual([])
        expect(won).toEqual((yield* documents.get("thing", "a")) as typeof won)
      }),
    )
  }

  law(
    "a document of the largest size is stored, and a larger one is refused and changes nothing",
    ({ documents }) =>
      Effect.gen(function* () {
        const { put } = stepsOf(documents)
        // Each ä takes two bytes, and the quotes count as well.
        const largest = `${"ä".repeat(largestDocumentBytes / 2 - 2)}xx`
        const stored = yield* put("a", largest)
        expect(yield* documents.get("thing", "a")).toEqual(stored)
        const refused = yield* Effect.flip(put("a", `${largest}x`, stored.version))
        expect(refused).toMatchObject({ _tag: "DocumentRefused" })
        expect(String(refused.message)).toContain(`${largestDocumentBytes + 1} bytes`)
        expect(yield* documents.get("thing", "a")).toEqual(stored)
      }),
  )

  law("kinds, ids, times and values outside the bounds are refused and change nothing", ({ documents }) =>
    Effect.gen(function* () {
      const sound = { kind: "thing", id: "a", value: 1, expectedVersion: 0, updatedAt: at }
      const circular: Array<unknown> = []
      circular.push(circular)
      const unfit = [
        ...["", "Thing", "a kind", "k".repeat(41)].map((kind) => ({ ...sound, kind })),
        ...["", "an id", "ä", "\n", "i".repeat(201)].map((id) => ({ ...sound, id })),
        ...[undefined, () => 1, 1n, circular].map((value) => ({ ...sound, value })),
        ...[Number.NaN, 0.5].map((updatedAt) => ({ ...sound, updatedAt })),
      ]
      for (const one of unfit) {
        expect(yield* Effect.flip(documents.put(one))).toMatchObject({ _tag: "DocumentRefused" })
      }
      expect(yield* stepsOf(documents).changes()).toEqual([])
      const longest = { ...sound, kind: "k".repeat(40), id: "~".repeat(200) }
      expect(yield* documents.put(longest)).toMatchObject({ id: longest.id })
    }),
  )
}

const readingLaws = (law: Law): void => {
  law("a list has one kind, bytewise by id, by prefix and in pages", ({ documents }) =>
    Effect.gen(function* () {
      const { put, ids } = stepsOf(documents)
      expect(yield* ids()).toEqual([])
      const inOrder = ["!", "0", "A", "Z", "_x", "a", "a!", "a-", "a-1", "a-1~", "a-2", "aa", "b", "~"]
      for (const id of [...inOrder].reverse()) yield* put(id, id)
      yield* documents.put({ kind: "another", id: "a-", value: 1, expectedVersion: 0, updatedAt: at })
      expect(yield* ids()).toEqual(inOrder)
      expect(yield* ids({ exclusiveAfterId: "Z" })).toEqual(inOrder.slice(4))
      expect(yield* ids({ exclusiveAfterId: "ZZ", limit: 2 })).toEqual(["_x", "a"])
      expect(yield* ids({ idPrefix: "a-" })).toEqual(["a-", "a-1", "a-1~", "a-2"])
      expect(yield* ids({ idPrefix: "a-", exclusiveAfterId: "A" })).toHaveLength(4)
      expect(yield* ids({ idPrefix: "a-", exclusiveAfterId: "a-" })).toEqual(["a-1", "a-1~", "a-2"])
      expect(yield* ids({ idPrefix: "a-", exclusiveAfterId: "a-1" })).toEqual(["a-1~", "a-2"])
      expect(yield* ids({ idPrefix: "a-", exclusiveAfterId: "b" })).toEqual([])
      expect(yield* ids({ idPrefix: "~" })).toEqual(["~"])
      const walked: Array<string> = []
      for (;;) {
        const page = yield* ids({ exclusiveAfterId: walked.at(-1) ?? "", limit: 3 })
        walked.push(...page)
        if (page.length < 3) break
      }
      expect(walked).toEqual(inOrder)
    }),
  )

  law(
    "changes come in the order of versions, only the last of each document, and pages skip none",
    ({ documents }) =>
      Effect.gen(function* () {
        const versions = new Map<string, number>()
        for (const id of ["a", "b", "c", "a", "d", "b"]) {
          const stored = yield* stepsOf(documents).put(id, id, versions.get(id))
          versions.set(id, stored.version)
          yield* documents.put({
            kind: "another",
            id: `${stored.version}`,
            value: 1,
            expectedVersion: 0,
            updatedAt: at,
          })
        }
        const all = yield* documents.changesAfter("thing", 0, 10)
        expect(all.map(({ id }) => id)).toEqual(["c", "a", "d", "b"])
        const paged: Array<DocumentChange> = []
        for (;;) {
          const page = yield* documents.changesAfter("thing", paged.at(-1)?.version ?? 0, 3)
          paged.push(...page)
          if (page.length < 3) break
        }
        expect(paged).toEqual([...all])
        expect(yield* documents.changesAfter("thing", paged.at(-1)?.version ?? 0, 3)).toEqual([])
      }),
  )

  law("a reader that follows the changes while many write misses none", ({ documents }) =>
    Effect.gen(function* () {
      const ids = Array.from({ length: 40 }, (_, number) => `n-${number}`)
      const seen = new Set<string>()
      let after = 0
      const look = Effect.gen(function* () {
        for (const change of yield* documents.changesAfter("thing", after, 7)) {
          seen.add(change.id)
          after = Math.max(after, change.version)
        }
      })
      yield* Effect.forEach(ids, (id) => Effect.andThen(stepsOf(documents).put(id, 1), look), {
        concurrency: 8,
      })
      for (let looks = 0; looks < 10; looks++) yield* look
      expect([...seen].sort()).toEqual([...ids].sort())
    }),
  )

  law("a page larger than the largest is refused", ({ documents }) =>
    Effect.gen(function* () {
      for (const limit of [0, -1, 0.5, largestPage + 1]) {
        const page = documents.list("thing", { exclusiveAfterId: "", limit })
        expect(yield* Effect.flip(page)).toMatchObject({ _tag: "DocumentsError", isFatal: false })
        expect(yield* Effect.flip(documents.changesAfter("thing", 0, limit))).toMatchObject({
          isFatal: false,
        })
      }
      expect(yield* documents.changesAfter("thing", 0, largestPage)).toEqual([])
    }),
  )
}

const removalLaws = (law: Law): void => {
  law(
    "a removed document is no longer found, and its removal is a change under a new version",
    ({ documents }) =>
      Effect.gen(function* () {
        const { put, remove, ids, changes } = stepsOf(documents)
        const [a, b] = [yield* put("a", 1), yield* put("b", 2)]
        const removed = yield* remove("a", a.version, at + 5)
        const { version } = removed
        expect(removed).toEqual({ state: "removed", kind: "thing", id: "a", version, updatedAt: at + 5 })
        expect(version).toBeGreaterThan(b.version)
        expect(yield* documents.get("thing", "a")).toBeUndefined()
        expect(yield* ids()).toEqual(["b"])
        expect(yield* changes()).toEqual([b, removed])
        const twice = { kind: "thing", id: "a", updatedAt: at }
        for (const expectedVersion of [0, a.version, version]) {
          expect(yield* documents.remove({ ...twice, expectedVersion })).toBeUndefined()
        }
        expect(yield* documents.put({ ...twice, value: 1, expectedVersion: version })).toBeUndefined()
        const again = yield* put("a", 3)
        expect(again.version).toBeGreaterThan(version)
        expect(yield* changes()).toEqual([b, again])
      }),
  )

  law("tombstones are cleared by removals long after, and no version is given twice", ({ documents }) =>
    Effect.gen(function* () {
      const { put, remove, changes } = stepsOf(documents)
      const kept = yield* put("kept", 1)
      for (let number = 0; number < tombstonesCleared + 2; number++) {
        yield* remove(`old-${number}`, (yield* put(`old-${number}`, 1)).version)
      }
      const removedAgain = Effect.fnUntraced(function* (id: string, removedAt: number) {
        return yield* remove(id, (yield* put(id, 1)).version, removedAt)
      })
      yield* removedAgain("in-time", at + tombstonesKeptMs)
      expect(yield* changes()).toHaveLength(1 + tombstonesCleared + 2 + 1)
      const late = yield* removedAgain("late", at + tombstonesKeptMs + 1)
      expect((yield* changes()).map(({ id }) => id).sort()).toHaveLength(5)
      const last = yield* removedAgain("last", at + 3 * tombstonesKeptMs)
      expect((yield* changes()).map(({ id }) => id)).toEqual(["kept", "last"])
      expect(last.version).toBeGreaterThan(late.version)
      expect(yield* documents.get("thing", "kept")).toEqual(kept)
    }),
  )
}

const damageLaws = (law: Law): void => {
  for (const text of ['{"broken', "", "\u0001", "undefined"]) {
    law(
      `a document whose text is ${JSON.stringify(text)} is named as unreadable and hides no other`,
      ({ documents, damage }) =>
        Effect.gen(function* () {
          const { put, remove, changes } = stepsOf(documents)
          const [a, bad, c] = [yield* put("a", 1), yield* put("bad", 2), yield* put("c", 3)]
          yield* damage("thing", "bad", text)
          const { value: _, ...head } = bad
          const unreadable = { ...head, state: "unreadable" as const }
          expect(yield* documents.get("thing", "bad")).toEqual(unreadable)
          expect(yield* documents.list("thing", { exclusiveAfterId: "", limit: 10 })).toEqual([
            a,
            unreadable,
            c,
          ])
          expect(yield* changes()).toEqual([a, unreadable, c])
          const fixed = yield* put("bad", 4, bad.version)
          expect(yield* documents.get("thing", "bad")).toEqual(fixed)
          yield* damage("thing", "bad", text)
          yield* remove("bad", fixed.version)
          expect(yield* documents.get("thing", "bad")).toBeUndefined()
        }),
    )
  }
}
