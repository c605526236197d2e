// Checks a recorded history against the promises of the product. The checker knows nothing about how the service works.
// It compares what clients were told with what targets received and with what the store held at the end.
//
// An unknown request excuses only what it may have caused. If an unanswered cancel may have ended a timer, the store
// must have it as cancelled. If an unanswered create may have replaced a timer, the timer must have a successor.
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

/** All violations. A good run has none. */
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

/** A report that stays readable even with many violations; empty if there are none. */
export const describeViolations = (violations: ReadonlyArray<Violation>): string => {
  const shown = 20
  const lines = violations
    .slice(0, shown)
    .map(({ invariant, message }) => `broken promise, ${invariant}: ${message}`)
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

/** When the timer was due, as far as that is certain. */
const askedTime = ({ terms }: Arming): number =>
  Math.min(
    ...terms.map(({ executeAtMs }) => executeAtMs ?? Number.NEGATIVE_INFINITY),
    terms.length === 0 ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY,
  )

/** When the previous attempt allowed the next one, as far as all its replies were seen. */
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

/** A further attempt needs an earlier attempt that asked for it or that got no reply. */
const triedAfterItsEnd = (attempts: ReadonlyArray<Attempted>): ReadonlyArray<Violation> =>
  attempts.flatMap((attempt) => {
    const before = attempts.filter((other) => other.attempt === attempt.attempt - 1)
    if (before.length === 0) return []
    if (before.some(({ reply }) => reply === undefined || reply.result === "retry")) return []
    return [violation("boundedRepeats", `${attemptName(attempt)} followed one that was answered for good`)]
  })

/**
 * An unknown request or a re-arming must explain each arming that no client was told about. Each of them explains one
 * arming.
 */
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

/** The armings that creates found finished. Each may be the arming that the create itself made. */
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
 * Once an owner has started an attempt, no earlier owner of the shard starts one. An attempt that a frozen node had
 * begun may still arrive later, so the check compares start times.
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
            // An attempt that had begun may arrive late, from a node that died or froze, or because it was in flight.
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
  /** The answer says that no attempt of the timer was in flight. */
  readonly wasAtRest: boolean
}

const endedBy = (history: KeyHistory, asked: Asked): ReadonlyArray<Ended> => {
  const { answer } = asked
  if (answer === undefined || endsNothing.has(answer.result)) return []
  if ("revision" in answer) {
    // An arming that was requested only later is not an earlier one, even if its revision is lower. After a discard,
    // the store knows nothing of the key and cannot continue its revisions.
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
  return endedByCancel(history, asked)
}

const endsNothing: ReadonlySet<string> = new Set(["nothingDone", "replayed", "discarded"])

/**
 * A cancel ends the pending arming of the key. All armings that existed before the cancel are over then. An arming that
 * was over already may have been replaced in flight, so its attempt may still arrive.
 */
const endedByCancel = (history: KeyHistory, cancel: Asked): ReadonlyArray<Ended> => {
  const atRest = cancel.answer?.result === "cancelled" ? cancelledArming(history, cancel) : undefined
  return history.armings
    .filter((arming) => arming === atRest || existedBefore(arming, cancel))
    .map((arming) => ({ arming, wasAtRest: arming === atRest }))
}

const existedBefore = ({ madeBy, attempts }: Arming, { sentAt }: Asked): boolean =>
  (madeBy !== undefined && madeBy.answeredAt < sentAt) || attempts.some(({ at }) => at < sentAt)

/** The arming that a cancel ended and that had no attempt in flight. Undefined if it is not certain which one it was. */
const cancelledArming = ({ asks, armings }: KeyHistory, cancel: Asked): Arming | undefined => {
  const cancels = asks.filter(({ request }) => request.op === "cancel")
  // Not only a cancel leaves a cancelled life. A timer that is replaced while its attempt runs leaves one too, perhaps
  // long after the cancel.
  const [cancelled, ...others] = armings.filter(({ finished }) => finished?.state === "cancelled")
  if (cancels.length === 1 && others.length === 0) return cancelled
  const isAlone = asks.every(
    ({ request, sentAt, answeredAt }) =>
      request.op === "cancel" || answeredAt < cancel.sentAt || sentAt > cancel.answeredAt,
  )
  return isAlone
    ? armings.findLast(({ madeBy }) => madeBy !== undefined && madeBy.answeredAt < cancel.sentAt)
    : undefined
}

// ── Integrity ───────────────────────────────────────────────────────────────────────────────────────

const altered = ({ key, armings }: KeyHistory): ReadonlyArray<Violation> =>
  armings.flatMap(({ fireId, terms, attempts, pending }) => {
    // The rule of bounded repeats covers armings that nothing explains.
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
    // A replayed dead letter still counts as ended dead, but is not a dead letter any more.
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

// ── Names ───────────────────────────────────────────────────────────────────────────────────────────

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
