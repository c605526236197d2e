// What nodes tell each other about the events of their timers, as JSON. A page has up to 1,000 events, so it goes as
// columns: one array of 1,000 texts is checked several times faster than 1,000 objects.
import { timerEventStates, timerEventTypes } from "@punctual/api/TimerEvents"
import { Schema, SchemaParser } from "effect"
import type { TimerEvent } from "../../domain/TimerEvent.ts"
import type { PeerEventsPage } from "../../ports/PeerEvents.ts"
import { type Decoded, decoded, strictly, WireMismatch } from "./peerWire.ts"

/** The most events of one page. */
export const eventsPageMax = 1_000
/** The most feeds that a position names. */
const feedsMax = 64

const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))
const Column = <S extends Schema.Top>(item: S) => Schema.Array(item).check(Schema.isMaxLength(eventsPageMax))

const EventsCall = Schema.Struct({
  after: Schema.Array(Schema.Struct({ feed: Schema.String, number: Count })).check(
    Schema.isMaxLength(feedsMax),
  ),
})

const EventsReply = Schema.Struct({
  feed: Schema.String,
  exclusiveAfter: Count,
  types: Column(Schema.Literals(timerEventTypes)),
  namespaces: Column(Schema.String),
  timerIds: Column(Schema.String),
  /** An empty text if it is not known. */
  fireIds: Column(Schema.String),
  ats: Column(Schema.Int),
  states: Column(Schema.Literals(timerEventStates)),
})

const decodeCall = SchemaParser.decodeUnknownResult(EventsCall, strictly)
const decodeReply = SchemaParser.decodeUnknownResult(EventsReply, strictly)

export const encodeEventsCall = (position: ReadonlyMap<string, number>): string =>
  JSON.stringify({ after: [...position].map(([feed, number]) => ({ feed, number })) })

export const decodeEventsCall = (text: string): Decoded<ReadonlyMap<string, number>> =>
  decoded(decodeCall, text, ({ after }) => new Map(after.map(({ feed, number }) => [feed, number])))

export const encodeEventsReply = ({ feed, exclusiveAfter, events }: PeerEventsPage): string => {
  const wire: typeof EventsReply.Type = {
    feed,
    exclusiveAfter,
    types: events.map(({ type }) => type),
    namespaces: events.map(({ namespace }) => namespace),
    timerIds: events.map(({ timerId }) => timerId),
    fireIds: events.map(({ fireId }) => fireId ?? ""),
    ats: events.map(({ at }) => at),
    states: events.map(({ state }) => state),
  }
  return JSON.stringify(wire)
}

export const decodeEventsReply = (text: string): Decoded<PeerEventsPage> =>
  decoded(
    decodeReply,
    text,
    ({ feed, exclusiveAfter, types, namespaces, timerIds, fireIds, ats, states }) => ({
      feed,
      exclusiveAfter,
      events: types.map((type, place): TimerEvent => {
        const fireId = cell(fireIds, place)
        return {
          type,
          namespace: cell(namespaces, place),
          timerId: cell(timerIds, place),
          ...(fireId === "" ? {} : { fireId }),
          at: cell(ats, place),
          state: cell(states, place),
        }
      }),
    }),
  )

const cell = <A>(column: ReadonlyArray<A>, place: number): A => {
  const value = column[place]
  if (value === undefined) throw new WireMismatch(`a column has no place ${place}`)
  return value
}
