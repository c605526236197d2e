// Converts items of a write and their answers to packs and back. An answer contains only what the calling side does not
// know. For an item that was executed as expected it contains nothing, because the calling side can decide it.
import type { AttemptLog } from "../../domain/AttemptLog.ts"
import type { Cursor } from "../../domain/DueOrder.ts"
import type {
  Change,
  InsertAnswer,
  NamedDead,
  OnExisting,
  Outcome,
  Put,
  Schedule,
  Then,
  WriteAnswer,
  WriteItem,
} from "../../domain/WriteItem.ts"
import type { BatchAnswer, ShardBatch } from "../../ports/TimerStore.ts"
import { answerAsExpected } from "../keyChangeOf.ts"
import { type Pack, PackReader, PackWriter } from "./Pack.ts"
import { readKey, readLife, readTimer, writeKey, writeLife, writeTimer, writeTimerWith } from "./timerWire.ts"

export const packBatches = (batches: ReadonlyArray<ShardBatch>): Pack => {
  const out = new PackWriter()
  for (const batch of batches) {
    out.field(batch.shard)
    out.field(batch.epoch)
    out.field(batch.hasEachKeyOnce === true ? 1 : 0)
    out.field(batch.items.length)
    for (const item of batch.items) writeItem(out, item)
  }
  return out.finish()
}

/** The payloads are views of the pack: the writer stores them at once and keeps none. */
export const unpackBatches = (pack: Pack): ReadonlyArray<ShardBatch> => {
  const input = new PackReader(pack, { readsViews: true })
  const batches: Array<ShardBatch> = []
  while (!input.isAtEnd) {
    const shard = input.number()
    const epoch = input.number()
    const hasEachKeyOnce = input.number() === 1
    const items: Array<WriteItem> = new Array(input.number())
    for (let i = 0; i < items.length; i++) items[i] = readItem(input)
    batches.push({ shard, epoch, items, hasEachKeyOnce })
  }
  return batches
}

export const packPuts = (shard: number, puts: ReadonlyArray<Put>): Pack => {
  const out = new PackWriter()
  out.field(shard)
  for (const put of puts) writeItem(out, put)
  return out.finish()
}

export const unpackPuts = (pack: Pack): { readonly shard: number; readonly puts: ReadonlyArray<Put> } => {
  const input = new PackReader(pack)
  const shard = input.number()
  const puts: Array<Put> = []
  // Only puts were packed.
  while (!input.isAtEnd) puts.push(readItem(input) as Put)
  return { shard, puts }
}

type RefusedBatch = Exclude<BatchAnswer["result"], "written">

/** Written instead of the number of answers. */
const refusals: { readonly [result in RefusedBatch]: number } = { ownershipLost: -1, overtaken: -2 }

/** `asExpected`: by batch and item, whether the calling side can decide the same answer by itself. */
export const packAnswers = (
  batches: ReadonlyArray<BatchAnswer>,
  asExpected: ReadonlyArray<ReadonlyArray<boolean>>,
): Pack => {
  const out = new PackWriter()
  for (const [place, batch] of batches.entries()) {
    if (batch.result !== "written") {
      out.field(refusals[batch.result])
      continue
    }
    out.field(batch.answers.length)
    for (const [index, answer] of batch.answers.entries()) {
      writeAnswer(out, answer, asExpected[place]?.[index] === true)
    }
    writeVacated(out, batch.vacated)
  }
  return out.finish()
}

const writeVacated = (out: PackWriter, vacated: ReadonlyMap<number, Cursor> | undefined): void => {
  out.field(vacated?.size ?? 0)
  for (const [index, { fireAt, fireId }] of vacated ?? []) {
    out.field(index)
    out.field(fireAt)
    out.field(fireId)
  }
}

const readVacated = (input: PackReader): ReadonlyMap<number, Cursor> | undefined => {
  const count = input.number()
  if (count === 0) return undefined
  const vacated = new Map<number, Cursor>()
  for (let read = 0; read < count; read++) {
    vacated.set(input.number(), { fireAt: input.number(), fireId: input.text() })
  }
  return vacated
}

export const unpackAnswers = (pack: Pack, batches: ReadonlyArray<ShardBatch>): ReadonlyArray<BatchAnswer> => {
  const input = new PackReader(pack)
  return batches.map(({ items }): BatchAnswer => {
    const count = input.number()
    if (count === refusals.ownershipLost) return { result: "ownershipLost" }
    if (count === refusals.overtaken) return { result: "overtaken" }
    const answers = items.map((item) => readAnswer(input, item))
    const vacated = readVacated(input)
    return vacated === undefined ? { result: "written", answers } : { result: "written", answers, vacated }
  })
}

export const packInserted = (answers: ReadonlyArray<InsertAnswer>): Pack => {
  const out = new PackWriter()
  for (const answer of answers) writeAnswer(out, answer, false)
  return out.finish()
}

export const unpackInserted = (pack: Pack, puts: ReadonlyArray<Put>): ReadonlyArray<InsertAnswer> => {
  const input = new PackReader(pack)
  return puts.map((put) => readAnswer(input, put))
}

const writeItem = (out: PackWriter, item: WriteItem): void => {
  out.field(item.kind)
  switch (item.kind) {
    case "put":
      out.field(item.onExisting)
      out.field(item.madeCorrelationId ? 1 : 0)
      out.field(item.isRepeat ? 1 : 0)
      writeTimer(out, item.timer)
      return
    case "schedule":
      out.field(item.madeCorrelationId ? 1 : 0)
      out.field(item.inFlight)
      out.field(item.setsRetryPolicy ? 1 : 0)
      out.field(item.cancels ? 1 : 0)
      writeTimer(out, item.timer)
      return
    case "change":
      writeKey(out, item.key)
      out.field(item.fireId)
      out.field(item.at)
      out.field(item.ifRevision)
      out.field(item.inFlight)
      out.field(item.isRepeat ? 1 : 0)
      writeSet(out, item.set)
      return
    case "cancel":
      writeKey(out, item.key)
      out.field(item.cancelId)
      out.field(item.at)
      out.field(item.ifRevision)
      out.field(item.inFlight)
      out.field(item.isRepeat ? 1 : 0)
      return
    case "outcome":
      writeFired(out, item)
      out.field(item.attempt)
      out.field(item.at)
      out.json(item.attemptLog)
      writeThen(out, item.then)
      return
    case "record":
      writeLife(out, item.life)
      return
    case "replay":
      writeNamedDead(out, item)
      out.field(item.fireId)
      out.field(item.at)
      out.field(item.isRepeat ? 1 : 0)
      return
    case "discard":
      writeNamedDead(out, item)
      out.field(item.at)
      out.field(item.isRepeat ? 1 : 0)
      return
    case "restore":
      out.field(item.archived.kind)
      if (item.archived.kind === "pending") writeTimer(out, item.archived.timer)
      else writeLife(out, item.archived.life)
  }
}

/** Leaves out what the writer does not need: an outcome has its own log, and only a dead letter keeps its payload. */
const writeFired = (out: PackWriter, { timer, attemptLog, then }: Outcome): void =>
  writeTimerWith(
    out,
    timer,
    attemptLog === undefined ? timer.attemptLog : undefined,
    then.to === "dead" ? timer.payload : undefined,
  )

const readItem = (input: PackReader): WriteItem => {
  const kind = input.text() as WriteItem["kind"]
  switch (kind) {
    case "put":
      return {
        kind,
        onExisting: input.text() as OnExisting,
        madeCorrelationId: input.number() === 1,
        ...readIsRepeat(input),
        timer: readTimer(input),
      }
    case "schedule":
      return {
        kind,
        madeCorrelationId: input.number() === 1,
        ...present("inFlight", input.optionalText()),
        ...(input.number() === 1 ? { setsRetryPolicy: true as const } : {}),
        ...(input.number() === 1 ? { cancels: true as const } : {}),
        // The timer was written from one that has its `askedAt`.
        timer: readTimer(input) as Schedule["timer"],
      }
    case "change":
      return {
        kind,
        key: readKey(input),
        fireId: input.text(),
        at: input.number(),
        ...present("ifRevision", input.optionalNumber()),
        ...present("inFlight", input.optionalText()),
        ...readIsRepeat(input),
        set: readSet(input),
      }
    case "cancel":
      return {
        kind,
        key: readKey(input),
        cancelId: input.text(),
        at: input.number(),
        ...present("ifRevision", input.optionalNumber()),
        ...present("inFlight", input.optionalText()),
        ...readIsRepeat(input),
      }
    case "outcome":
      return readOutcome(input)
    case "record":
      return { kind, life: readLife(input) }
    case "replay":
      return {
        kind,
        ...readNamedDead(input),
        fireId: input.text(),
        at: input.number(),
        ...readIsRepeat(input),
      }
    case "discard":
      return { kind, ...readNamedDead(input), at: input.number(), ...readIsRepeat(input) }
    case "restore":
      return {
        kind,
        archived:
          input.text() === "pending"
            ? { kind: "pending", timer: readTimer(input) }
            : { kind: "ended", life: readLife(input) },
      }
  }
}

const writeNamedDead = (out: PackWriter, { key, deadFireId, deadRevision }: NamedDead): void => {
  writeKey(out, key)
  out.field(deadFireId)
  out.field(deadRevision)
}

const readNamedDead = (input: PackReader): NamedDead => ({
  key: readKey(input),
  deadFireId: input.text(),
  deadRevision: input.number(),
})

const readIsRepeat = (input: PackReader): { readonly isRepeat?: true } =>
  input.number() === 1 ? { isRepeat: true } : {}

const readOutcome = (input: PackReader): Outcome => {
  const timer = readTimer(input)
  const attempt = input.number()
  const at = input.number()
  const log = present("attemptLog", input.json<AttemptLog>())
  const then = readThen(input)
  return { kind: "outcome", timer, attempt, at, ...log, then }
}

/** Apart from the payload, the values of a change are rare and small. JSON distinguishes absent and null. */
const writeSet = (out: PackWriter, { payload, ...rest }: Change["set"]): void => {
  out.field(JSON.stringify(rest))
  out.field(payload === null ? 1 : 0)
  out.bytes(payload ?? undefined)
}

const readSet = (input: PackReader): Change["set"] => {
  const rest: Change["set"] = JSON.parse(input.text())
  const isCleared = input.number() === 1
  const payload = input.bytes()
  return isCleared ? { ...rest, payload: null } : { ...rest, ...present("payload", payload) }
}

const writeThen = (out: PackWriter, then: Then): void => {
  out.field(then.to)
  switch (then.to) {
    case "delivered":
      out.field(then.latenessMs)
      return
    case "retry":
    case "postponed":
      out.field(then.fireAt)
      return
    case "rearmed":
      out.field(then.executeAt)
      out.field(then.fireId)
      out.field(then.latenessMs)
      out.bytes(then.payload)
      return
    case "dead":
    case "dropped":
      out.field(then.reason)
  }
}

const readThen = (input: PackReader): Then => {
  const to = input.text() as Then["to"]
  switch (to) {
    case "delivered":
      return { to, latenessMs: input.number() }
    case "retry":
    case "postponed":
      return { to, fireAt: input.number() }
    case "rearmed":
      return {
        to,
        executeAt: input.number(),
        fireId: input.text(),
        latenessMs: input.number(),
        ...present("payload", input.bytes()),
      }
    case "dead":
    case "dropped":
      return { to, reason: input.text() }
  }
}

/** What follows: nothing, only the result, or a timer, life, revision, reason or cause. */
const form = {
  asExpected: 0,
  bare: 1,
  timer: 2,
  next: 3,
  life: 4,
  revision: 5,
  reason: 6,
  because: 7,
  unreadable: 8,
} as const

const writeAnswer = (out: PackWriter, answer: InsertAnswer, isAsExpected: boolean): void => {
  // An answer without a timer is as fast to send as to decide again.
  if (isAsExpected && ("timer" in answer || "next" in answer)) {
    out.field(form.asExpected)
    return
  }
  out.field(formOf(answer))
  out.field(answer.result)
  if ("timer" in answer) writeTimer(out, answer.timer)
  else if ("next" in answer && answer.next !== undefined) writeTimer(out, answer.next)
  else if ("life" in answer) writeLife(out, answer.life)
  else if ("revision" in answer) out.field(answer.revision)
  else if ("reason" in answer) out.field(answer.reason)
  else if ("because" in answer) out.field(answer.because)
}

const formOf = (answer: InsertAnswer): number => {
  if ("timer" in answer) return form.timer
  if ("next" in answer && answer.next !== undefined) return form.next
  if ("life" in answer) return form.life
  if ("revision" in answer) return form.revision
  if ("reason" in answer) return answer.isUnreadable === true ? form.unreadable : form.reason
  return "because" in answer ? form.because : form.bare
}

const readAnswer = (input: PackReader, item: WriteItem): WriteAnswer => {
  const read = input.number()
  if (read === form.asExpected) return answerAsExpected(item)
  const result = input.text()
  switch (read) {
    case form.timer:
      return { result, timer: readTimer(input) } as WriteAnswer
    case form.next:
      return { result, next: readTimer(input) } as WriteAnswer
    case form.life:
      return { result, life: readLife(input) } as WriteAnswer
    case form.revision:
      return { result, revision: input.number() } as WriteAnswer
    case form.reason:
      return { result, reason: input.text() } as WriteAnswer
    case form.unreadable:
      return { result, reason: input.text(), isUnreadable: true } as WriteAnswer
    case form.because:
      return { result, because: input.text() } as WriteAnswer
    default:
      return { result } as WriteAnswer
  }
}

const present = <Name extends string, T>(name: Name, value: T | undefined): { [n in Name]?: T } =>
  (value === undefined ? {} : { [name]: value }) as { [n in Name]?: T }
