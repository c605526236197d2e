// The documents of a whole store, for the suite of documents. They are opened as a service or a command opens them, with
// threads and connections.
import { Documents } from "@punctual/documents/Documents"
import type { DocumentsFixture } from "@punctual/documents/testkit/Documents.suite"
import { Context, Effect, Exit, Layer, Scope } from "effect"

/** Where the store of one test is. */
export interface StorePlaceForTest {
  open(): Layer.Layer<Documents, unknown>
  /** Changes rows without the store. */
  edit(sql: string): Promise<void>
  dispose(): void
}

export const storeDocumentsFixture = (name: string, make: () => StorePlaceForTest): DocumentsFixture => ({
  name,
  fresh: Effect.gen(function* () {
    const place = yield* Effect.acquireRelease(Effect.sync(make), ({ dispose }) => Effect.sync(dispose))
    const first = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(first, Exit.void))
    const services = yield* Layer.buildWithScope(place.open(), first)
    return {
      documents: Context.get(services, Documents),
      damage: (kind, id, text) =>
        Effect.promise(() =>
          place.edit(
            `UPDATE documents SET json = '${text.replaceAll("'", "''")}' WHERE kind = '${kind}' AND id = '${id}'`,
          ),
        ),
      reopened: Scope.close(first, Exit.void).pipe(
        Effect.andThen(Layer.build(place.open())),
        Effect.map(Context.get(Documents)),
      ),
    }
  }),
})
