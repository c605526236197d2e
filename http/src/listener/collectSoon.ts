// Lets the runtime look for unused memory. It would do so late: it judges by the number of its objects, and the payloads of a
// large body are few objects with much memory. The search runs beside the thread, which waits for a fraction of a
// millisecond.
export const collectSoon = (): void => Bun.gc(false)
