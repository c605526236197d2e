// Commands on the database itself, each on one session, while services may run.
import { changeOf } from "@punctual/documents/DocumentRow"
import type { Documents } from "@punctual/documents/Documents"
import { mysqlDocuments } from "@punctual/documents/mysql/mysqlDocuments"
import { literal } from "@punctual/documents/mysql/mysqlText"
import { Effect, type Scope } from "effect"
import type { ArchivedItem } from "../../domain/WriteItem.ts"
import type { StoreExamination } from "../../ports/StoreReport.ts"
import type { StoreSchema } from "../../ports/StoreSchema.ts"
import type { ArchivePage, ArchivePlace, TimerArchive } from "../../ports/TimerArchive.ts"
import { StoreError } from "../../ports/TimerStore.ts"
import { archivePage } from "../archivePage.ts"
import { storeDocuments } from "../StoreDocuments.ts"
import { keyOfSqlRow, lifeOfSqlRow, timerOfSqlRow } from "../sqlRows.ts"
import { explainedMysql } from "./checkMysql.ts"
import { examineDatabase } from "./MysqlDoctor.ts"
import { Session } from "./MysqlSessions.ts"
import { type MysqlOpenError, opening } from "./MysqlStore.ts"
import { programVersion } from "./migrations/all.ts"
import type { MysqlTarget } from "./mysqlUrl.ts"
import { checkCurrent, existingVersion, knownVersion, openDatabase, storedShards } from "./openDatabase.ts"
import { type EndedRow, lifeColumns, type PendingRow, timerColumns, withBodies, withFireId } from "./rows.ts"
import { afterSql } from "./scans.ts"

type Keeping<A> = Effect.Effect<A, MysqlOpenError | StoreError, Scope.Scope>

export const MysqlKeeper = {
  /** `nowMs` is the clock that is compared with the database's. */
  examination: (target: MysqlTarget, nowMs: () => number): Keeping<StoreExamination> =>
    Effect.map(sessionTo(target), (session) => ({
      examine: (options) =>
        calling(target, async () =>
          examineDatabase(session, target.flavour, await existingVersion(session, target), options, nowMs),
        ),
    })),

  documents: (target: MysqlTarget): Keeping<Documents["Service"]> =>
    Effect.gen(function* () {
      const session = yield* sessionTo(target)
      yield* calling(target, () => checkCurrent(session, target))
      return storeDocuments({
        write: (asked) => calling(target, () => mysqlDocuments.write(session, asked)),
        get: (kind, id) => calling(target, () => mysqlDocuments.get(session, kind, id)),
        list: (range) => calling(target, () => mysqlDocuments.list(session, range)),
        changesAfter: (kind, version, limit) =>
          calling(target, () => mysqlDocuments.changesAfter(session, kind, version, limit)),
      })
    }),

  /** `shards` is used if the store must be created. */
  schema: (target: MysqlTarget, shards: number): Keeping<StoreSchema> =>
    Effect.map(sessionTo(target), (session) => ({
      versions: calling(target, async () => ({
        stored: await knownVersion(session, target),
        program: programVersion,
      })),
      migrate: calling(target, async () => {
        const isThere = (await knownVersion(session, target)) > 0
        await openDatabase(target, isThere ? await storedShards(session) : shards)
      }),
    })),

  /** Reads in one transaction that sees the database as of its beginning. It creates and migrates nothing. */
  archive: (target: MysqlTarget): Keeping<TimerArchive> =>
    Effect.gen(function* () {
      const session = yield* sessionTo(target)
      const shards = yield* opening(async () => {
        try {
          await checkCurrent(session, target)
          const stored = await storedShards(session)
          await session.run(["START TRANSACTION WITH CONSISTENT SNAPSHOT", "SELECT 1 FROM shards LIMIT 1"])
          return stored
        } catch (error) {
          throw await explainedMysql(error, target)
        }
      })
      return {
        shards,
        page: (after, limit) => calling(target, () => pageOf(session, after, limit)),
        documents: (kind, afterVersion, limit) =>
          calling(target, async () =>
            (await mysqlDocuments.changesAfter(session, kind, afterVersion, limit)).map(changeOf),
          ),
      }
    }),
} as const

const sessionTo = (target: MysqlTarget): Effect.Effect<Session, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(() => new Session(target, "keeping")),
    (session) => Effect.promise(() => session.close().catch(() => {})),
  )

const calling = <A>(target: MysqlTarget, call: () => Promise<A>): Effect.Effect<A, StoreError> =>
  Effect.catch(Effect.tryPromise({ try: call, catch: (error) => ({ error }) }), ({ error }) =>
    Effect.flatMap(
      Effect.promise(() => explainedMysql(error, target)),
      ({ message }) => new StoreError({ message, isFatal: false }),
    ),
  )

interface Part {
  readonly name: ArchivePlace["part"]
  readonly select: string
  /** The columns of the order, and their values before every row. */
  readonly place: ReadonlyArray<string>
  readonly first: ReadonlyArray<string | number>
  readonly item: (row: PendingRow & EndedRow) => ArchivedItem
  readonly key: (row: PendingRow & EndedRow) => ReadonlyArray<string | number>
}

const endedItem = (row: EndedRow): ArchivedItem => ({
  kind: "ended",
  life: lifeOfSqlRow(keyOfSqlRow(row), row, row.payload),
})

const livesBy = (index: string, condition: string): string =>
  `SELECT ${lifeColumns}, h.payload FROM history AS h FORCE INDEX (${index}) WHERE ${condition} AND`

/** Each part is in the order of an index. */
const parts: ReadonlyArray<Part> = [
  {
    name: "pending",
    select: `SELECT ${timerColumns}, b.payload FROM timers AS t FORCE INDEX (timers_by_id) ${withBodies} WHERE`,
    place: ["t.namespace", "t.timer_id"],
    first: ["", ""],
    item: (row) => ({ kind: "pending", timer: timerOfSqlRow(keyOfSqlRow(row), row, row.payload) }),
    key: (row) => [row.namespace, row.timer_id],
  },
  {
    name: "history",
    select: livesBy("PRIMARY", "h.state <> 'dead'"),
    place: ["h.id"],
    first: [0],
    item: endedItem,
    key: (row) => [row.id],
  },
  {
    name: "dead",
    select: livesBy("history_prunable", "h.state = 'dead'"),
    place: ["h.finished_at", "h.id"],
    first: [Number.MIN_SAFE_INTEGER, 0],
    item: endedItem,
    key: (row) => [row.finished_at, row.id],
  },
]

/** A page belongs to one part. The next part begins with a new page. */
const pageOf = async (
  session: Session,
  after: ArchivePlace | undefined,
  limit: number,
): Promise<ArchivePage> => {
  const index = after === undefined ? 0 : parts.findIndex(({ name }) => name === after.part)
  const part = parts[index]
  if (part === undefined) return { items: [] }
  const key = (after?.key ?? part.first).map(literal)
  const [rows = []] = await session.run<PendingRow & EndedRow>([
    `${part.select} ${afterSql(part.place, key, false)} ORDER BY ${part.place.join(", ")} LIMIT ${limit}`,
  ])
  const items = rows.map(withFireId).map(part.item)
  const last = rows.at(-1)
  if (last !== undefined && rows.length === limit) {
    return archivePage(items, { part: part.name, key: part.key(last) })
  }
  const following = parts[index + 1]
  return archivePage(items, following && { part: following.name, key: following.first })
}
