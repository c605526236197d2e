// How far a clock is ahead of the database's.
import { clockSql } from "./statements.ts"

/** The first of two may have waited for a connection to be made; the quicker one tells more exactly. */
export const readClockOffset = async (sql: Bun.SQL, nowMs: () => number): Promise<number> => {
  const [first, second] = [await measured(sql, nowMs), await measured(sql, nowMs)]
  return Math.round((first.tookMs < second.tookMs ? first : second).offsetMs)
}

const measured = async (sql: Bun.SQL, nowMs: () => number) => {
  const sentMs = nowMs()
  const rows: ReadonlyArray<{ now_ms: number }> = await sql.unsafe(clockSql)
  const receivedMs = nowMs()
  // The database was asked halfway between the two, as near as anyone can tell.
  return {
    tookMs: receivedMs - sentMs,
    offsetMs: (sentMs + receivedMs) / 2 - (rows[0]?.now_ms ?? Number.NaN),
  }
}
