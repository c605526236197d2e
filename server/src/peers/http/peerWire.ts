// The JSON messages between nodes of a cluster: forwarded writes and their answers. Derived values are not sent, so
// that they cannot contradict their source; for example, uuids are computed again. A batch has few specs, so they are
// sent once, beside the timers that refer to them. Answers contain no payloads. No caller sees them, and a batch of
// small changes could otherwise be answered with large timers that exceed the size limit.
//
// For a while, nodes of one cluster may run two releases. `wireVersion` increases with every change that an older node
// would misread, and a node refuses calls in any other version than its own.
import { isUtf8 } from "node:buffer"
import { KeyName } from "@punctual/api/KeyName"
import { malformedMessage } from "@punctual/api/malformedMessage"
import { nextUrgentTurn } from "@punctual/api/nextTurn"
import { parseBody } from "@punctual/http/parseBody"
import { Effect, Result, Schema, SchemaParser } from "effect"
import { withoutAnswers } from "../../domain/AttemptLog.ts"
import type { FinishedLife, Spec, Timer } from "../../domain/Timer.ts"
import { keyOf } from "../../domain/TimerKey.ts"
import type { Change } from "../../domain/WriteItem.ts"
import { mapInSlices, type SliceOptions } from "../../engine/mapInSlices.ts"
import type { CarriedAnswer, CarriedItem } from "../../ports/Peers.ts"
import {
  addedChangeFields,
  keyFields,
  lifeFields,
  OnDeadShape,
  RetryPolicyShape,
  SpecShape,
  TargetShape,
  timerFields,
  withOneLog,
} from "../../wire/timerShapes.ts"

export const wireVersion = 1

const { optionalKey } = Schema
const Instant = Schema.Int
const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
/** The runtime skips what is not base64, so then there are fewer bytes than the text has room for. */
const Payload = Schema.String.check(
  Schema.makeFilter((text: string) => text.length % 4 === 0 && bytesIn(text) === roomIn(text), {
    message: "must be base64",
  }),
)
const roomIn = (text: string): number =>
  (text.length / 4) * 3 - (text.endsWith("==") ? 2 : text.endsWith("=") ? 1 : 0)
const bytesIn = (text: string): number => Buffer.from(text, "base64").byteLength

const TimerOnWire = Schema.Struct({ ...timerFields, spec: Count, payload: optionalKey(Payload) })

const AnsweredTimer = Schema.Struct({ ...timerFields, spec: Count })
const AnsweredLife = Schema.Struct({ ...lifeFields, spec: Count })

const namedDeadFields = { ...keyFields, deadFireId: Schema.NonEmptyString, deadRevision: Schema.Int }

const ItemOnWire = Schema.Union([
  Schema.Struct({
    kind: Schema.Literal("put"),
    timer: TimerOnWire,
    onExisting: Schema.Literals(["replace", "keep", "fail"]),
    madeCorrelationId: Schema.Boolean,
    isRepeat: optionalKey(Schema.Literal(true)),
  }),
  Schema.Struct({
    kind: Schema.Literal("schedule"),
    timer: Schema.Struct({ ...TimerOnWire.fields, askedAt: Instant }),
    madeCorrelationId: Schema.Boolean,
    setsRetryPolicy: optionalKey(Schema.Literal(true)),
    cancels: optionalKey(Schema.Literal(true)),
  }),
  Schema.Struct({
    kind: Schema.Literal("change"),
    ...keyFields,
    fireId: Schema.NonEmptyString,
    at: Instant,
    ifRevision: optionalKey(Schema.Int),
    isRepeat: optionalKey(Schema.Literal(true)),
    set: Schema.Struct({
      executeAt: optionalKey(Instant),
      target: optionalKey(TargetShape),
      retryPolicy: optionalKey(RetryPolicyShape),
      expireAfterMs: optionalKey(Schema.NullOr(Schema.Number)),
      onExpire: optionalKey(Schema.Literals(["dead", "drop"])),
      onDead: optionalKey(Schema.NullOr(OnDeadShape)),
      payload: optionalKey(Schema.NullOr(Payload)),
      correlationId: optionalKey(Schema.String),
      ...addedChangeFields,
    }),
  }),
  Schema.Struct({
    kind: Schema.Literal("cancel"),
    ...keyFields,
    cancelId: Schema.NonEmptyString,
    at: Instant,
    ifRevision: optionalKey(Schema.Int),
    isRepeat: optionalKey(Schema.Literal(true)),
  }),
  Schema.Struct({
    kind: Schema.Literal("replay"),
    ...namedDeadFields,
    fireId: Schema.NonEmptyString,
    at: Instant,
    isRepeat: optionalKey(Schema.Literal(true)),
  }),
  Schema.Struct({
    kind: Schema.Literal("discard"),
    ...namedDeadFields,
    at: Instant,
    isRepeat: optionalKey(Schema.Literal(true)),
  }),
])

const WriteAnswerOnWire = Schema.Union([
  Schema.Struct({
    result: Schema.Literals(["created", "replaced", "unchanged", "exists", "changed", "moved", "replayed"]),
    timer: AnsweredTimer,
  }),
  Schema.Struct({ result: Schema.Literal("alreadyFinished"), life: AnsweredLife }),
  Schema.Struct({ result: Schema.Literal("revisionMismatch"), revision: Schema.Int }),
  Schema.Struct({
    result: Schema.Literal("ignored"),
    because: Schema.Literals(["outdated", "inFlight", "retrying", "finished"]),
  }),
  Schema.Struct({
    result: Schema.Literal("unstorable"),
    reason: Schema.String,
    isUnreadable: optionalKey(Schema.Literal(true)),
  }),
  Schema.Struct({
    result: Schema.Literals([
      "inFlight",
      "notFound",
      "cancelled",
      "alreadyDelivered",
      "alreadyCancelled",
      "alreadyDead",
      "alreadyReplayed",
      "skipped",
      "discarded",
      "unknown",
    ]),
  }),
])

const AnswerOnWire = Schema.Union([
  Schema.Struct({ kind: Schema.Literal("answered"), answer: WriteAnswerOnWire }),
  Schema.Struct({ kind: Schema.Literal("overloaded"), retryAfterMs: Schema.Number }),
  Schema.Struct({ kind: Schema.Literals(["notOwner", "unknown"]) }),
])

/** How many items one call may contain, regardless of their size. */
export const itemsMax = 1_000

/** Specs, items and answers are decoded one by one. */
const Parts = Schema.Array(Schema.Unknown).check(Schema.isMaxLength(itemsMax))
const WriteCall = Schema.Struct({ specs: Parts, items: Parts })
const WriteReply = Schema.Struct({ specs: Parts, answers: Parts })

type TimerOnWire = typeof TimerOnWire.Type
type AnsweredLife = typeof AnsweredLife.Type
type ItemOnWire = typeof ItemOnWire.Type
type WriteAnswerOnWire = typeof WriteAnswerOnWire.Type
export type Decoded<A> = Result.Result<A, string>

export const encodeWriteCall = (items: ReadonlyArray<CarriedItem>): string => {
  const specs = new Specs()
  const wire: { items: ReadonlyArray<ItemOnWire>; specs: ReadonlyArray<Spec> } = {
    items: items.map((item) => itemToWire(item, specs)),
    specs: specs.all,
  }
  return JSON.stringify(wire)
}

/**
 * The items of a call, in slices: a call has up to a thousand items and several megabytes. The scan also refuses bodies
 * whose form would make parsing slow. The other node waits for a limited time, so the slices do not wait for those of
 * callers.
 */
export const decodeWriteCall = (
  bytes: Uint8Array,
  pause: () => Promise<void> = nextUrgentTurn,
): Effect.Effect<Decoded<ReadonlyArray<CarriedItem>>> =>
  Effect.gen(function* () {
    if (!isUtf8(bytes)) return Result.fail("it is not JSON")
    const body = yield* Effect.promise(() =>
      parseBody(bytes, { ...callForm, items: [specsName, itemsName], itemsMax, pause }),
    )
    if ("fault" in body) {
      const { kind, detail } = body.fault
      return Result.fail(kind === "malformed" ? "it is not JSON" : `it ${detail}`)
    }
    const [specs = [], items = []] = body.items
    if (specs === "tooMany") return Result.fail(tooMany("/specs"))
    if (items === "tooMany") return Result.fail(tooMany("/items"))
    const call = decodeCall(body.value)
    if (Result.isFailure(call)) return Result.fail(malformedMessage(call.failure))
    return yield* decodeParts(specs, items, carriedItem, { pause })
  })

const tooMany = (at: string): string => `${at} must have at most ${itemsMax} elements`

/** The specs of a message, and then its items or answers, in slices. */
const decodeParts = <A>(
  specs: ReadonlyArray<unknown>,
  parts: ReadonlyArray<unknown>,
  decode: (part: unknown, index: number, specs: ReadonlyArray<Spec>) => Decoded<A>,
  slices: SliceOptions,
): Effect.Effect<Decoded<ReadonlyArray<A>>> =>
  Effect.gen(function* () {
    const read = allOf(yield* mapInSlices(specs, specFromWire, slices))
    if (Result.isFailure(read)) return Result.fail(read.failure)
    return allOf(yield* mapInSlices(parts, (part, index) => decode(part, index, read.success), slices))
  })

/** All of them, or why the first bad one cannot be read. */
const allOf = <A>(read: ReadonlyArray<Decoded<A>>): Decoded<ReadonlyArray<A>> => {
  const refused = read.find(Result.isFailure)
  return refused === undefined ? Result.succeed(read.map(Result.getOrThrow)) : Result.fail(refused.failure)
}

const specFromWire = (spec: unknown, index: number): Decoded<Spec> => {
  const wire = decodeSpec(spec)
  return Result.isFailure(wire)
    ? Result.fail(malformedMessage(wire.failure, `/specs/${index}`))
    : Result.succeed(wire.success)
}

const carriedItem = (item: unknown, index: number, specs: ReadonlyArray<Spec>): Decoded<CarriedItem> => {
  const wire = decodeItem(item)
  return Result.isFailure(wire)
    ? Result.fail(malformedMessage(wire.failure, `/items/${index}`))
    : matching(() => itemFromWire(wire.success, specs))
}

const specsName = new KeyName("specs")
const itemsName = new KeyName("items")
/**
 * The limit of bytes is wider than for callers, because the payload of an item is one of its texts. A spec or an item
 * has fewer than 5,000 values, because a request has at most 2,000.
 */
const callForm = {
  depthMax: 64,
  valuesMax: 1_000_000,
  ownValuesMax: 5_000,
  ownBytesMax: 8 * 1024 * 1024,
}

export const encodeWriteReply = (answers: ReadonlyArray<CarriedAnswer>): string => {
  const specs = new Specs()
  const wire = answers.map((answer) => answerToWire(answer, specs))
  return JSON.stringify({ answers: wire, specs: specs.all })
}

/** The answers to these items, one for each, in slices. */
export const decodeWriteReply = (
  text: string,
  items: ReadonlyArray<CarriedItem>,
  nowMs?: () => number,
): Effect.Effect<Decoded<ReadonlyArray<CarriedAnswer>>> =>
  Effect.suspend(() => {
    const reply = decoded(decodeReply, text, (wire) => wire)
    if (Result.isFailure(reply)) return Effect.succeed(Result.fail(reply.failure))
    const { specs, answers } = reply.success
    if (answers.length !== items.length)
      return Effect.succeed(Result.fail("the number of answers differs from the number of items"))
    const read = (answer: unknown, index: number, known: ReadonlyArray<Spec>) =>
      carriedAnswer(answer, index, { item: items[index], specs: known })
    return decodeParts(specs, answers, read, { nowMs, pause: nextUrgentTurn })
  })

const carriedAnswer = (
  answer: unknown,
  index: number,
  { item, specs }: { readonly item: CarriedItem | undefined; readonly specs: ReadonlyArray<Spec> },
): Decoded<CarriedAnswer> => {
  const decodedAnswer = decodeAnswer(answer)
  if (Result.isFailure(decodedAnswer))
    return Result.fail(malformedMessage(decodedAnswer.failure, `/answers/${index}`))
  const wire = decodedAnswer.success
  if (wire.kind !== "answered") return Result.succeed(wire)
  return matching(() => ({ kind: "answered", answer: answerFromWire(wire.answer, item, specs) }))
}

export const strictly = { onExcessProperty: "error" } as const
const decodeCall = SchemaParser.decodeUnknownResult(WriteCall, strictly)
const decodeSpec = SchemaParser.decodeUnknownResult(SpecShape, strictly)
const decodeItem = SchemaParser.decodeUnknownResult(ItemOnWire, strictly)
const decodeAnswer = SchemaParser.decodeUnknownResult(AnswerOnWire, strictly)
const decodeReply = SchemaParser.decodeUnknownResult(WriteReply, strictly)

/** The message is well-formed, but its content is wrong. */
export class WireMismatch extends Error {}

/** What a message says, or why it cannot be read. */
export const decoded = <Wire, A>(
  decode: (json: unknown) => Result.Result<Wire, Parameters<typeof malformedMessage>[0]>,
  text: string,
  use: (wire: Wire) => A,
): Decoded<A> => {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return Result.fail("it is not JSON")
  }
  const wire = decode(json)
  if (Result.isFailure(wire)) return Result.fail(malformedMessage(wire.failure))
  return matching(() => use(wire.success))
}

/** The result of `use`, or what is wrong with the content of a well-formed message. */
const matching = <A>(use: () => A): Decoded<A> => {
  try {
    return Result.succeed(use())
  } catch (error) {
    if (error instanceof WireMismatch) return Result.fail(error.message)
    throw error
  }
}

/** The specs of one message, each once. */
class Specs {
  readonly all: Array<Spec> = []
  readonly #places = new Map<Spec, number>()

  placeOf(spec: Spec): number {
    const known = this.#places.get(spec)
    if (known !== undefined) return known
    this.#places.set(spec, this.all.length)
    return this.all.push(spec) - 1
  }
}

const specAt = (specs: ReadonlyArray<Spec>, place: number): Spec => {
  const spec = specs[place]
  if (spec === undefined) throw new WireMismatch(`it has no spec ${place}`)
  return spec
}

const itemToWire = (item: CarriedItem, specs: Specs): ItemOnWire => {
  if (item.kind === "put") return { ...item, timer: timerToWire(item.timer, specs) }
  if (item.kind === "schedule") {
    const { inFlight: _, timer, ...rest } = item
    return { ...rest, timer: { ...timerToWire(timer, specs), askedAt: timer.askedAt } }
  }
  const { key, ...bare } = item
  const named = { namespace: key.namespace, timerId: key.timerId }
  if (bare.kind === "replay" || bare.kind === "discard") return { ...bare, ...named }
  const { inFlight: _, ...rest } = bare
  return rest.kind === "cancel" ? { ...rest, ...named } : { ...rest, ...named, set: setToWire(rest.set) }
}

const itemFromWire = (item: ItemOnWire, specs: ReadonlyArray<Spec>): CarriedItem => {
  switch (item.kind) {
    case "put":
      return { ...item, timer: timerFromWire(item.timer, specs) }
    case "schedule":
      return { ...item, timer: { ...timerFromWire(item.timer, specs), askedAt: item.timer.askedAt } }
    case "change": {
      const { namespace, timerId, set, ...rest } = item
      return { ...rest, key: keyOf(namespace, timerId), set: setFromWire(set) }
    }
    case "cancel":
    case "replay":
    case "discard": {
      const { namespace, timerId, ...rest } = item
      return { ...rest, key: keyOf(namespace, timerId) }
    }
  }
}

type SetOnWire = Extract<ItemOnWire, { kind: "change" }>["set"]

const setToWire = ({ payload, ...rest }: Change["set"]): SetOnWire =>
  payload === undefined ? rest : { ...rest, payload: payload === null ? null : textOf(payload) }

const setFromWire = ({ payload, ...rest }: SetOnWire): Change["set"] =>
  payload === undefined ? rest : { ...rest, payload: payload === null ? null : bytesOf(payload) }

const timerToWire = ({ uuid: _, spec, payload, ...rest }: Timer, specs: Specs): TimerOnWire => ({
  ...rest,
  spec: specs.placeOf(spec),
  ...(payload === undefined ? {} : { payload: textOf(payload) }),
})

const timerFromWire = (wire: TimerOnWire, specs: ReadonlyArray<Spec>): Timer => {
  const { spec, payload, ...rest } = withOneLog(wire)
  const found = { ...rest, ...keyOf(rest.namespace, rest.timerId), spec: specAt(specs, spec) }
  return payload === undefined ? found : { ...found, payload: bytesOf(payload) }
}

const lifeToWire = ({ uuid: _, spec, ...rest }: FinishedLife, specs: Specs): AnsweredLife => ({
  ...rest,
  spec: specs.placeOf(spec),
})

const lifeFromWire = (wire: AnsweredLife, specs: ReadonlyArray<Spec>): FinishedLife => {
  const { spec, ...rest } = withOneLog(wire)
  return { ...rest, ...keyOf(rest.namespace, rest.timerId), spec: specAt(specs, spec) }
}

const answerToWire = (carried: CarriedAnswer, specs: Specs): typeof AnswerOnWire.Type => {
  if (carried.kind !== "answered") return carried
  const { answer } = carried
  if ("timer" in answer) {
    const { payload: _, ...timer } = withShortLog(answer.timer)
    return { kind: "answered", answer: { ...answer, timer: timerToWire(timer, specs) } }
  }
  if ("life" in answer) {
    const { payload: _, ...life } = withShortLog(answer.life)
    return { kind: "answered", answer: { ...answer, life: lifeToWire(life, specs) } }
  }
  // The remaining answers belong to outcomes and records, which are never forwarded.
  return { kind: "answered", answer: answer as WriteAnswerOnWire }
}

/** Callers do not see what receivers answered to earlier attempts of a timer that they write. */
const withShortLog = <Row extends Timer | FinishedLife>(row: Row): Row =>
  row.attemptLog === undefined ? row : { ...row, attemptLog: withoutAnswers(row.attemptLog) }

const answerFromWire = (
  answer: WriteAnswerOnWire,
  item: CarriedItem | undefined,
  specs: ReadonlyArray<Spec>,
): Extract<CarriedAnswer, { kind: "answered" }>["answer"] => {
  if ("life" in answer) return { ...answer, life: lifeFromWire(answer.life, specs) }
  if (!("timer" in answer)) return answer
  const timer = timerFromWire(answer.timer, specs)
  if (!isArmedBy(item, timer) || item.timer.payload === undefined) return { ...answer, timer }
  return { ...answer, timer: { ...timer, payload: item.timer.payload } }
}

/** An arming keeps its payload, so a timer that this create armed has the payload of the create. */
const isArmedBy = (
  item: CarriedItem | undefined,
  timer: Timer,
): item is Extract<CarriedItem, { kind: "put" }> => item?.kind === "put" && item.timer.fireId === timer.fireId

const textOf = (payload: Uint8Array): string =>
  Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength).toString("base64")

/** Copies the bytes: small buffers of the runtime share a larger one, and would keep it alive. */
const bytesOf = (text: string): Uint8Array => Uint8Array.from(Buffer.from(text, "base64"))
