// The messages of the bus that could not be handled, for operators.
import {
  type DiscardMessage,
  type DiscardMessageAnswer,
  defaultMessagesPage,
  type GetMessage,
  type ListedMessage,
  type ListMessages,
  type ListMessagesAnswer,
  messagePreviewChars,
  type ReplayMessage,
  type ReplayMessageAnswer,
} from "@punctual/api/Messages"
import {
  BrokerUnavailable,
  InvalidRequest,
  MessageNotFound,
  MessageRefusedByBus,
  type Problem,
  type Written,
} from "@punctual/api/Problem"
import type { BusError } from "@punctual/bus/Bus"
import type { UndeliverableMessage, UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import type { Caller } from "@punctual/door/Caller"
import { Effect } from "effect"
import type { Call } from "./Call.ts"

/** The fields of a message without its bytes. */
export type MessageFacts = Omit<ListedMessage, "preview">

export interface MessageFound {
  readonly message: MessageFacts
  /**
   * The original message. Parsing it and writing it again would change large numbers. Absent if the caller may not read
   * payloads.
   */
  readonly original?: Uint8Array
  /** The bytes are a valid message of the bus. */
  readonly isSound: boolean
}

export interface MessageCalls {
  readonly list: Call<ListMessages, ListMessagesAnswer>
  readonly get: Call<GetMessage, MessageFound>
  readonly replay: Call<ReplayMessage, typeof ReplayMessageAnswer.Type>
  readonly discard: Call<DiscardMessage, typeof DiscardMessageAnswer.Type>
}

/** `kept` is `undefined` if there is no bus: then there are no messages. */
export const makeMessageCalls = (kept: UndeliverableMessages["Service"] | undefined): MessageCalls => ({
  list: ({ body: { namespace, cursor, limit = defaultMessagesPage }, caller }) => {
    if (kept === undefined) return Effect.succeed({ messages: [] })
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) }
    return kept.list(namespace, page).pipe(
      Effect.map(({ messages, next }) => ({
        messages: messages.map((message) => listed(message, mayRead(caller, message))),
        ...(next === undefined ? {} : { nextCursor: next }),
      })),
      Effect.mapError((error) =>
        error.isPermanent === true && cursor !== undefined ? wrongCursor(error) : problemOfBus("no")(error),
      ),
    )
  },
  get: ({ body: { namespace, id }, caller }) =>
    Effect.flatMap(asked(kept?.find(namespace, id), "no"), (found) =>
      found === undefined
        ? missing
        : Effect.succeed({
            message: factsOf(found),
            ...(mayRead(caller, found) ? { original: found.original } : {}),
            isSound: found.record.envelope !== undefined,
          }),
    ),
  replay: ({ body: { namespace, id }, note }) => {
    note?.({ about: { namespace, id } })
    return Effect.flatMap(asked(kept?.replay(namespace, id), "unknown"), (result) => {
      if (result === undefined || result === "notFound") return missing
      note?.({ count: result === "replayed" ? 1 : 0 })
      return Effect.succeed({ result })
    })
  },
  discard: ({ body: { namespace, id }, note }) => {
    note?.({ about: { namespace, id } })
    return Effect.flatMap(asked(kept?.discard(namespace, id), "unknown"), (result) => {
      if (result === undefined || result === "notFound") return missing
      note?.({ count: 1 })
      return Effect.succeed({ result })
    })
  },
})

/** `written` says whether a call may have had an effect if the broker fails. */
const asked = <A>(
  answer: Effect.Effect<A, BusError> | undefined,
  written: Written,
): Effect.Effect<A | undefined, Problem> =>
  answer === undefined ? Effect.undefined : Effect.mapError(answer, problemOfBus(written))

const missing: Effect.Effect<never, Problem> = Effect.fail(
  new MessageNotFound({ detail: "The namespace has no undeliverable message with this id." }),
)

const problemOfBus =
  (written: Written) =>
  ({ message: detail, isPermanent }: BusError): Problem =>
    isPermanent === true
      ? new MessageRefusedByBus({ detail })
      : new BrokerUnavailable({ detail, retryAfterSeconds: 5, written })

const wrongCursor = ({ message }: BusError): Problem =>
  new InvalidRequest({
    detail: "The request is not valid.",
    errors: [{ pointer: "/cursor", detail: message }],
  })

const factsOf = ({ id, tenant, storedAt, record, original }: UndeliverableMessage): MessageFacts => {
  const { reason, group, deliveries, firstFailure, lastFailure, envelope, isCut } = record
  return {
    id,
    namespace: tenant,
    storedAt,
    reason,
    ...(group === undefined ? {} : { group }),
    deliveries,
    firstFailure,
    lastFailure,
    ...(envelope === undefined ? {} : factsOfEnvelope(envelope)),
    messageBytes: original.byteLength,
    ...(isCut === undefined ? {} : { isCut }),
  }
}

const factsOfEnvelope = ({
  type,
  aggregateId,
  id,
  correlationId,
}: NonNullable<UndeliverableMessage["record"]["envelope"]>) => ({
  type,
  aggregateId,
  messageId: id,
  ...(correlationId === undefined ? {} : { correlationId }),
})

/** A character has at most four bytes. */
const listed = (message: UndeliverableMessage, withPreview: boolean): ListedMessage => ({
  ...factsOf(message),
  preview: withPreview ? previewOf(message.original) : "",
})

const previewOf = (original: Uint8Array): string =>
  decoder
    .decode(original.subarray(0, 4 * messagePreviewChars))
    .slice(0, messagePreviewChars)
    .toWellFormed()

/** A message contains the payload of its timer. */
const mayRead = (caller: Caller, { tenant }: UndeliverableMessage): boolean =>
  caller.may("payload.read", tenant)

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
