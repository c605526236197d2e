// The statements of the SQLite store. They run in the thread that owns the file (worker.ts), each method within a
// transaction that the thread has begun. This module does not use Effect, because the thread loads it.
import type { Database, SQLQueryBindings, Statement } from "bun:sqlite"
import type { CallChange } from "../../domain/CallChange.ts"
import type { CallRecord } from "../../domain/CallRecord.ts"
import type { OutboxMessage } from "../../domain/OutboxMessage.ts"
import { type CallKey, type CallState, callStates } from "../../domain/ServiceCall.ts"
import type { TenantRange, TenantSettings } from "../../domain/TenantSettings.ts"
import type { AttemptOutcome } from "../../domain/transition.ts"
import type {
  AttemptKey,
  ClaimedSpan,
  HeadsAsked,
  ListAsked,
  ListedCalls,
  NewAttempt,
  OutboxHeads,
  OutboxRow,
  RowFilter,
  StateCount,
  StoredAttempt,
  StoredDetail,
} from "../../ports/CallStore.ts"
import { type AttemptRow, attemptOfRow } from "../AttemptRow.ts"
import {
  answerBodyOf,
  attemptMessageRow,
  callColumns,
  callRowOf,
  entryOf,
  type MessageRow,
  messageRowsOf,
  recordOf,
  recordWithBody,
  storedMessageOf,
  timelineRowsOf,
} from "../callRows.ts"
import {
  countQuery,
  type LaneRow,
  laneQuery,
  mergeLanes,
  type SqlDialect,
  scannedAtMost,
} from "../listLanes.ts"
import { openCountQuery, settingsOfText, settingsTextOf, tenantsQuery } from "../settingsRow.ts"

const sqliteDialect: SqlDialect = {
  parameter: (n) => `?${n}`,
  hasTag: (parameter) => `EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ${parameter})`,
  hasInName: (parameter) => `instr(name_folded, ${parameter}) > 0`,
}

const ofCall = "tenant_id = ? AND service_call_id = ?"

export class CallTables {
  readonly #database: Database
  readonly #prepared = new Map<string, Statement>()

  constructor(database: Database) {
    this.#database = database
  }

  submit({
    change,
    sealedRequest,
  }: {
    readonly change: CallChange
    readonly sealedRequest: Uint8Array
  }): CallRecord | undefined {
    const key = change.record.call
    const present = this.find(key)
    if (present !== undefined) return present
    this.#run(
      `INSERT INTO calls (${callColumns.join(", ")}) VALUES (${callColumns.map(() => "?").join(", ")})`,
      ...this.#valuesOf(change.record),
    )
    this.#run("INSERT INTO requests VALUES (?, ?, ?)", key.tenantId, key.serviceCallId, sealedRequest)
    this.#writeAround(change)
    return undefined
  }

  find({ tenantId, serviceCallId }: CallKey): CallRecord | undefined {
    const row = this.#get<{ record: string }>(
      `SELECT record FROM calls WHERE ${ofCall}`,
      tenantId,
      serviceCallId,
    )
    return row === undefined ? undefined : recordOf(row.record)
  }

  detail(key: CallKey): StoredDetail | undefined {
    const of = [key.tenantId, key.serviceCallId]
    const record = this.find(key)
    const request = this.#get<{ sealed: Uint8Array }>(`SELECT sealed FROM requests WHERE ${ofCall}`, ...of)
    if (record === undefined || request === undefined) return undefined
    const answer = this.#get<{ body: string }>(`SELECT body FROM answers WHERE ${ofCall}`, ...of)
    const entries = this.#all<{ entry: string }>(
      `SELECT entry FROM timeline WHERE ${ofCall} ORDER BY version LIMIT ${mostEntries}`,
      ...of,
    )
    return {
      record: answer === undefined ? record : recordWithBody(record, answer.body),
      sealedRequest: request.sealed,
      timeline: entries.map(({ entry }) => entryOf(entry)),
      settings: this.settingsOf(key.tenantId),
    }
  }

  commit({
    expectedVersion,
    change,
  }: {
    readonly expectedVersion: number
    readonly change: CallChange
  }): boolean {
    const { tenantId, serviceCallId } = change.record.call
    const { changes } = this.#run(
      `UPDATE calls SET ${callColumns.map((name) => `${name} = ?`).join(", ")} WHERE ${ofCall} AND version = ?`,
      ...this.#valuesOf(change.record),
      tenantId,
      serviceCallId,
      expectedVersion,
    )
    if (changes === 0) return false
    this.#writeAround(change)
    return true
  }

  list({ tenantId, asked }: { readonly tenantId: string; readonly asked: ListAsked }): ListedCalls {
    const lanes = asked.states.map((state) => {
      const { sql, values } = laneQuery(sqliteDialect, tenantId, state, asked)
      return this.#all<LaneRow>(sql, ...values)
    })
    return mergeLanes(lanes, asked)
  }

  counts({
    tenantId,
    filter,
  }: {
    readonly tenantId: string
    readonly filter: RowFilter
  }): Record<CallState, StateCount> {
    const counted = callStates.map((state): [CallState, StateCount] => {
      const { sql, values } = countQuery(sqliteDialect, tenantId, state, filter)
      const { scanned = 0, matching = 0 } =
        this.#get<{ scanned: number; matching: number }>(sql, ...values) ?? {}
      return [state, { count: matching, isCapped: scanned > scannedAtMost }]
    })
    return Object.fromEntries(counted) as Record<CallState, StateCount>
  }

  changesAfter(asked: {
    readonly tenantId: string
    readonly exclusiveAfter: number
    readonly limit: number
  }): ReadonlyArray<CallRecord> {
    const { tenantId, exclusiveAfter, limit } = asked
    const last = this.#get<{ updated_at: number }>(
      "SELECT updated_at FROM calls WHERE tenant_id = ? AND updated_at > ? ORDER BY updated_at LIMIT 1 OFFSET ?",
      tenantId,
      exclusiveAfter,
      limit - 1,
    )
    return this.#all<{ record: string }>(
      `SELECT record FROM calls WHERE tenant_id = ? AND updated_at > ? AND updated_at <= ?
       ORDER BY updated_at, service_call_id LIMIT ?`,
      tenantId,
      exclusiveAfter,
      last?.updated_at ?? Number.MAX_SAFE_INTEGER,
      limit + mostInOneMillisecond,
    ).map(({ record }) => recordOf(record))
  }

  outboxHeads({ nowMs, exclusiveAfterTenant, tenants, callsPerTenant }: HeadsAsked): OutboxHeads {
    const heads: Array<CallKey> = []
    let tenantId = exclusiveAfterTenant
    for (let visited = 0; visited < tenants; visited++) {
      const next = this.#get<{ tenant_id: string }>(
        "SELECT tenant_id FROM outbox WHERE tenant_id > ? ORDER BY tenant_id LIMIT 1",
        tenantId,
      )
      if (next === undefined) return { keys: heads }
      tenantId = next.tenant_id
      const rows = this.#all<{ service_call_id: string }>(
        `SELECT DISTINCT service_call_id FROM (
           SELECT service_call_id FROM outbox WHERE tenant_id = ? AND ready_at <= ? ORDER BY ready_at LIMIT ?)`,
        tenantId,
        nowMs,
        callsPerTenant,
      )
      for (const { service_call_id } of rows) heads.push({ tenantId, serviceCallId: service_call_id })
    }
    return { keys: heads, lastTenant: tenantId }
  }

  outboxOf({ key, limit }: { readonly key: CallKey; readonly limit: number }): ReadonlyArray<OutboxRow> {
    return this.#all<{ lane: number; position: number; tries: number; message: string }>(
      `SELECT lane, position, tries, message FROM outbox WHERE ${ofCall} ORDER BY lane, position LIMIT ?`,
      key.tenantId,
      key.serviceCallId,
      limit,
    ).map((row) => ({ ...row, message: storedMessageOf(row.message) }))
  }

  removeMessages({ key, rows }: { readonly key: CallKey; readonly rows: ReadonlyArray<OutboxRow> }): void {
    for (const { lane, position } of rows) {
      this.#run(
        `DELETE FROM outbox WHERE ${ofCall} AND lane = ? AND position = ?`,
        key.tenantId,
        key.serviceCallId,
        lane,
        position,
      )
    }
  }

  deferMessages({ key, readyAt }: { readonly key: CallKey; readonly readyAt: number }): void {
    this.#run(
      `UPDATE outbox SET ready_at = ?, tries = tries + 1 WHERE ${ofCall}`,
      readyAt,
      key.tenantId,
      key.serviceCallId,
    )
  }

  claimAttempt(attempt: NewAttempt): StoredAttempt {
    const { tenantId, attemptId, serviceCallId, owner, timeoutMs, claimedAt } = attempt
    this.#run(
      `INSERT INTO attempts (tenant_id, attempt_id, service_call_id, state, owner, timeout_ms, claimed_at)
       VALUES (?, ?, ?, 'claimed', ?, ?, ?) ON CONFLICT DO NOTHING`,
      tenantId,
      attemptId,
      serviceCallId,
      owner,
      timeoutMs,
      claimedAt,
    )
    return this.attemptOf(attempt) ?? { ...attempt, state: "claimed" }
  }

  attemptOf({ tenantId, attemptId }: AttemptKey): StoredAttempt | undefined {
    const row = this.#get<AttemptRow>(
      "SELECT * FROM attempts WHERE tenant_id = ? AND attempt_id = ?",
      tenantId,
      attemptId,
    )
    return row === undefined ? undefined : attemptOfRow(row)
  }

  beginAttempt(asked: {
    readonly key: AttemptKey
    readonly owner: string
    readonly startedAt: number
    readonly message: OutboxMessage
  }): boolean {
    const { key, owner, startedAt, message } = asked
    const row = this.#get<{ service_call_id: string }>(
      `UPDATE attempts SET state = 'calling', owner = ?, started_at = ?
       WHERE tenant_id = ? AND attempt_id = ? AND state = 'claimed' AND EXISTS (
         SELECT 1 FROM calls WHERE calls.tenant_id = attempts.tenant_id
           AND calls.service_call_id = attempts.service_call_id
           AND calls.state = 'Running' AND calls.attempt_id = attempts.attempt_id)
       RETURNING service_call_id`,
      owner,
      startedAt,
      key.tenantId,
      key.attemptId,
    )
    if (row === undefined) return false
    this.#putMessage(key.tenantId, row.service_call_id, attemptMessageRow("started", message))
    return true
  }

  endAttempt(asked: {
    readonly key: AttemptKey
    readonly outcome: AttemptOutcome
    readonly message: OutboxMessage
  }): boolean {
    const { key, outcome, message } = asked
    const row = this.#get<{ service_call_id: string }>(
      `UPDATE attempts SET state = 'ended', ended = ? WHERE tenant_id = ? AND attempt_id = ? AND state = 'calling'
       RETURNING service_call_id`,
      JSON.stringify({ outcome, messageId: message.id }),
      key.tenantId,
      key.attemptId,
    )
    if (row === undefined) return false
    this.#putMessage(key.tenantId, row.service_call_id, attemptMessageRow("ended", message))
    return true
  }

  resendOutcome({ key, message }: { readonly key: AttemptKey; readonly message: OutboxMessage }): void {
    const attempt = this.attemptOf(key)
    if (attempt?.state !== "ended") return
    this.#putMessage(key.tenantId, attempt.serviceCallId, attemptMessageRow("ended", message))
  }

  waitingAttempts({
    claimed,
    limit,
  }: {
    readonly claimed: ClaimedSpan
    readonly limit: number
  }): ReadonlyArray<StoredAttempt> {
    return this.#all<AttemptRow>(
      "SELECT * FROM attempts WHERE state = 'claimed' AND claimed_at >= ? AND claimed_at < ? ORDER BY claimed_at LIMIT ?",
      claimed.fromMs,
      claimed.exclusiveBeforeMs,
      limit,
    ).map(attemptOfRow)
  }

  callingAttempts({
    owner,
    limit,
  }: {
    readonly owner: string
    readonly limit: number
  }): ReadonlyArray<StoredAttempt> {
    return this.#all<AttemptRow>(
      "SELECT * FROM attempts WHERE state = 'calling' AND owner = ? LIMIT ?",
      owner,
      limit,
    ).map(attemptOfRow)
  }

  openCalls({ nowMs, limit }: { readonly nowMs: number; readonly limit: number }): ReadonlyArray<CallRecord> {
    return this.#all<{ record: string }>(
      "SELECT record FROM calls WHERE check_at IS NOT NULL AND check_at <= ? ORDER BY check_at LIMIT ?",
      nowMs,
      limit,
    ).map(({ record }) => recordOf(record))
  }

  prune({ exclusiveBefore, limit }: { readonly exclusiveBefore: number; readonly limit: number }): number {
    const ended = this.#all<{ tenant_id: string; service_call_id: string }>(
      `SELECT tenant_id, service_call_id FROM calls
       WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?`,
      exclusiveBefore,
      limit,
    )
    for (const { tenant_id, service_call_id } of ended) {
      for (const table of ["calls", "requests", "answers", "timeline", "outbox", "attempts"]) {
        this.#run(`DELETE FROM ${table} WHERE ${ofCall}`, tenant_id, service_call_id)
      }
    }
    return ended.length
  }

  settingsOf(tenantId: string): TenantSettings {
    const sql = "SELECT settings FROM tenant_settings WHERE tenant_id = ?"
    return settingsOfText(this.#get<{ settings: string }>(sql, tenantId)?.settings)
  }

  putSettings(asked: { readonly tenantId: string; readonly settings: TenantSettings }): void {
    const sql = "INSERT OR REPLACE INTO tenant_settings VALUES (?, ?)"
    this.#run(sql, asked.tenantId, settingsTextOf(asked.settings))
  }

  tenants(asked: TenantRange & { readonly limit: number }): ReadonlyArray<string> {
    const { inclusiveFrom, exclusiveUntil, limit } = asked
    const sql = tenantsQuery("?1", "?2", "?3")
    return this.#all<{ id: string }>(sql, inclusiveFrom, exclusiveUntil, limit).map(({ id }) => id)
  }

  openCount({ tenantId, limit }: { readonly tenantId: string; readonly limit: number }): number {
    return this.#get<{ open: number }>(openCountQuery("?", "?"), tenantId, limit)?.open ?? 0
  }

  #valuesOf(record: CallRecord): ReadonlyArray<SQLQueryBindings> {
    const row = callRowOf(record)
    return callColumns.map((name) => row[name])
  }

  /** The rows around a call that has just been written. */
  #writeAround(change: CallChange): void {
    const { tenantId, serviceCallId } = change.record.call
    for (const { version, entry } of timelineRowsOf(change)) {
      this.#run("INSERT INTO timeline VALUES (?, ?, ?, ?)", tenantId, serviceCallId, version, entry)
    }
    const body = answerBodyOf(change.record)
    if (body !== undefined) {
      this.#run("INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", tenantId, serviceCallId, body)
    }
    for (const row of messageRowsOf(change)) this.#putMessage(tenantId, serviceCallId, row)
  }

  #putMessage(tenantId: string, serviceCallId: string, row: MessageRow): void {
    this.#run(
      `INSERT INTO outbox (tenant_id, service_call_id, lane, position, ready_at, message)
       VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`,
      tenantId,
      serviceCallId,
      row.lane,
      row.position,
      row.ready_at,
      row.message,
    )
  }

  #run(sql: string, ...values: ReadonlyArray<SQLQueryBindings>): { readonly changes: number } {
    return this.#statement(sql).run(...values)
  }

  #get<Row>(sql: string, ...values: ReadonlyArray<SQLQueryBindings>): Row | undefined {
    return (this.#statement(sql).get(...values) as Row | null) ?? undefined
  }

  #all<Row>(sql: string, ...values: ReadonlyArray<SQLQueryBindings>): ReadonlyArray<Row> {
    return this.#statement(sql).all(...values) as Array<Row>
  }

  /** The texts of lists differ by their filters, so their number is bounded by the number of filters. */
  #statement(sql: string): Statement {
    const prepared = this.#prepared.get(sql) ?? this.#database.prepare(sql)
    this.#prepared.set(sql, prepared)
    return prepared
  }
}

/** More than a call can have: its due times are bounded. */
const mostEntries = 500
/** Changes of one millisecond are not separated, up to this number. */
const mostInOneMillisecond = 1_000
