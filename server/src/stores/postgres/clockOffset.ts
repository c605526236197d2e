// Measures how far a clock is ahead of the database's.
import { clockSql } from "./statements.ts"

/** Measures twice, because the first call may have waited for a connection. The faster measurement is more exact. */
export const readClockOffset = async (sql: Bun.SQL, nowMs: () => number): Promise<number> => {
  const [first, second] = [await measured(sql, nowMs), await measured(sql, nowMs)]
  return Math.round((first.tookMs < second.tookMs ? first : second).offsetMs)
}

const measured = async (sql: Bun.SQL, nowMs: () => number) => {
  const sentMs = nowMs()
  const rows: ReadonlyArray<{ now_ms: number }> = await sql.unsafe(clockSql)
  const receivedMs = nowMs()
  // Assumes that the database read its clock halfway between the two times.
  return {
    tookMs: receivedMs - sentMs,
    offsetMs: (sentMs + receivedMs) / 2 - (rows[0]?.now_ms ?? Number.NaN),
  }
}
