// Whether the starter of a job still has the rights that the job uses, with the keys of a real directory.
import { expect, test } from "bun:test"
import { Namespace } from "@punctual/api/Namespace"
import { Documents } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { DoorRecords } from "@punctual/door/DoorRecords"
import { KeyDirectory } from "@punctual/door/KeyDirectory"
import { Effect, Layer } from "effect"
import type { BulkRecord } from "../../src/bulk/BulkRecord.ts"
import { startersWithKeys, startersWithoutKeys } from "../../src/bulk/Starters.ts"
import { sampleJob } from "./sampleJob.ts"

const nowMs = 1_900_000_000_000
const teamA = Namespace.make("team-a")

const job = (keyId?: string, change: Partial<BulkRecord> = {}): BulkRecord => ({
  ...sampleJob,
  startedBy: { caller: "ben", ...(keyId === undefined ? {} : { keyId }) },
  ...change,
})

const withKeys = (
  use: (keys: KeyDirectory["Service"], documents: Documents["Service"]) => Effect.Effect<void, unknown>,
) =>
  Effect.gen(function* () {
    yield* use(yield* KeyDirectory, yield* Documents)
  }).pipe(
    Effect.scoped,
    Effect.provide(
      KeyDirectory.layer().pipe(
        Layer.provideMerge(Layer.succeed(Documents, documentsIn(new MemoryDocuments()))),
      ),
    ),
    Effect.runPromise,
  )

const full = { actions: ["*"], namespaces: ["*"], madeBy: "test", label: "ben" } as const

test("a job goes on while its key has the rights, and not after the key was revoked, expired or restored", () =>
  withKeys((keys, documents) =>
    Effect.gen(function* () {
      const { id } = yield* keys.create({ ...full, expiresAtMs: nowMs + 10 }, nowMs)
      const other = yield* keys.create(full, nowMs)
      const starters = startersWithKeys(keys, "auto")
      expect(starters.whyNot(job(id), nowMs)).toBeUndefined()
      expect(starters.whyNot(job(id), nowMs + 9)).toBeUndefined()
      expect(starters.whyNot(job(id), nowMs + 10)).toContain("has expired")
      expect(starters.whyNot(job("unknown"), nowMs)).toContain("does not exist")
      yield* keys.revoke(id, nowMs)
      expect(starters.whyNot(job(id), nowMs)).toContain("has been revoked")
      yield* new DoorRecords(documents).raiseRestores(nowMs)
      yield* keys.refresh
      expect(starters.whyNot(job(other.id), nowMs)).toContain("nobody has confirmed it")
    }),
  ))

test("a job needs timers.read and its action in all its namespaces", () =>
  withKeys((keys) =>
    Effect.gen(function* () {
      yield* keys.create(full, nowMs)
      const made = yield* keys.create(
        { ...full, actions: ["timers.read", "dead.replay"], namespaces: ["team-*"] },
        nowMs,
      )
      const starters = startersWithKeys(keys, "required")
      const whyNot = (change: Partial<BulkRecord>) => starters.whyNot(job(made.id, change), nowMs)
      expect(whyNot({ do: "replay", filter: { namespaces: ["team-a", "team-b*"] } })).toBeUndefined()
      expect(whyNot({ do: "discard", filter: { namespace: teamA } })).toContain("action dead.discard")
      expect(whyNot({ do: "cancel", filter: { namespace: teamA } })).toContain("action timers.cancel")
      for (const namespaces of [["billing"], ["team-a", "t*"], ["*"]])
        expect(whyNot({ do: "replay", filter: { namespaces } })).toContain(
          "action timers.read in the namespace",
        )
    }),
  ))

test("a job without a key goes on only while keys are not required", () =>
  withKeys((keys) =>
    Effect.gen(function* () {
      const whyNot = (mode: "auto" | "required" | "off") => startersWithKeys(keys, mode).whyNot(job(), nowMs)
      expect([whyNot("auto"), whyNot("off")]).toEqual([undefined, undefined])
      expect(whyNot("required")).toContain("keys are required now")
      yield* keys.create(full, nowMs)
      expect(whyNot("auto")).toContain("keys are required now")
      expect(whyNot("off")).toBeUndefined()
      expect(startersWithoutKeys.whyNot(job(), nowMs)).toBeUndefined()
      expect(startersWithoutKeys.whyNot(job("a"), nowMs)).toContain("Only a service can check keys")
    }),
  ))
