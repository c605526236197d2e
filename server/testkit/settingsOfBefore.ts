// Settings in the form that stores had before settings became documents, and the documents that the migration must make
// of them.
import { expect } from "bun:test"
import { Effect, type Layer } from "effect"
import { SettingsRecords, serviceRecord } from "../src/engine/namespaces/SettingsRecords.ts"
import type { Store } from "./StoreFixture.ts"

/** The text of one namespace is damaged. */
export const settingsOfBefore = `INSERT INTO namespaces (namespace, settings, version, updated_at) VALUES
  ('shop', '{"maxPending":5}', 3, 30),
  ('${serviceRecord}', '{"pause":{"sinceMs":9,"kind":"asked"}}', 7, 70),
  ('bad', '{"maxPen', 11, 110),
  ('reset', '{}', 12, 120)`

export const expectMovedSettings = (store: Layer.Layer<Store, unknown>): Promise<void> =>
  Effect.gen(function* () {
    const settings = yield* SettingsRecords.make
    expect(yield* settings.changesAfter(0, 10)).toEqual([
      { namespace: "shop", settings: { maxPending: 5 }, version: 3, updatedAt: 30 },
      {
        namespace: serviceRecord,
        settings: { pause: { sinceMs: 9, kind: "asked" } },
        version: 7,
        updatedAt: 70,
      },
      { namespace: "bad", settings: { pausedSinceMs: 110 }, version: 11, updatedAt: 110, isUnreadable: true },
      { namespace: "reset", settings: {}, version: 12, updatedAt: 120 },
    ])
    const again = { namespace: "shop", settings: { maxPending: 6 }, version: 3, updatedAt: 31 }
    // A node that has read up to version 12 sees this write.
    expect(yield* settings.put(again)).toEqual({ ...again, version: 13 })
  }).pipe(Effect.provide(store), Effect.scoped, Effect.runPromise)
