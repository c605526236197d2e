// Archives of databases that cannot show many rows as of one instant. The opening copies everything into a temporary
// file (ArchiveCopy.ts), and the pages come from the file. A database that can say whether it was written meanwhile is
// copied until it was not, so its archive shows one instant.
import type { DocumentCalls } from "@punctual/documents/DocumentRow"
import { DatabaseFailure } from "@punctual/sql/DatabaseFailure"
import { Effect } from "effect"
import type { TimerKey } from "../domain/Timer.ts"
import { settingsKind } from "../engine/namespaces/SettingsRecords.ts"
import type { Opened } from "../ports/Adapter.ts"
import type { TimerArchive } from "../ports/TimerArchive.ts"
import { ArchiveCopy } from "./ArchiveCopy.ts"
import { type Explain, opening, type StoredSchema } from "./openingStores.ts"
import type { KeptRow } from "./RowCounting.ts"

export interface CopiedRows<Session> {
  /** All rows, in any order. */
  pages(session: Session, schema: StoredSchema, withPayload: boolean): AsyncIterable<ReadonlyArray<KeptRow>>
  /** Changes with every write of a timer or a document. Absent if the database cannot say it. */
  state?(session: Session, schema: StoredSchema): Promise<string>
  /** The pending timers of these keys, whose earlier armings ended while they were copied. */
  pendingOf?(
    session: Session,
    schema: StoredSchema,
    keys: ReadonlyArray<TimerKey>,
  ): Promise<ReadonlyArray<KeptRow>>
}

const mostTries = 5
const documentsAtOnce = 500

export const copiedArchive = <Session>(
  { shown, explain }: { readonly shown: string; readonly explain: Explain },
  rows: CopiedRows<Session>,
  documents: DocumentCalls,
  session: Session,
  schema: StoredSchema,
): Opened<TimerArchive> =>
  Effect.gen(function* () {
    const copy = yield* Effect.acquireRelease(
      Effect.sync(() => new ArchiveCopy()),
      (made) => Effect.sync(() => made.close()),
    )
    yield* opening(async () => {
      for (let tries = 0; tries < mostTries; tries++) {
        const before = await rows.state?.(session, schema)
        copy.clear()
        for await (const page of rows.pages(session, schema, true)) copy.add(page)
        await copySettings(copy, documents)
        if (rows.pendingOf !== undefined) copy.add(await rows.pendingOf(session, schema, copy.takeEnded()))
        if ((await rows.state?.(session, schema)) === before) return
      }
      throw new DatabaseFailure(
        "failed",
        `${shown} was written while it was read, ${mostTries} times: stop the services, then export again.`,
      )
    }, explain)
    return copy.archive(schema.shards)
  })

/** An archive contains no other documents. */
const copySettings = async (copy: ArchiveCopy, documents: DocumentCalls): Promise<void> => {
  for (let version = 0; ; ) {
    const page = await documents.changesAfter(settingsKind, version, documentsAtOnce)
    for (const row of page) copy.addDocument(row)
    version = page.at(-1)?.version ?? version
    if (page.length < documentsAtOnce) return
  }
}
