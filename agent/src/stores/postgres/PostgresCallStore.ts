// Service calls in a schema of a PostgreSQL database, which several processes of the agent share.
//
// A process holds a call's messages by an advisory lock, not by a lock of a row: on the local bus the publisher waits for
// a handler that changes the call, and a locked row would block this handler. All locks of a process are on one
// connection of their own. If it breaks, the locks are gone, and another process may publish the same messages again;
// they are published at least once in any case. A connection pooler that gives a session to several clients cannot be
// used.
import { Effect, Layer, Semaphore } from "effect"
import type { CallChange } from "../../domain/CallChange.ts"
import { type CallKey, type CallState, callStates } from "../../domain/ServiceCall.ts"
import {
  CallStore,
  CallStoreError,
  type OutboxHeads,
  type StateCount,
  type StoredAttempt,
} from "../../ports/CallStore.ts"
import { type AttemptRow, attemptOfRow } from "../AttemptRow.ts"
import {
  answerBodyOf,
  attemptMessageRow,
  callColumns,
  callRowOf,
  entryOf,
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
import { settingsOfText, settingsTextOf } from "../settingsRow.ts"
import { callStatements } from "./callStatements.ts"
import { type CallConnections, openCalls } from "./openCalls.ts"

const postgresDialect: SqlDialect = {
  parameter: (n, type) => `$${n}::${type === "text" ? "text" : "bigint"}`,
  hasTag: (parameter) => `tags::jsonb ? ${parameter}`,
  hasInName: (parameter) => `strpos(name_folded, ${parameter}) > 0`,
}

/** The first half of every lock of the agent, so that it meets no lock of another program. */
const lockSpace = 0x50416774

export interface PostgresCallStoreOptions {
  /** `postgres://user@host/database?schema=agent&sslmode=verify-full` */
  readonly url: string
  readonly connections?: number
}

export const PostgresCallStore = {
  layer: ({ url, connections = 8 }: PostgresCallStoreOptions): Layer.Layer<CallStore, CallStoreError> =>
    Layer.effect(
      CallStore,
      Effect.acquireRelease(
        Effect.tryPromise({
          try: () => openCalls(url, connections),
          catch: openFailureOf,
        }),
        (open) => Effect.promise(() => open.close()),
      ).pipe(Effect.map(storeOn)),
    ),
}

type Value = string | number | null | Uint8Array

const storeOn = (open: CallConnections): CallStore["Service"] => {
  const ask = <Row>(
    sql: string,
    values: ReadonlyArray<Value>,
  ): Effect.Effect<ReadonlyArray<Row>, CallStoreError> =>
    Effect.tryPromise({ try: () => open.ask<Row>(sql, values), catch: failureOf })
  const written = (sql: string, values: ReadonlyArray<Value>) =>
    Effect.map(ask<{ written: number }>(sql, values), ([row]) => (row?.written ?? 0) > 0)
  const find = ({ tenantId, serviceCallId }: CallKey) =>
    Effect.map(ask<{ record: string }>(callStatements.find, [tenantId, serviceCallId]), ([row]) =>
      row === undefined ? undefined : recordOf(row.record),
    )
  const attempts = (sql: string, values: ReadonlyArray<Value>) =>
    Effect.map(ask<AttemptRow>(sql, values), (rows) => rows.map(attemptOfRow))
  const attemptOf = ({ tenantId, attemptId }: Pick<StoredAttempt, "tenantId" | "attemptId">) =>
    Effect.map(attempts(callStatements.attemptOf, [tenantId, attemptId]), ([found]) => found)
  return {
    find,
    attemptOf,
    submit: (change, sealedRequest) =>
      Effect.flatMap(written(callStatements.submit, [...changeValues(change), sealedRequest]), (isNew) =>
        isNew ? Effect.undefined : find(change.record.call),
      ),
    commit: (expectedVersion, change) =>
      written(callStatements.commit, [...changeValues(change), expectedVersion]),
    detail: ({ tenantId, serviceCallId }) =>
      Effect.map(ask<DetailRow>(callStatements.detail, [tenantId, serviceCallId]), ([row]) =>
        row === undefined ? undefined : detailOf(row),
      ),
    list: (tenantId, asked) =>
      Effect.map(
        Effect.forEach(
          asked.states,
          (state) => {
            const { sql, values } = laneQuery(postgresDialect, tenantId, state, asked)
            return Effect.map(ask<LaneRow>(sql, values), (rows) =>
              rows.map((row) => ({ ...row, at: Number(row.at) })),
            )
          },
          { concurrency: lanesAtOnce },
        ),
        (lanes) => mergeLanes(lanes, asked),
      ),
    counts: (tenantId, filter) =>
      Effect.map(
        Effect.forEach(
          callStates,
          (state) => {
            const { sql, values } = countQuery(postgresDialect, tenantId, state, filter)
            return Effect.map(
              ask<{ scanned: string; matching: string }>(sql, values),
              ([row]): [CallState, StateCount] => [
                state,
                { count: Number(row?.matching), isCapped: Number(row?.scanned) > scannedAtMost },
              ],
            )
          },
          { concurrency: lanesAtOnce },
        ),
        (counted) => Object.fromEntries(counted) as Record<CallState, StateCount>,
      ),
    changesAfter: (tenantId, exclusiveAfter, limit) =>
      Effect.map(
        ask<{ record: string }>(callStatements.changesAfter, [tenantId, exclusiveAfter, limit]),
        (rows) => rows.map(({ record }) => recordOf(record)),
      ),
    outboxHeads: ({ nowMs, exclusiveAfterTenant, tenants, callsPerTenant }) =>
      Effect.map(
        ask<HeadRow>(callStatements.outboxHeads, [exclusiveAfterTenant, tenants, nowMs, callsPerTenant]),
        (rows) => headsOf(rows, tenants),
      ),
    hold: holdBy(open),
    outboxOf: ({ tenantId, serviceCallId }, limit) =>
      Effect.map(
        ask<{ lane: number; position: number; tries: number; message: string }>(callStatements.outboxOf, [
          tenantId,
          serviceCallId,
          limit,
        ]),
        (rows) => rows.map((row) => ({ ...row, message: storedMessageOf(row.message) })),
      ),
    removeMessages: ({ tenantId, serviceCallId }, rows) => {
      const places = JSON.stringify(rows.map(({ lane, position }) => ({ lane, position })))
      return Effect.asVoid(ask(callStatements.removeMessages, [tenantId, serviceCallId, places]))
    },
    deferMessages: ({ tenantId, serviceCallId }, readyAt) =>
      Effect.asVoid(ask(callStatements.deferMessages, [tenantId, serviceCallId, readyAt])),
    claimAttempt: (attempt) => {
      const { tenantId, attemptId, serviceCallId, owner, timeoutMs, claimedAt } = attempt
      const values = [tenantId, attemptId, serviceCallId, owner, timeoutMs, claimedAt]
      return Effect.andThen(ask(callStatements.claimAttempt, values), attemptOf(attempt)).pipe(
        Effect.map((found): StoredAttempt => found ?? { ...attempt, state: "claimed" }),
      )
    },
    beginAttempt: ({ tenantId, attemptId }, { owner, startedAt, message }) => {
      const row = attemptMessageRow("started", message)
      const values = [
        tenantId,
        attemptId,
        owner,
        startedAt,
        row.lane,
        row.position,
        row.ready_at,
        row.message,
      ]
      return written(callStatements.beginAttempt, values)
    },
    endAttempt: ({ tenantId, attemptId }, { outcome, message }) => {
      const row = attemptMessageRow("ended", message)
      const ended = JSON.stringify({ outcome, messageId: message.id })
      const values = [tenantId, attemptId, ended, row.lane, row.position, row.ready_at, row.message]
      return written(callStatements.endAttempt, values)
    },
    resendOutcome: ({ tenantId, attemptId }, message) => {
      const row = attemptMessageRow("ended", message)
      const values = [tenantId, attemptId, row.lane, row.position, row.ready_at, row.message]
      return Effect.asVoid(ask(callStatements.resendOutcome, values))
    },
    waitingAttempts: ({ fromMs, exclusiveBeforeMs }, limit) =>
      attempts(callStatements.waitingAttempts, [fromMs, exclusiveBeforeMs, limit]),
    callingAttempts: (owner, limit) => attempts(callStatements.callingAttempts, [owner, limit]),
    openCalls: (nowMs, limit) =>
      Effect.map(ask<{ record: string }>(callStatements.openCalls, [nowMs, limit]), (rows) =>
        rows.map(({ record }) => recordOf(record)),
      ),
    prune: (exclusiveBefore, limit) =>
      Effect.map(
        ask<{ written: number }>(callStatements.prune, [exclusiveBefore, limit]),
        ([row]) => row?.written ?? 0,
      ),
    settingsOf: (tenantId) =>
      Effect.map(ask<{ settings: string }>(callStatements.settingsOf, [tenantId]), ([row]) =>
        settingsOfText(row?.settings),
      ),
    putSettings: (tenantId, settings) =>
      Effect.asVoid(ask(callStatements.putSettings, [tenantId, settingsTextOf(settings)])),
    tenants: ({ inclusiveFrom, exclusiveUntil }, limit) =>
      Effect.map(
        ask<{ id: string }>(callStatements.tenants, [inclusiveFrom, exclusiveUntil, limit]),
        (rows) => rows.map(({ id }) => id),
      ),
    openCount: (tenantId, limit) =>
      Effect.map(ask<{ open: string }>(callStatements.openCount, [tenantId, limit]), ([row]) =>
        Number(row?.open ?? 0),
      ),
  }
}

/** The queries of a list share the connections with everything else. */
const lanesAtOnce = 3

/**
 * A session can take the same lock twice, so a process must not ask for a call that it holds. The dispatcher never does,
 * and a set makes sure of it.
 */
const holdBy = (open: CallConnections): CallStore["Service"]["hold"] => {
  const held = new Set<string>()
  const one = Semaphore.makeUnsafe(1)
  const ask = (sql: string, name: string) =>
    one.withPermits(1)(
      Effect.tryPromise({
        try: () => open.askLocks<{ is_held?: boolean }>(sql, [lockSpace, name]),
        catch: failureOf,
      }),
    )
  return ({ tenantId, serviceCallId }) => {
    const name = `${tenantId}/${serviceCallId}`
    const acquire = Effect.suspend(() => {
      if (held.has(name)) return Effect.succeed(false)
      held.add(name)
      return ask(callStatements.lock, name).pipe(
        Effect.map(([row]) => row?.is_held === true),
        Effect.tap((isHeld) => Effect.sync(() => isHeld || held.delete(name))),
        Effect.tapError(() => Effect.sync(() => held.delete(name))),
      )
    })
    return Effect.acquireRelease(acquire, (isHeld) =>
      isHeld
        ? Effect.ignore(ask(callStatements.unlock, name)).pipe(
            Effect.andThen(Effect.sync(() => held.delete(name))),
          )
        : Effect.void,
    )
  }
}

/** $1 to $19 of a submission and a commit. */
const changeValues = (change: CallChange): ReadonlyArray<Value> => {
  const row = callRowOf(change.record)
  const body = answerBodyOf(change.record)
  return [
    ...callColumns.map((name) => row[name]),
    JSON.stringify(timelineRowsOf(change)),
    JSON.stringify(messageRowsOf(change)),
    body === undefined ? null : Buffer.from(body),
  ]
}

/** A tenant without ready messages has one row without a call. */
interface HeadRow {
  readonly tenant_id: string
  readonly service_call_id: string | null
}

const headsOf = (rows: ReadonlyArray<HeadRow>, tenants: number): OutboxHeads => {
  const keys = rows.flatMap(({ tenant_id: tenantId, service_call_id: serviceCallId }) =>
    serviceCallId === null ? [] : [{ tenantId, serviceCallId }],
  )
  const visited = new Set(rows.map(({ tenant_id }) => tenant_id))
  const lastTenant = rows.at(-1)?.tenant_id
  return visited.size < tenants || lastTenant === undefined ? { keys } : { keys, lastTenant }
}

interface DetailRow {
  readonly record: string
  readonly sealed: Uint8Array
  readonly body: Uint8Array | null
  readonly entries: string
  readonly settings: string | null
}

const detailOf = ({ record, sealed, body, entries, settings }: DetailRow) => ({
  record: body === null ? recordOf(record) : recordWithBody(recordOf(record), Buffer.from(body).toString()),
  sealedRequest: new Uint8Array(sealed),
  timeline: (JSON.parse(entries) as ReadonlyArray<string>).map(entryOf),
  settings: settingsOfText(settings),
})

const openFailureOf = (error: unknown): CallStoreError =>
  new CallStoreError({ message: error instanceof Error ? error.message : String(error), isFatal: true })

const failureOf = (error: unknown): CallStoreError =>
  new CallStoreError({
    message: `The agent's database did not do it: ${error instanceof Error ? error.message : String(error)}`,
    isFatal: false,
  })
