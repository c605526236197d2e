// What users do with service calls, over the store. Orchestration's own transition decides about cancels and new due
// times, in one transaction with the messages that follow from them.
import { Clock, Effect, Layer } from "effect"
import { ChangeDraft } from "../domain/CallChange.ts"
import type { CallRecord } from "../domain/CallRecord.ts"
import { whyNotCallId, whyNotDueAt, whyNotName, whyNotRequest, whyNotTags } from "../domain/callRules.ts"
import { callIdOfKey, requestHashOf } from "../domain/newCall.ts"
import { redactCall, redactedHeaders, redactRequest } from "../domain/redaction.ts"
import {
  type CallState,
  callStates,
  type RequestSpec,
  type ResponseMeta,
  type ServiceCall,
} from "../domain/ServiceCall.ts"
import type { CallMessage } from "../domain/transition.ts"
import { CallSignals } from "../orchestration/CallSignals.ts"
import { type Applied, type CallContended, CallWriter } from "../orchestration/CallWriter.ts"
import { AgentIds } from "../ports/AgentIds.ts"
import { CallStore, type CallStoreError, type ListPlace, type StoredDetail } from "../ports/CallStore.ts"
import { ServiceCaller } from "../ports/ServiceCaller.ts"
import { OpenCallQuota } from "./OpenCallQuota.ts"
import { RequestSeal } from "./RequestSeal.ts"
import {
  type CallAnnotation,
  CallConflict,
  CallNotFound,
  type CallQuery,
  CallRefused,
  type NewServiceCall,
  ServiceCalls,
  StoreUnavailable,
} from "./ServiceCalls.ts"

export interface LiveServiceCallsOptions {
  /** How many open calls a tenant may have. */
  readonly openCallsMax: number
}

export const liveServiceCalls = ({
  openCallsMax,
}: LiveServiceCallsOptions): Layer.Layer<
  ServiceCalls,
  never,
  CallStore | CallSignals | CallWriter | RequestSeal | ServiceCaller
> =>
  Layer.effect(
    ServiceCalls,
    Effect.gen(function* () {
      const store = yield* CallStore
      const signals = yield* CallSignals
      const writer = yield* CallWriter
      const seal = yield* RequestSeal
      const caller = yield* ServiceCaller
      const ids = yield* AgentIds
      const quota = new OpenCallQuota({ callsMax: openCallsMax, count: store.openCount })

      const submit = Effect.fn("ServiceCalls.submit")(function* (asked: NewServiceCall) {
        const nowMs = yield* Clock.currentTimeMillis
        const { idempotencyKey, serviceCallId, correlationId, ...rest } = asked
        const id =
          serviceCallId ??
          (idempotencyKey === undefined ? ids.uuidAt(nowMs) : callIdOfKey(asked.tenantId, idempotencyKey))
        const why =
          whyNotRequest(asked.request) ??
          whyNotName(asked.name) ??
          whyNotTags(asked.tags) ??
          whyNotCallId(id) ??
          (asked.dueAt === undefined ? undefined : whyNotDueAt(asked.dueAt, nowMs))
        if (why !== undefined) return yield* new CallRefused({ message: why, code: "invalidRequest" })
        const refused = caller.whyRefused(asked.request.url)
        if (refused !== undefined) return yield* new CallRefused({ message: refused, code: "egressRefused" })
        const key = { tenantId: asked.tenantId, serviceCallId: id }
        // A repeat adds no call, so it is answered in any case.
        const isAllowed =
          (yield* stored(quota.admit(asked.tenantId))) || (yield* stored(store.find(key))) !== undefined
        if (!isAllowed) return yield* quotaExceeded(openCallsMax)
        const given = { serviceCallId: id, correlationId: correlationId ?? ids.uuidAt(nowMs) }
        const { record, isNew } = yield* stored(writer.submit(rest, given))
        if (!isNew && record.requestHash !== requestHashOf(rest)) {
          const message = `The call ${JSON.stringify(id)} exists with another request. Use another id or key.`
          return yield* new CallConflict({ message, code: "callExists" })
        }
        return { call: shown(record), isNew }
      })

      const detailOf = Effect.fnUntraced(function* (tenantId: string, serviceCallId: string) {
        const key = { tenantId, serviceCallId }
        const detail = yield* stored(store.detail(key))
        if (detail === undefined) return yield* notFound(serviceCallId)
        const request = seal.open(key, detail.sealedRequest)
        if (request === undefined) {
          const message = "The stored request cannot be opened with the agent's key."
          return yield* new StoreUnavailable({ message })
        }
        return { detail, request } satisfies { detail: StoredDetail; request: RequestSpec }
      })

      const apply = (tenantId: string, serviceCallId: string, message: CallMessage) =>
        Effect.flatMap(stored(writer.apply({ tenantId, serviceCallId }, message)), (applied) =>
          answerOf(applied, serviceCallId),
        ).pipe(Effect.map(shown))

      return ServiceCalls.of({
        submit,
        find: Effect.fn("ServiceCalls.find")(function* (tenantId, serviceCallId) {
          const record = yield* stored(store.find({ tenantId, serviceCallId }))
          return record === undefined ? yield* notFound(serviceCallId) : shown(record)
        }),
        get: Effect.fn("ServiceCalls.get")(function* (tenantId, serviceCallId) {
          const { detail, request } = yield* detailOf(tenantId, serviceCallId)
          const hidden = redactedHeaders(detail.settings.hiddenHeaders)
          return {
            call: redactCall(detail.record.call, hidden),
            request: redactRequest(request, hidden),
            timeline: detail.timeline,
          }
        }),
        list: Effect.fn("ServiceCalls.list")(function* (tenantId, query) {
          const { cursor, states = callStates, ...rest } = query
          const after = cursor === undefined ? undefined : placeIn(cursor, query)
          if (cursor !== undefined && after === undefined) {
            const message = "must be the nextCursor of an earlier answer to the same request"
            return yield* new CallRefused({ message, code: "invalidRequest", field: "cursor" })
          }
          const asked = { ...rest, states, ...(after === undefined ? {} : { after }) }
          const { records, next } = yield* stored(store.list(tenantId, asked))
          return {
            calls: records.map(shown),
            ...(next === undefined ? {} : { nextCursor: cursorOf(next, query) }),
          }
        }),
        counts: Effect.fn("ServiceCalls.counts")(function* (tenantId, { states, ...filter }) {
          const counted = yield* stored(store.counts(tenantId, filter))
          const isWanted = (state: CallState) => states === undefined || states.includes(state)
          const entries = callStates.map((state) => [state, isWanted(state) ? counted[state].count : 0])
          return {
            counts: Object.fromEntries(entries) as Record<CallState, number>,
            isCapped: callStates.some((state) => isWanted(state) && counted[state].isCapped),
          }
        }),
        cancel: (tenantId, serviceCallId) => apply(tenantId, serviceCallId, { kind: "cancel" }),
        reschedule: Effect.fn("ServiceCalls.reschedule")(function* (tenantId, serviceCallId, dueAt) {
          const why = whyNotDueAt(dueAt, yield* Clock.currentTimeMillis)
          if (why !== undefined) return yield* new CallRefused({ message: why, code: "invalidRequest" })
          return yield* apply(tenantId, serviceCallId, { kind: "reschedule", dueAt })
        }),
        runAgain: Effect.fn("ServiceCalls.runAgain")(function* (tenantId, serviceCallId, changes) {
          const { detail, request } = yield* detailOf(tenantId, serviceCallId)
          const { name, tags } = detail.record.call
          return yield* submit({ tenantId, name, tags, request, ...changes })
        }),
        annotate: Effect.fn("ServiceCalls.annotate")(function* (tenantId, serviceCallId, changes) {
          const why =
            (changes.name === undefined ? undefined : whyNotName(changes.name)) ??
            (changes.tags === undefined ? undefined : whyNotTags(changes.tags))
          if (why !== undefined) return yield* new CallRefused({ message: why, code: "invalidRequest" })
          const applied = yield* stored(
            writer.decide({ tenantId, serviceCallId }, (record, terms) =>
              annotated(record, changes, terms.nowMs),
            ),
          )
          if (applied.kind === "missing") return yield* notFound(serviceCallId)
          return shown(applied.record)
        }),
        settings: (tenantId) => stored(store.settingsOf(tenantId)),
        putSettings: (tenantId, settings) => stored(store.putSettings(tenantId, settings)),
        tenants: (range, limit) => stored(store.tenants(range, limit)),
        changesAfter: (tenantId, exclusiveAfter, limit) =>
          Effect.map(stored(store.changesAfter(tenantId, exclusiveAfter, limit)), (records) =>
            records.map((record) => ({ at: record.updatedAt, call: shown(record) })),
          ),
        watch: (tenantId, listener) =>
          signals.watch(tenantId, (record) => listener({ at: record.updatedAt, call: shown(record) })),
      })
    }),
  )

/** Users see nothing of the store but that it did not answer. */
const stored = <A>(
  work: Effect.Effect<A, CallStoreError | CallContended>,
): Effect.Effect<A, StoreUnavailable> =>
  Effect.mapError(work, ({ message }) => new StoreUnavailable({ message }))

const quotaExceeded = (callsMax: number) =>
  new CallRefused({
    message: `The tenant has ${callsMax} open calls, and may have no more (AGENT_MAX_OPEN_PER_TENANT). Nothing was written: retry when some have ended, or cancel some.`,
    code: "quotaExceeded",
  })

const notFound = (serviceCallId: string) =>
  new CallNotFound({ message: `There is no call ${JSON.stringify(serviceCallId)} in this tenant.` })

const answerOf = (
  applied: Applied,
  serviceCallId: string,
): Effect.Effect<CallRecord, CallNotFound | CallConflict> => {
  if (applied.kind === "missing") return Effect.fail(notFound(serviceCallId))
  if (applied.kind === "conflict") {
    return Effect.fail(new CallConflict({ message: applied.message, code: "callState" }))
  }
  return Effect.succeed(applied.record)
}

/** Name, tags and star are not part of the call's life, so the timeline does not show their changes. */
const annotated = (record: CallRecord, changes: CallAnnotation, nowMs: number) => {
  const { call } = record
  const { name = call.name, tags = call.tags, isStarred = call.isStarred } = changes
  const isSame =
    name === call.name && isStarred === call.isStarred && JSON.stringify(tags) === JSON.stringify(call.tags)
  if (isSame) return { kind: "ignored", reason: "nothing changes" } as const
  const edited = { ...record, updatedAt: nowMs, call: { ...call, name, tags, isStarred } }
  const noMessages = { nowMs, newId: () => "" }
  return { kind: "changed", change: new ChangeDraft(edited, noMessages).nextVersion().change } as const
}

/** Lists and events have neither headers nor bodies of answers, so they need no list of hidden headers. */
const shown = ({ call }: CallRecord): ServiceCall => ({
  ...call,
  ...(call.response === undefined ? {} : { response: withoutContents(call.response) }),
  ...(call.error?.response === undefined
    ? {}
    : { error: { ...call.error, response: withoutContents(call.error.response) } }),
})

const withoutContents = (response: ResponseMeta): ResponseMeta => ({
  ...response,
  headers: {},
  bodySnippet: "",
})

type Sorting = Pick<CallQuery, "order" | "isAscending">

const cursorOf = ({ at, serviceCallId }: ListPlace, { order, isAscending }: Sorting): string =>
  Buffer.from(JSON.stringify([order, isAscending, at, serviceCallId])).toString("base64url")

/** `undefined` if the text is not a cursor of a list with this order. */
const placeIn = (cursor: string, { order, isAscending }: Sorting): ListPlace | undefined => {
  try {
    const [ofOrder, ofDirection, at, serviceCallId] = JSON.parse(Buffer.from(cursor, "base64url").toString())
    const isValid = Number.isSafeInteger(at) && typeof serviceCallId === "string"
    return isValid && ofOrder === order && ofDirection === isAscending ? { at, serviceCallId } : undefined
  } catch {
    return undefined
  }
}
