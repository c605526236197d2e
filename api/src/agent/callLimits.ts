/** The limits of the Service Agent's contract. They are fixed. */
const dayMs = 86_400_000

export const callLimits = {
  /** The whole JSON body of a request, with the body of the service call inside. */
  bodyBytes: 1024 * 1024,
  idBytes: 240,
  nameBytes: 200,
  urlLength: 8192,
  headers: 64,
  /** The names and values of these headers together. */
  headerBytes: 16 * 1024,
  listPage: 200,
  listPageDefault: 50,
  cursorLength: 1024,
  /** How many calls one bulk request changes. */
  bulk: 1000,
  /** How many calls a bulk request can name. A list shows as many on a page. */
  bulkIds: 200,
  /** How many headers a tenant can hide. */
  hiddenHeaders: 64,
  headerNameLength: 100,
  tenantsPage: 1000,
  /** How far in the future a call may be due. The Timer has the same limit. */
  aheadMs: 3653 * dayMs,
} as const
