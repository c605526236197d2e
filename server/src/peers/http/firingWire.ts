// What nodes ask each other about timers on a list, as JSON: who owns them says what they do now. A list has up to 1,000
// timers that mostly share a namespace, a host and a reason. So these stand once, and the rest goes as columns: one array
// of 1,000 texts is checked several times faster than 1,000 objects, and a request must not hold the thread for long.
import { waitingReasons } from "@punctual/api/Waiting"
import { Schema, SchemaParser } from "effect"
import type { FiringStatus } from "../../domain/Waiting.ts"
import type { AskedTimer } from "../../ports/Peers.ts"
import { type Decoded, decoded, itemsMax, strictly, WireMismatch } from "./peerWire.ts"

const Texts = Schema.Array(Schema.String).check(Schema.isMaxLength(itemsMax))
const Numbers = Schema.Array(Schema.Int).check(Schema.isMaxLength(itemsMax))

const FiringCall = Schema.Struct({
  targets: Schema.Array(
    Schema.Struct({
      namespace: Schema.String,
      type: Schema.Literals(["webhook", "event", "handler"]),
      host: Schema.String,
    }),
  ).check(Schema.isMaxLength(itemsMax)),
  /** For each timer the place of its target. */
  places: Numbers,
  uuids: Texts,
  fireIds: Texts,
  fireAts: Numbers,
  updatedAts: Numbers,
})

const FiringReply = Schema.Struct({
  reasons: Schema.Array(
    Schema.Struct({ reason: Schema.Literals(waitingReasons), detail: Schema.String }),
  ).check(Schema.isMaxLength(itemsMax)),
  /** For each timer the place of its reason, or one of the two below. */
  places: Numbers,
  sinces: Numbers,
})

const nothingToSay = -1
const inFlight = -2

const decodeCall = SchemaParser.decodeUnknownResult(FiringCall, strictly)
const decodeReply = SchemaParser.decodeUnknownResult(FiringReply, strictly)

export const encodeFiringCall = (timers: ReadonlyArray<AskedTimer>): string => {
  const targets = new Places<(typeof FiringCall.Type)["targets"][number]>()
  const wire: typeof FiringCall.Type = {
    places: timers.map(({ namespace, targetType, host }) =>
      targets.placeOf(`${namespace} ${targetType} ${host}`, { namespace, type: targetType, host }),
    ),
    targets: targets.all,
    uuids: timers.map(({ uuid }) => uuid),
    fireIds: timers.map(({ fireId }) => fireId),
    fireAts: timers.map(({ fireAt }) => fireAt),
    updatedAts: timers.map(({ updatedAt }) => updatedAt),
  }
  return JSON.stringify(wire)
}

export const decodeFiringCall = (text: string): Decoded<ReadonlyArray<AskedTimer>> =>
  decoded(decodeCall, text, ({ targets, places, uuids, fireIds, fireAts, updatedAts }) =>
    places.map((place, index): AskedTimer => {
      const { namespace, type, host } = at(targets, place)
      return {
        namespace,
        uuid: at(uuids, index),
        fireId: at(fireIds, index),
        fireAt: at(fireAts, index),
        updatedAt: at(updatedAts, index),
        targetType: type,
        host,
      }
    }),
  )

export const encodeFiringReply = (statuses: ReadonlyArray<FiringStatus>): string => {
  const reasons = new Places<(typeof FiringReply.Type)["reasons"][number]>()
  const wire: typeof FiringReply.Type = {
    places: statuses.map(({ inFlightSinceMs, waiting }) => {
      if (inFlightSinceMs !== undefined) return inFlight
      if (waiting === undefined) return nothingToSay
      const { reason, detail } = waiting
      return reasons.placeOf(`${reason} ${detail}`, { reason, detail })
    }),
    reasons: reasons.all,
    sinces: statuses.map(({ inFlightSinceMs, waiting }) => inFlightSinceMs ?? waiting?.sinceMs ?? 0),
  }
  return JSON.stringify(wire)
}

export const decodeFiringReply = (text: string): Decoded<ReadonlyArray<FiringStatus>> =>
  decoded(decodeReply, text, ({ reasons, places, sinces }) =>
    places.map((place, index): FiringStatus => {
      const sinceMs = at(sinces, index)
      if (place === nothingToSay) return {}
      return place === inFlight
        ? { inFlightSinceMs: sinceMs }
        : { waiting: { ...at(reasons, place), sinceMs } }
    }),
  )

/** What many have in common, each once. */
class Places<A> {
  readonly all: Array<A> = []
  readonly #places = new Map<string, number>()

  placeOf(name: string, value: A): number {
    const known = this.#places.get(name)
    if (known !== undefined) return known
    this.#places.set(name, this.all.length)
    return this.all.push(value) - 1
  }
}

const at = <A>(column: ReadonlyArray<A>, place: number): A => {
  const value = column[place]
  if (value === undefined) throw new WireMismatch(`a column has no place ${place}`)
  return value
}
