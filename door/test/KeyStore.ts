// Directories of keys over documents in memory, for tests. Two directories over the same documents are two nodes.
import { Documents } from "@punctual/documents/Documents"
import { documentsIn, MemoryDocuments } from "@punctual/documents/memory/MemoryDocuments"
import { Context, Effect, Layer, Logger, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { KeyDirectory, type KeyDirectoryOptions, type NewKey } from "../src/KeyDirectory.ts"

export const admin: NewKey = { label: "anna", actions: ["*"], namespaces: ["*"], madeBy: "test" }

export const appKey: NewKey = {
  label: "app",
  actions: ["timers.read", "timers.write"],
  namespaces: ["billing"],
  madeBy: "anna",
}

/** A node over the documents of the test. */
export const node = (options: KeyDirectoryOptions = {}) =>
  Effect.map(Layer.build(KeyDirectory.layer(options)), (services) => Context.get(services, KeyDirectory))

/** Runs a test with one store, under virtual time. */
export const withStore =
  <A, E>(test: (memory: MemoryDocuments) => Effect.Effect<A, E, Documents | Scope.Scope>) =>
  (): Promise<A> => {
    const memory = new MemoryDocuments()
    return Effect.runPromise(
      test(memory).pipe(
        Effect.scoped,
        Effect.provide(Layer.succeed(Documents, documentsIn(memory))),
        Effect.provide(Layer.merge(Logger.layer([]), TestClock.layer())),
      ),
    )
  }
