// How the store's sessions differ from the server's defaults.
import { searchPathOf } from "@punctual/sql/applyMigrations"
import {
  idleInTransactionTimeoutMs,
  lockTimeoutMs,
  statementTimeoutMs,
  unreadAnswerTimeoutMs,
} from "./limits.ts"

export const sessionSettings = (schema: string): Readonly<Record<string, string>> => ({
  application_name: "punctual",
  search_path: searchPathOf(schema),
  // Each statement of a write must see all earlier commits, because the write first waits for a fence.
  default_transaction_isolation: "read committed",
  statement_timeout: String(statementTimeoutMs),
  lock_timeout: String(lockTimeoutMs),
  idle_in_transaction_session_timeout: String(idleInTransactionTimeoutMs),
  tcp_user_timeout: String(unreadAnswerTimeoutMs),
  ...planSettings,
})

/**
 * Every statement is written for one index. The server keeps a plan that it made while a table was empty, and this plan
 * must not scan the table when it is full. So there is one plan, and it uses the index. Compiling plans takes longer
 * than running them.
 */
const planSettings = {
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  enable_bitmapscan: "off",
  enable_hashjoin: "off",
  enable_mergejoin: "off",
  jit: "off",
} as const
