// Commands on the file itself, as the ports that they use. A thread does the work (Keeper.ts).
import { Effect, type Scope } from "effect"
import { settingsKind } from "../../engine/namespaces/SettingsRecords.ts"
import type { StoreCopies, StorePlace } from "../../ports/StoreCopy.ts"
import { faultsMost, type StoreExamination, type StoreReport } from "../../ports/StoreReport.ts"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import type { StoreError } from "../../ports/TimerStore.ts"
import { SettingsExamination } from "../SettingsExamination.ts"
import type { KeeperCalls } from "./Keeper.ts"
import { OpenFailure } from "./OpenFailure.ts"
import type { FileReport } from "./SqliteDoctor.ts"
import { SqliteOpenError } from "./SqliteStore.ts"
import { SharedEnd, StoreThread } from "./StoreThread.ts"

export interface SqliteKeeperOptions {
  readonly path: string
  /** The file worker.ts as a URL. The program's entry builds it, because elsewhere it breaks when compiled. */
  readonly workerUrl: URL
}

type Opened<A, E = SqliteOpenError> = Effect.Effect<A, E, Scope.Scope>

export const SqliteKeeper = {
  examination: (options: SqliteKeeperOptions): Opened<StoreExamination> =>
    Effect.map(openThread(options), (thread) => ({
      examine: (asked) =>
        Effect.flatMap(thread.call("examine", asked), (report) => withSettings(thread, report)),
    })),

  copies: (options: SqliteKeeperOptions): Opened<StoreCopies> =>
    Effect.map(openThread(options), (thread) => ({
      path: options.path,
      copy: (asked) => thread.call("copy", asked),
    })),

  /** Fails while a service runs on the file. Until the scope closes, no service can start on it. */
  place: (options: SqliteKeeperOptions): Opened<StorePlace, SqliteOpenError | StoreError> =>
    Effect.gen(function* () {
      const thread = yield* openThread(options)
      const isTaken = yield* thread.call("takePlace", null)
      const prepared = `${options.path}.restoring`
      return {
        path: options.path,
        isTaken,
        prepared,
        inspect: (file) => thread.call("inspect", file),
        prepare: (file) => thread.call("prepare", { file, prepared }),
        put: (keepAs) => thread.call("put", { prepared, keepAs }),
      }
    }),

  /** `shards` is used if the store must be created. */
  schema: (options: SqliteKeeperOptions & { readonly shards: number }): Opened<StoreSchema> =>
    Effect.suspend(() => {
      let listener: (message: string) => void = () => {}
      return Effect.map(
        openThread(options, (message) => listener(message)),
        (thread) => ({
          versions: thread.call("versions", null),
          migrate: thread.call("migrate", options.shards),
          onProgress: (told) => {
            listener = told
          },
        }),
      )
    }),
} as const

/** Damaged pages are reported as one more fault of the file. */
const withSettings = (
  thread: StoreThread<KeeperCalls>,
  { overdueIfPaused, ...report }: FileReport,
): Effect.Effect<StoreReport, StoreError> => {
  const settings = new SettingsExamination()
  const limit = SettingsExamination.pageItems
  const readAll = Effect.gen(function* () {
    for (;;) {
      const { version } = settings
      const page = yield* thread.call("documentsAfter", { kind: settingsKind, version, limit })
      if (!settings.take(page)) return []
    }
  })
  return readAll.pipe(
    Effect.catchIf(
      ({ isFatal }) => isFatal,
      ({ message }) => Effect.succeed([`settings cannot be read: ${message}`]),
    ),
    Effect.map((faults) => ({
      ...report,
      ...settings.found,
      overdue: settings.found.pause === undefined ? report.overdue : overdueIfPaused,
      unreadable: [...settings.found.unreadable, ...report.unreadable],
      faults: [...report.faults, ...faults].slice(0, faultsMost),
    })),
  )
}

const openThread = (
  { path, workerUrl }: SqliteKeeperOptions,
  onProgress: (message: string) => void = () => {},
) =>
  Effect.acquireRelease(
    Effect.tryPromise({
      try: () =>
        StoreThread.open<KeeperCalls>(
          workerUrl,
          { role: "keeper", path, shards: 0 },
          new SharedEnd(() => {}),
          { onProgress },
        ),
      catch: (error) =>
        new SqliteOpenError({
          reason: error instanceof OpenFailure ? error.reason : "failed",
          message: error instanceof Error ? error.message : String(error),
        }),
    }),
    (thread) => Effect.promise(() => thread.close()),
  )
