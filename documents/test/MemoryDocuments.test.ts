import { Effect } from "effect"
import { documentsIn, MemoryDocuments } from "../src/memory/MemoryDocuments.ts"
import { documentsSuite } from "../testkit/Documents.suite.ts"

documentsSuite({
  name: "memory",
  fresh: Effect.sync(() => {
    const memory = new MemoryDocuments()
    return {
      documents: documentsIn(memory),
      damage: (kind, id, text) => Effect.sync(() => memory.damage(kind, id, text)),
    }
  }),
  reopenSkipped: "memory keeps nothing beyond its process, by design",
})
