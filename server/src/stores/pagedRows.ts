// All rows of a database that can show them as of one instant: the pages of an archive, and the same rows for the doctor.
import type { ArchivePage, ArchivePlace } from "../ports/TimerArchive.ts"
import { archivePage } from "./archivePage.ts"
import type { KeptRow } from "./RowCounting.ts"

export interface PagedRow extends KeptRow {
  readonly place: ArchivePlace["key"]
}

interface RowPart<Session> {
  readonly name: ArchivePlace["part"]
  /** Sorts before every row. */
  readonly first: ArchivePlace["key"]
  /** In the order of an index. */
  read(
    session: Session,
    after: ArchivePlace["key"],
    limit: number,
    withPayload: boolean,
  ): Promise<ReadonlyArray<PagedRow>>
}

export interface PagedRows<Session> {
  /** From now on the session sees the database as of this instant. */
  begin(session: Session): Promise<unknown>
  readonly parts: ReadonlyArray<RowPart<Session>>
}

/** A page belongs to one part. The next part begins with a new page. */
const readPage = async <Session>(
  { parts }: PagedRows<Session>,
  session: Session,
  after: ArchivePlace | undefined,
  limit: number,
  withPayload: boolean,
): Promise<{ readonly rows: ReadonlyArray<PagedRow>; readonly next: ArchivePlace | undefined }> => {
  const index = after === undefined ? 0 : parts.findIndex(({ name }) => name === after.part)
  const part = parts[index]
  if (part === undefined) return { rows: [], next: undefined }
  const rows = await part.read(session, after?.key ?? part.first, limit, withPayload)
  const last = rows.at(-1)
  if (last !== undefined && rows.length === limit) return { rows, next: { part: part.name, key: last.place } }
  const following = parts[index + 1]
  return { rows, next: following && { part: following.name, key: following.first } }
}

export const pageOf = async <Session>(
  paged: PagedRows<Session>,
  session: Session,
  after: ArchivePlace | undefined,
  limit: number,
): Promise<ArchivePage> => {
  const { rows, next } = await readPage(paged, session, after, limit, true)
  return archivePage(
    rows.map(({ item }) => item),
    next,
  )
}

const rowsAtOnce = 1_000

export async function* pagesOf<Session>(
  paged: PagedRows<Session>,
  session: Session,
): AsyncGenerator<ReadonlyArray<KeptRow>> {
  let after: ArchivePlace | undefined
  do {
    const { rows, next } = await readPage(paged, session, after, rowsAtOnce, false)
    yield rows
    after = next
  } while (after !== undefined)
}
