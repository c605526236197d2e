// Judges a recorded history by the promises of the product. It knows nothing of how the service works: it
// holds what clients were told against what targets received and what the store held at the end.
//
// An unknown ask excuses what it may have caused, and no more: a timer that an unanswered cancel may have
// ended must be found cancelled, one that an unanswered create may have replaced must have a successor.
import { keyOf, shardOf } from "../src/domain/TimerKey.ts"
import type { History, StoreContents } from "./History.ts"
import {
  type Arming,
  type Asked,
  type Attempted,
  type HistoryIndex,
  indexHistory,
  type KeyHistory,
  nameOf,
  sameBytes,
} from "./HistoryIndex.ts"
import { losses } from "./losses.ts"
import { type Violation, violation } from "./Violation.ts"

/** Every violation there is; none in a good run. */
export const checkInvariants = (history: History): ReadonlyArray<Violation> => {
  const index = indexHistory(history)
  return [
    ...index.keys.flatMap((key) => [
      ...losses(key, history.dueUntilMs),
      ...early(key),
      ...repeated(key, index.faults),
      ...answeredFalsely(key, index.faults),
      ...altered(key),
    ]),
    ...fireIdsUsedTwice(index),
    ...startedByOldOwners(index, history.shards),
    ...notConserved(index, history.final),
  ]
}

/** A report that stays readable however much went wrong; empty if nothing did. */
export const describeViolations = (violations: ReadonlyArray<Violation>): string => {
  const shown = 20
  const lines = violations.slice(0, shown).map(({ invariant, message }) => `${invariant}: ${message}`)
  if (violations.length > shown) lines.push(`… and ${violations.length - shown} more`)
  return lines.join("\n")
}

// ── Never early ─────────────────────────────────────────────────────────────────────────────────────

const early = (history: KeyHistory): ReadonlyArray<Violation> =>
  history.armings.flatMap((arming) =>
    arming.attempts.flatMap((attempt) => {
      const dueAtMs = Math.max(attempt.executeAtMs, askedTime(arming), retryTime(arming, attempt))
      if (attempt.firedAtMs >= dueAtMs) return []
      const earlyMs = dueAtMs - attempt.firedAtMs
      return [violation("neverEarly", `${attemptName(attempt)} started ${earlyMs} ms before ${dueAtMs}`)]
    }),
  )

/** When it was asked for, as far as that is certain. */
const askedTime = ({ terms }: Arming): number =>
  Math.min(
    ...terms.map(({ executeAtMs }) => executeAtMs ?? Number.NEGATIVE_INFINITY),
    terms.length === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY,
  )

/** When the attempt before it allowed the next one, as far as all its replies were seen. */
const retryTime = ({ attempts }: Arming, { attempt }: Attempted): number => {
  const before = attempts.filter((other) => other.attempt === attempt - 1)
  if (before.length === 0) return Number.NEGATIVE_INFINITY
  return Math.min(
    ...before.map(({ reply }) =>
      reply?.result === "retry" && reply.notBeforeMs !== undefined
        ? reply.notBeforeMs
        : Number.NEGATIVE_INFINITY,
    ),
  )
}

// ── Bounded repeats ─────────────────────────────────────────────────────────────────────────────────

const repeated = (history: KeyHistory, faults: number): ReadonlyArray<Violation> => [
  ...history.armings.flatMap(({ attempts }) => [
    ...repeatedByOneOwner(attempts),
    ...repeatedTooOften(attempts, faults),
    ...triedAfterItsEnd(attempts),
  ]),
  ...firedUnasked(history),
]

const repeatedByOneOwner = (attempts: ReadonlyArray<Attempted>): ReadonlyArray<Violation> =>
  groupsOf(attempts, ({ attempt, epoch }) => `${attempt} ${epoch}`).flatMap(([first, ...others]) =>
    others.length === 0
      ? []
      : [
          violation(
            "boundedRepeats",
            `${attemptName(first)} was made ${others.length + 1} times under one epoch`,
          ),
        ],
  )

const repeatedTooOften = (attempts: ReadonlyArray<Attempted>, faults: number): ReadonlyArray<Violation> =>
  groupsOf(attempts, ({ attempt }) => String(attempt)).flatMap(([first, ...others]) =>
    others.length <= faults
      ? []
      : [
          violation(
            "boundedRepeats",
            `${attemptName(first)} was repeated ${others.length} times with ${faults} restarts or changes of owner`,
          ),
        ],
  )

/** A further attempt needs one before it that asked for it, or that got no reply. */
const triedAfterItsEnd = (attempts: ReadonlyArray<Attempted>): ReadonlyArray<Violation> =>
  attempts.flatMap((attempt) => {
    const before = attempts.filter((other) => other.attempt === attempt.attempt - 1)
    if (before.length === 0) return []
    if (before.some(({ reply }) => reply === undefined || reply.result === "retry")) return []
    return [violation("boundedRepeats", `${attemptName(attempt)} followed one that was answered for good`)]
  })

/** What nobody was told of must be explained by an unknown ask or a re-arming, each of them once. */
const firedUnasked = (history: KeyHistory): ReadonlyArray<Violation> => {
  const { key, armings, unknownArmings, replays, rearms } = history
  const told = new Set(foundFinished(history))
  const unexplained = armings.filter(({ madeBy, fireId }) => madeBy === undefined && !told.has(fireId))
  const explained = unknownArmings.length + replays.length + rearms
  if (unexplained.length <= explained) return []
  const fireIds = unexplained.map(({ fireId }) => fireId).join(", ")
  const message = `${nameOf(key)} was armed ${unexplained.length} times (${fireIds}) where ${explained} asks can explain it`
  return [violation("boundedRepeats", message)]
}

/** What creates were told of as finished: each may be what the create itself has armed. */
const foundFinished = ({ asks }: KeyHistory): ReadonlyArray<string> =>
  asks.flatMap(({ answer }) => (answer?.result === "nothingDone" ? (answer.finishedAs ?? []) : []))

const fireIdsUsedTwice = ({ keys }: HistoryIndex): ReadonlyArray<Violation> => {
  const users = new Map<string, string>()
  const violations: Array<Violation> = []
  const use = (fireId: string, user: string) => {
    const other = users.get(fireId)
    if (other !== undefined && other !== user) {
      violations.push(violation("boundedRepeats", `${fireId} was used for ${other} and for ${user}`))
    }
    users.set(fireId, user)
  }
  for (const { key, asks, armings } of keys) {
    const answered = new Set<string>()
    for (const { answer } of asks) {
      if (answer === undefined || !("fireId" in answer)) continue
      if (answered.has(answer.fireId)) use(answer.fireId, `${nameOf(key)} again`)
      answered.add(answer.fireId)
    }
    for (const { fireId } of armings) use(fireId, nameOf(key))
  }
  return violations
}

// ── Fencing ─────────────────────────────────────────────────────────────────────────────────────────

/**
 * Once an owner has started an attempt, no earlier owner of the shard starts one. What a frozen node had begun may
 * still arrive afterwards, so it is beginnings that count.
 */
const startedByOldOwners = ({ keys }: HistoryIndex, shards: number | undefined): ReadonlyArray<Violation> => {
  if (shards === undefined) return []
  const attempts = keys.flatMap(({ key, armings }) => {
    const shard = shardOf(keyOf(key.namespace, key.timerId).uuid, shards)
    return armings.flatMap((arming) => arming.attempts.map((attempt) => ({ ...attempt, shard })))
  })
  return groupsOf(attempts, ({ shard }) => String(shard)).flatMap((ofShard) => {
    let newest: Attempted | undefined
    const violations: Array<Violation> = []
    for (const attempt of [...ofShard].sort((a, b) => a.beganAtMs - b.beganAtMs || a.epoch - b.epoch)) {
      if (newest === undefined || attempt.epoch >= newest.epoch) newest = attempt
      else {
        const afterMs = attempt.beganAtMs - newest.beganAtMs
        const message = `${attemptName(attempt)} started ${afterMs} ms after ${attemptName(newest)} in shard ${attempt.shard}`
        violations.push(violation("fencing", message))
      }
    }
    return violations
  })
}

// ── Definite answers ────────────────────────────────────────────────────────────────────────────────

const answeredFalsely = (history: KeyHistory, faults: number): ReadonlyArray<Violation> =>
  history.asks.flatMap((asked) => {
    if (asked.answer === undefined || asked.answer.result === "nothingDone") return []
    return endedBy(history, asked).flatMap(({ arming, wasAtRest }) =>
      arming.attempts
        .filter(
          (attempt) =>
            attempt.at > asked.answeredAt &&
            // An attempt that had begun may arrive late: of a node that died or froze, or in flight anyway.
            ((wasAtRest && faults === 0) || attempt.beganAtMs > asked.answeredAtMs),
        )
        .map((attempt) =>
          violation(
            "definiteAnswers",
            `${attemptName(attempt)}, due at ${attempt.executeAtMs}, started after its ${asked.request.op} was answered ${asked.answer?.result}`,
          ),
        ),
    )
  })

interface Ended {
  readonly arming: Arming
  /** The answer says that no attempt of it was in flight. */
  readonly wasAtRest: boolean
}

const endedBy = (history: KeyHistory, asked: Asked): ReadonlyArray<Ended> => {
  const { answer } = asked
  if (answer === undefined || endsNothing.has(answer.result)) return []
  if ("revision" in answer) {
    // One that was asked for only afterwards is no earlier one, whatever its revision: of a key that was discarded
    // nothing is left to count on from.
    const before = history.armings.filter(
      ({ revision, madeBy }) =>
        revision < answer.revision && (madeBy === undefined || madeBy.sentAt < asked.answeredAt),
    )
    const isCertain = history.unknownArmings.length === 0 && history.replays.length === 0
    return before.map((arming) => ({
      arming,
      wasAtRest: answer.result === "changed" && isCertain && arming === before.at(-1),
    }))
  }
  const arming = cancelledArming(history, asked)
  return arming === undefined ? [] : [{ arming, wasAtRest: answer.result === "cancelled" }]
}

const endsNothing: ReadonlySet<string> = new Set(["nothingDone", "replayed", "discarded"])

/** Which arming a cancel hit; nothing where others asked at the same time and the store cannot tell. */
const cancelledArming = ({ asks, armings }: KeyHistory, cancel: Asked): Arming | undefined => {
  const others = asks.filter(({ request }) => request.op !== "cancel")
  const isAlone = others.every(
    ({ sentAt, answeredAt }) => answeredAt < cancel.sentAt || sentAt > cancel.answeredAt,
  )
  if (isAlone)
    return armings.findLast(({ madeBy }) => madeBy !== undefined && madeBy.answeredAt < cancel.sentAt)
  const isOnlyCancel = asks.filter(({ request }) => request.op === "cancel").length === 1
  if (!isOnlyCancel) return undefined
  // What is replaced while an attempt of it runs goes into history as cancelled too: it may be of a later time.
  return armings.findLast(
    ({ finished, madeBy }) =>
      finished?.state === "cancelled" && (madeBy === undefined || madeBy.sentAt < cancel.answeredAt),
  )
}

// ── Integrity ───────────────────────────────────────────────────────────────────────────────────────

const altered = ({ key, armings }: KeyHistory): ReadonlyArray<Violation> =>
  armings.flatMap(({ fireId, terms, attempts, pending }) => {
    // Armings that nothing explains are a matter of repeats.
    if (terms.length === 0) return []
    const violations: Array<Violation> = []
    for (const attempt of attempts) {
      const samePayload = terms.filter(({ payload }) => sameBytes(payload, attempt.payload))
      const isAsAsked = samePayload.some(
        ({ executeAtMs }) => (executeAtMs ?? attempt.executeAtMs) === attempt.executeAtMs,
      )
      if (isAsAsked) continue
      const what = samePayload.length === 0 ? "another payload" : "another time"
      violations.push(violation("integrity", `${attemptName(attempt)} carried ${what} than it was given`))
    }
    if (pending !== undefined && !terms.some(({ payload }) => sameBytes(payload, pending.payload))) {
      violations.push(
        violation("integrity", `${nameOf(key)} (${fireId}) is stored with another payload than it was given`),
      )
    }
    return violations
  })

// ── Conservation ────────────────────────────────────────────────────────────────────────────────────

const notConserved = ({ keys }: HistoryIndex, final: StoreContents): ReadonlyArray<Violation> => {
  const { tally, pending, finished } = final
  const countOf = (state: string) => finished.filter((life) => life.state === state).length
  const begun = tally.created + tally.rearmed + tally.replayed
  const ended = tally.delivered + tally.cancelled + tally.replaced + tally.dead + tally.discarded
  const expected: ReadonlyArray<readonly [what: string, counted: number, inTally: number]> = [
    ["pending timers", pending.length, begun - ended],
    ["delivered lives", countOf("delivered"), tally.delivered],
    ["cancelled lives", countOf("cancelled"), tally.cancelled],
    // A dead letter that was replayed ended dead all the same, but is no letter any more.
    ["dead letters", countOf("dead"), tally.dead - tally.replayed],
  ]
  const violations = expected.flatMap(([what, counted, inTally]) =>
    counted === inTally
      ? []
      : [violation("conservation", `${counted} ${what} in the store, ${inTally} by the tally`)],
  )
  const acknowledged = sum(keys, ({ asks }) => asks.filter(({ answer }) => isArming(answer?.result)).length)
  const unknown = sum(keys, (key) => key.unknownArmings.length + foundFinished(key).length)
  if (tally.created < acknowledged || tally.created > acknowledged + unknown) {
    const message = `${tally.created} created by the tally, where ${acknowledged} were acknowledged and ${unknown} are unknown`
    violations.push(violation("conservation", message))
  }
  return violations
}

const isArming = (result: string | undefined): boolean =>
  result === "created" || result === "replaced" || result === "changed"

// ── Small parts ─────────────────────────────────────────────────────────────────────────────────────

const attemptName = ({ key, fireId, attempt, epoch }: Attempted): string =>
  `attempt ${attempt} of ${nameOf(key)} (${fireId}, epoch ${epoch})`

const groupsOf = <T>(
  items: ReadonlyArray<T>,
  by: (item: T) => string,
): ReadonlyArray<readonly [T, ...T[]]> => {
  const groups = new Map<string, [T, ...T[]]>()
  for (const item of items) {
    const group = groups.get(by(item))
    if (group === undefined) groups.set(by(item), [item])
    else group.push(item)
  }
  return [...groups.values()]
}

const sum = <T>(items: ReadonlyArray<T>, of: (item: T) => number): number =>
  items.reduce((total, item) => total + of(item), 0)
