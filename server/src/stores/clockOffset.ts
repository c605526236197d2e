// Measures how far a clock is ahead of the database's.

/** Measures twice, because the first call may have waited for a connection. The faster measurement is more exact. */
export const readClockOffset = async (
  databaseNowMs: () => Promise<number>,
  nowMs: () => number,
): Promise<number> => {
  const [first, second] = [await measured(databaseNowMs, nowMs), await measured(databaseNowMs, nowMs)]
  return Math.round((first.tookMs < second.tookMs ? first : second).offsetMs)
}

const measured = async (databaseNowMs: () => Promise<number>, nowMs: () => number) => {
  const sentMs = nowMs()
  const databaseMs = await databaseNowMs()
  const receivedMs = nowMs()
  // Assumes that the database read its clock halfway between the two times.
  return { tookMs: receivedMs - sentMs, offsetMs: (sentMs + receivedMs) / 2 - databaseMs }
}
