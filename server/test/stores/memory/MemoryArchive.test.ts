import { Effect, Layer } from "effect"
import { makeMemoryDatabase } from "../../../src/stores/memory/MemoryDatabase.ts"
import { MemoryStore } from "../../../src/stores/memory/MemoryStore.ts"
import { ArchiveOpening, timerArchiveSuite } from "../../../testkit/TimerArchive.suite.ts"

timerArchiveSuite({
  name: "memory",
  fresh: (options) => {
    const database = makeMemoryDatabase(options)
    return Layer.merge(
      MemoryStore.over(database),
      Layer.succeed(ArchiveOpening, { open: Effect.sync(() => MemoryStore.archive(database)) }),
    )
  },
})
