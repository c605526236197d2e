// How the store's sessions differ from the server's defaults.
import {
  idleInTransactionTimeoutMs,
  lockTimeoutMs,
  statementTimeoutMs,
  unreadAnswerTimeoutMs,
} from "./limits.ts"

export const sessionSettings = (schema: string): Readonly<Record<string, string>> => ({
  application_name: "punctual",
  search_path: searchPathOf(schema),
  // Writing rests on each statement seeing what was committed before it: the wait for a fence comes first.
  default_transaction_isolation: "read committed",
  statement_timeout: String(statementTimeoutMs),
  lock_timeout: String(lockTimeoutMs),
  idle_in_transaction_session_timeout: String(idleInTransactionTimeoutMs),
  tcp_user_timeout: String(unreadAnswerTimeoutMs),
  ...planSettings,
})

/** Nobody's temporary objects come before the store's own. */
export const searchPathOf = (schema: string): string => `"${schema}", pg_temp`

/**
 * Every statement is made for one index. A plan that was right while a table was empty is kept, and must not scan
 * the table when it is full: so there is one plan, and it goes by the index. Compiling plans takes longer than running
 * them.
 */
const planSettings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
} as const
