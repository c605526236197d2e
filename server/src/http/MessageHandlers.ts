// The calls of the contract about messages that could not be handled: what the bus keeps of them, as text.
import { formatInstant } from "@punctual/api/Instant"
import {
  type DiscardMessage,
  defaultMessagesPage,
  type GetMessage,
  type ListMessages,
  messagePreviewChars,
  type ReplayMessage,
} from "@punctual/api/Messages"
import {
  BrokerUnavailable,
  InvalidRequest,
  MessageNotFound,
  MessageRefusedByBus,
  type Problem,
} from "@punctual/api/Problem"
import type { BusError } from "@punctual/bus/Bus"
import type { Failure } from "@punctual/bus/Undeliverable"
import type { UndeliverableMessage, UndeliverableMessages } from "@punctual/bus/UndeliverableMessages"
import { Effect } from "effect"
import type { ApiHandler } from "./ApiCall.ts"

/** By the names that the contract gives its endpoints. */
export interface MessageHandlers {
  readonly "messages.list": ApiHandler<ListMessages>
  readonly "messages.get": ApiHandler<GetMessage>
  readonly "messages.replay": ApiHandler<ReplayMessage>
  readonly "messages.discard": ApiHandler<DiscardMessage>
}

/** Nothing is given where there is no bus: then there are no messages, either. */
export const makeMessageHandlers = (kept: UndeliverableMessages["Service"] | undefined): MessageHandlers => ({
  "messages.list": ({ body: { namespace, cursor, limit = defaultMessagesPage } }) => {
    if (kept === undefined) return Effect.succeed('{"messages":[]}')
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) }
    return kept.list(namespace, page).pipe(
      Effect.map(({ messages, next }) =>
        JSON.stringify({ messages: messages.map(listed), nextCursor: next }),
      ),
      Effect.mapError((error) =>
        error.isPermanent === true && cursor !== undefined ? wrongCursor(error) : problemOf(error),
      ),
    )
  },
  "messages.get": ({ body: { namespace, id } }) =>
    Effect.flatMap(asked(kept?.find(namespace, id)), (message) =>
      message === undefined ? missing : Effect.succeed(`{"message":${wholeJson(message)}}`),
    ),
  "messages.replay": ({ body: { namespace, id } }) =>
    Effect.flatMap(asked(kept?.replay(namespace, id)), resultOf),
  "messages.discard": ({ body: { namespace, id } }) =>
    Effect.flatMap(asked(kept?.discard(namespace, id)), resultOf),
})

const asked = <A>(answer: Effect.Effect<A, BusError> | undefined): Effect.Effect<A | undefined, Problem> =>
  answer === undefined ? Effect.undefined : Effect.mapError(answer, problemOf)

const missing: Effect.Effect<never, Problem> = Effect.fail(
  new MessageNotFound({ detail: "The namespace has no undeliverable message of this id." }),
)

const resultOf = (
  result: "replayed" | "duplicate" | "discarded" | "notFound" | undefined,
): Effect.Effect<string, Problem> =>
  result === undefined || result === "notFound" ? missing : Effect.succeed(JSON.stringify({ result }))

const problemOf = ({ message: detail, isPermanent }: BusError): Problem =>
  isPermanent === true
    ? new MessageRefusedByBus({ detail })
    : new BrokerUnavailable({ detail, retryAfterSeconds: 5 })

const wrongCursor = ({ message }: BusError): Problem =>
  new InvalidRequest({
    detail: "The request is not valid.",
    errors: [{ pointer: "/cursor", detail: message }],
  })

const factsOf = ({ id, tenant, storedAt, record, original }: UndeliverableMessage) => {
  const { reason, group, deliveries, envelope } = record
  return {
    id,
    namespace: tenant,
    storedAt: formatInstant(storedAt),
    reason,
    group,
    deliveries,
    firstFailure: failureJson(record.firstFailure),
    lastFailure: failureJson(record.lastFailure),
    type: envelope?.type,
    aggregateId: envelope?.aggregateId,
    messageId: envelope?.id,
    correlationId: envelope?.correlationId,
    messageBytes: original.byteLength,
    isCut: record.isCut,
  }
}

const failureJson = ({ at, error }: Failure) => ({ at: formatInstant(at), error })

/** A character takes at most four bytes. */
const listed = (message: UndeliverableMessage) => ({
  ...factsOf(message),
  preview: decoder
    .decode(message.original.subarray(0, 4 * messagePreviewChars))
    .slice(0, messagePreviewChars)
    .toWellFormed(),
})

/** A sound message stands in the answer as it came: parsed and written again, its large numbers would be others. */
const wholeJson = (message: UndeliverableMessage): string => {
  const { record, original } = message
  const body =
    record.envelope === undefined
      ? `"raw":"${Buffer.from(original).toString("base64")}"`
      : `"envelope":${decoder.decode(original)}`
  return `${JSON.stringify(factsOf(message)).slice(0, -1)},${body}}`
}

const decoder = new TextDecoder("utf-8", { ignoreBOM: true })
