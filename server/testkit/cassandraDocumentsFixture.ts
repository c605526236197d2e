// The documents of a Cassandra store, for the suite of documents.
import { Documents } from "@punctual/documents/Documents"
import type { DocumentsFixture } from "@punctual/documents/testkit/Documents.suite"
import { Context, Effect, Exit, Layer, Scope } from "effect"
import type { CassandraServer } from "./CassandraServer.ts"
import { cassandraLayer, sessionOn } from "./cassandra.ts"

export const cassandraDocumentsFixture = (server: () => CassandraServer): DocumentsFixture => ({
  name: "cassandra",
  fresh: Effect.gen(function* () {
    const url = server().newUrl()
    const first = yield* Scope.make()
    yield* Effect.addFinalizer(() => Scope.close(first, Exit.void))
    const services = yield* Layer.buildWithScope(cassandraLayer(url, 1), first)
    return {
      documents: Context.get(services, Documents),
      damage: (kind, id, text) => Effect.promise(() => damage(url, kind, id, text)),
      reopened: Scope.close(first, Exit.void).pipe(
        Effect.andThen(Layer.build(cassandraLayer(url, 1))),
        Effect.map(Context.get(Documents)),
      ),
    }
  }),
})

const damage = async (url: string, kind: string, id: string, text: string): Promise<void> => {
  const session = await sessionOn(url)
  try {
    await session.batch(
      [
        {
          query:
            "UPDATE documents SET json = ? WHERE store = ? AND kind = ? AND part = 0 AND version = 0 AND id = ? IF EXISTS",
          params: [text, session.store, kind, id],
        },
      ],
      { isConditional: true },
    )
  } finally {
    await session.close()
  }
}
