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
import { Effect } from "effect"
import type { Call } from "./Call.ts"

/** What is known of a message besides its bytes. */
export type MessageFacts = Omit<ListedMessage, "preview">

export interface MessageFound {
  readonly message: MessageFacts
  /** The message as it came. Parsed and written again, its large numbers would be others. */
  readonly original: Uint8Array
  /** The bytes are a message of the bus; else they are whatever came. */
  readonly isSound: boolean
}

export interface MessageCalls {
  readonly list: Call<ListMessages, ListMessagesAnswer>
  readonly get: Call<GetMessage, MessageFound>
  readonly replay: Call<ReplayMessage, typeof ReplayMessageAnswer.Type>
  readonly discard: Call<DiscardMessage, typeof DiscardMessageAnswer.Type>
}

/** Nothing is given where there is no bus: then there are no messages, either. */
export const makeMessageCalls = (kept: UndeliverableMessages["Service"] | undefined): MessageCalls => ({
  list: ({ body: { namespace, cursor, limit = defaultMessagesPage } }) => {
    if (kept === undefined) return Effect.succeed({ messages: [] })
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) }
    return kept.list(namespace, page).pipe(
      Effect.map(({ messages, next }) => ({
        messages: messages.map(listed),
        ...(next === undefined ? {} : { nextCursor: next }),
      })),
      Effect.mapError((error) =>
        error.isPermanent === true && cursor !== undefined ? wrongCursor(error) : problemOfBus("no")(error),
      ),
    )
  },
  get: ({ body: { namespace, id } }) =>
    Effect.flatMap(asked(kept?.find(namespace, id), "no"), (found) =>
      found === undefined
        ? missing
        : Effect.succeed({
            message: factsOf(found),
            original: found.original,
            isSound: found.record.envelope !== undefined,
          }),
    ),
  replay: ({ body: { namespace, id } }) =>
    Effect.flatMap(asked(kept?.replay(namespace, id), "unknown"), (result) =>
      result === undefined || result === "notFound" ? missing : Effect.succeed({ result }),
    ),
  discard: ({ body: { namespace, id } }) =>
    Effect.flatMap(asked(kept?.discard(namespace, id), "unknown"), (result) =>
      result === undefined || result === "notFound" ? missing : Effect.succeed({ result }),
    ),
})

/** `written`: whether a call that the broker failed may have had an effect. */
const asked = <A>(
  answer: Effect.Effect<A, BusError> | undefined,
  written: Written,
): Effect.Effect<A | undefined, Problem> =>
  answer === undefined ? Effect.undefined : Effect.mapError(answer, problemOfBus(written))

const missing: Effect.Effect<never, Problem> = Effect.fail(
  new MessageNotFound({ detail: "The namespace has no undeliverable message of this id." }),
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

/** A character takes at most four bytes. */
const listed = (message: UndeliverableMessage): ListedMessage => ({
  ...factsOf(message),
  preview: decoder
    .decode(message.original.subarray(0, 4 * messagePreviewChars))
    .slice(0, messagePreviewChars)
    .toWellFormed(),
})

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
