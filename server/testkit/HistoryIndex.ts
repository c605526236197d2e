// A history sorted by key: the requests for each key, the armings that came from them, and what each arming may carry.
// Rules that judge a run read this index instead of the events.
import type { Answer, Ask, Attempt, History, Key, Reply, StoredLife, StoredPending } from "./History.ts"

export interface Asked {
  readonly request: Ask
  /** The position of the request among the events. The position of a missing answer is infinite. */
  readonly sentAt: number
  readonly answeredAt: number
  readonly answeredAtMs: number
  readonly answer: Answer | undefined
}

export interface Attempted extends Attempt {
  /** The position among the events. */
  readonly at: number
  readonly reply: Reply | undefined
}

/** What an arming may carry. An undefined time is unknown. */
export interface Terms {
  readonly executeAtMs: number | undefined
  readonly payload: Uint8Array | undefined
}

export interface Arming {
  readonly fireId: string
  readonly revision: number
  /** The acknowledged request that made the arming, if there is one. */
  readonly madeBy: Asked | undefined
  /** One entry if the request was acknowledged. Otherwise one for each request that may have made the arming. */
  readonly terms: ReadonlyArray<Terms>
  readonly attempts: ReadonlyArray<Attempted>
  readonly pending: StoredPending | undefined
  readonly finished: StoredLife | undefined
}

export interface KeyHistory {
  readonly key: Key
  readonly asks: ReadonlyArray<Asked>
  /** In the order in which the key was armed: by the discards before them, then by revision. */
  readonly armings: ReadonlyArray<Arming>
  /** Creates and updates that may have armed the key although no client got an answer. */
  readonly unknownArmings: ReadonlyArray<Asked>
  /** Replays that armed a dead letter again, or may have. */
  readonly replays: ReadonlyArray<Asked>
  /** Discards that removed dead letters, or may have. */
  readonly discards: ReadonlyArray<Asked>
  /** How often targets asked to arm the timer again. */
  readonly rearms: number
}

export interface HistoryIndex {
  readonly keys: ReadonlyArray<KeyHistory>
  /** The number of events after which a shard may have another owner. */
  readonly faults: number
}

export const indexHistory = (history: History): HistoryIndex => {
  const keys = new Map<string, Gathered>()
  const gatheredOf = (key: Key): Gathered => {
    const name = nameOf(key)
    const existing = keys.get(name)
    if (existing !== undefined) return existing
    const gathered: Gathered = { key, asks: [], attempts: [], pending: [], finished: [] }
    keys.set(name, gathered)
    return gathered
  }
  const answers = new Map<number, { readonly at: number; readonly atMs: number; readonly answer: Answer }>()
  const replies = new Map<number, Reply>()
  let faults = 0
  history.events.forEach((event, at) => {
    if (event.kind === "answered") answers.set(event.ask, { at, atMs: event.atMs, answer: event.answer })
    if (event.kind === "replied") replies.set(event.delivery, event.reply)
    if (event.kind === "killed" || event.kind === "stopped" || event.kind === "ownershipMoved") faults++
  })
  history.events.forEach((event, at) => {
    if (event.kind === "asked") {
      const answered = answers.get(event.ask)
      gatheredOf(event.request.key).asks.push({
        request: event.request,
        sentAt: at,
        answeredAt: answered?.at ?? Number.POSITIVE_INFINITY,
        answeredAtMs: answered?.atMs ?? Number.POSITIVE_INFINITY,
        answer: answered?.answer,
      })
    } else if (event.kind === "attempted") {
      const { attempt, delivery } = event
      gatheredOf(attempt.key).attempts.push({ ...attempt, at, reply: replies.get(delivery) })
    }
  })
  for (const timer of history.final.pending) gatheredOf(timer.key).pending.push(timer)
  for (const life of history.final.finished) gatheredOf(life.key).finished.push(life)
  return { keys: [...keys.values()].map(keyHistory), faults }
}

export const nameOf = ({ namespace, timerId }: Key): string => `${namespace}/${timerId}`

export const sameBytes = (a: Uint8Array | undefined, b: Uint8Array | undefined): boolean =>
  a === undefined || b === undefined ? a === b : Buffer.compare(a, b) === 0

interface Gathered {
  readonly key: Key
  readonly asks: Array<Asked>
  readonly attempts: Array<Attempted>
  readonly pending: Array<StoredPending>
  readonly finished: Array<StoredLife>
}

/** Everything that was seen under one fireId. */
interface Traces {
  revision: number
  madeBy: Asked | undefined
  readonly attempts: Array<Attempted>
  pending: StoredPending | undefined
  finished: StoredLife | undefined
}

const keyHistory = (gathered: Gathered): KeyHistory => {
  const { key, asks, attempts } = gathered
  const unknownArmings = asks.filter(({ request, answer }) => armsAnew(request) && answer === undefined)
  const effective = (op: Ask["op"]) =>
    asks.filter(({ request, answer }) => request.op === op && answer?.result !== "nothingDone")
  const replays = effective("replay")
  const discards = effective("discard")
  const inOrder = [...tracesOf(gathered)].sort(
    ([, a], [, b]) => discardsBefore(a, discards) - discardsBefore(b, discards) || a.revision - b.revision,
  )
  // An unknown create may have stored a timer that was updated or replaced before anyone saw it.
  const unseen = unknownArmings.flatMap(({ request }) => termsOf(request, []))
  const armings: Array<Arming> = []
  for (const [fireId, traces] of inOrder) {
    const seen = distinct([...armings.flatMap(({ terms }) => terms), ...unseen])
    const rearmed = attempts.flatMap(({ reply }) => (reply?.result === "rearmed" ? [reply] : []))
    const replayed = (from: ReadonlyArray<Terms>) => (replays.length === 0 ? [] : atAnotherTime(from))
    // An unknown update may also have changed the timer of a re-arming or a replay before anyone saw it.
    const earlier = changedBy(
      unknownArmings,
      distinct([...seen, ...rearmed.flatMap((reply) => termsAfterRearm(reply, seen)), ...replayed(seen)]),
    )
    const terms =
      traces.madeBy === undefined
        ? [
            ...unknownArmings.flatMap(({ request }) => termsOf(request, earlier)),
            ...rearmed.flatMap((reply) => termsAfterRearm(reply, earlier)),
            ...replayed(earlier),
          ]
        : termsOf(
            traces.madeBy.request,
            // The state before an update is certain if no unknown request may have come in between.
            unknownArmings.length === 0 && rearmed.length === 0 && replays.length === 0
              ? (armings.at(-1)?.terms ?? [])
              : earlier,
          )
    armings.push({ fireId, ...traces, terms: distinct(terms) })
  }
  const rearms = attempts.filter(({ reply }) => reply?.result === "rearmed").length
  return { key, asks, armings, unknownArmings, replays, discards, rearms }
}

/**
 * How many discards had certainly ended when the arming was asked for or first seen. A discard makes the store forget the
 * revision of a dead letter. If the clock was also set back, the next arming may get a revision that the key has had.
 */
const discardsBefore = ({ madeBy, attempts }: Traces, discards: ReadonlyArray<Asked>): number => {
  const seenAt = madeBy?.sentAt ?? attempts[0]?.at ?? Number.POSITIVE_INFINITY
  return discards.filter(({ answeredAt }) => answeredAt < seenAt).length
}

const armsAnew = ({ op }: Ask): boolean => op === "create" || op === "update"

const tracesOf = ({ asks, attempts, pending, finished }: Gathered): Map<string, Traces> => {
  const byFireId = new Map<string, Traces>()
  const tracesFor = (fireId: string, revision: number): Traces => {
    const existing = byFireId.get(fireId)
    if (existing !== undefined) return existing
    const traces: Traces = {
      revision,
      madeBy: undefined,
      attempts: [],
      pending: undefined,
      finished: undefined,
    }
    byFireId.set(fireId, traces)
    return traces
  }
  // Answers come first, because a cancel gives the stored life a later revision than its arming had.
  for (const asked of asks) {
    const { answer } = asked
    if (answer !== undefined && "fireId" in answer) tracesFor(answer.fireId, answer.revision).madeBy = asked
  }
  for (const attempted of attempts) {
    tracesFor(attempted.fireId, attempted.revision).attempts.push(attempted)
  }
  for (const timer of pending) tracesFor(timer.fireId, timer.revision).pending = timer
  for (const life of finished) tracesFor(life.fireId, life.revision).finished = life
  return byFireId
}

const termsOf = (request: Ask, earlier: ReadonlyArray<Terms>): ReadonlyArray<Terms> => {
  if (request.op !== "create" && request.op !== "update") return []
  if (request.op === "create") return [{ executeAtMs: request.executeAtMs, payload: request.payload }]
  const { executeAtMs, payload } = request
  if (executeAtMs !== undefined && payload !== undefined)
    return [{ executeAtMs, payload: payload ?? undefined }]
  return earlier.map((before) => ({
    executeAtMs: executeAtMs ?? before.executeAtMs,
    payload: payload === undefined ? before.payload : (payload ?? undefined),
  }))
}

/** The terms, and what one or several of the requests may have made of them. */
const changedBy = (asks: ReadonlyArray<Asked>, terms: ReadonlyArray<Terms>): ReadonlyArray<Terms> => {
  let changed = terms
  for (const { request } of asks) changed = distinct([...changed, ...termsOf(request, changed)])
  return changed
}

/** Keeps each of the terms once. Otherwise every re-arming of a timer would double the list. */
const distinct = (terms: ReadonlyArray<Terms>): ReadonlyArray<Terms> => {
  const byContent = new Map<string, Terms>()
  for (const each of terms) {
    const payload = each.payload === undefined ? "none" : Buffer.from(each.payload).toString("latin1")
    byContent.set(`${each.executeAtMs} ${payload}`, each)
  }
  return [...byContent.values()]
}

const termsAfterRearm = (
  reply: Extract<Reply, { result: "rearmed" }>,
  earlier: ReadonlyArray<Terms>,
): ReadonlyArray<Terms> =>
  reply.payload === undefined ? atAnotherTime(earlier) : [{ executeAtMs: undefined, payload: reply.payload }]

const atAnotherTime = (earlier: ReadonlyArray<Terms>): ReadonlyArray<Terms> =>
  earlier.map(({ payload }) => ({ executeAtMs: undefined, payload }))
