/**
 * `/messages/…`: messages of the bus that could not be handled, for operators. A list shows the beginning of each
 * message. The answer of get has the whole message, byte for byte if it is valid.
 */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { type Limits, pageBytesText } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { perLimits } from "./perLimits.ts"

/** The namespace of messages that name no valid namespace. No caller can use it. */
export const unknownNamespace = "_unknown"

const namespaceMessage = `must be a namespace, or ${unknownNamespace}`

const isNamespace = Schema.is(Namespace)

const MessageNamespace = Schema.String.annotate({ message: namespaceMessage }).check(
  Schema.makeFilter(
    (text: string) => (text === unknownNamespace || isNamespace(text) ? undefined : namespaceMessage),
    {
      toJsonSchema: () => ({ pattern: `^(${unknownNamespace}|[A-Za-z0-9-][A-Za-z0-9_-]{0,99})$` }),
      description: `The namespace of the message; ${unknownNamespace} if the message names none.`,
      examples: ["billing"],
    },
  ),
)

const idMessage = "must be the id of a message, as list shows it"

const MessageId = Schema.String.annotate({ message: idMessage }).check(
  Schema.isBetweenLength(1, 64, {
    message: idMessage,
    description: "The id that the bus gave the message.",
    examples: ["17"],
  }),
)

const oneMessage = (identifier: string) =>
  Schema.Struct({ namespace: MessageNamespace, id: MessageId }).annotate({
    message: "must be a JSON object",
    identifier,
  })

/** The largest page. */
export const messagesPage = 1_000
export const messagePreviewChars = 200

const pageDefault = 100

export const makeListMessages = perLimits((limits: Limits) => {
  const limitMessage = `must be a whole number from 1 to ${messagesPage}`
  const cursorMessage = "must be the nextCursor of an earlier answer"
  return Schema.Struct({
    namespace: Schema.optionalKey(
      MessageNamespace.annotate({ description: "The namespace of the messages (default: all namespaces)." }),
    ),
    cursor: Schema.optionalKey(
      Schema.String.annotate({ message: cursorMessage }).check(
        Schema.isBetweenLength(1, limits.cursorLength, { message: cursorMessage }),
      ),
    ),
    limit: Schema.optionalKey(
      Schema.Number.annotate({ message: limitMessage }).check(
        Schema.isInt({ message: limitMessage }),
        Schema.isBetween(
          { minimum: 1, maximum: messagesPage },
          {
            message: limitMessage,
            description: `The size of a page (default ${pageDefault}). ${pageBytesText}`,
          },
        ),
      ),
    ),
  }).annotate({ message: "must be a JSON object", identifier: "ListMessages" })
})

export type ListMessages = ReturnType<typeof makeListMessages>["Type"]

export const defaultMessagesPage = pageDefault

const MessageFailure = Schema.Struct({ at: Instant, error: Schema.String }).annotate({
  identifier: "MessageFailure",
  description: "When handling the message failed, and why.",
})

const facts = {
  id: Schema.String,
  namespace: Schema.String,
  storedAt: Instant.pipe(described("When the service stored the message as undeliverable.")),
  reason: Schema.Literals(["malformed", "refused", "deliveriesExhausted"]).annotate({
    description:
      "malformed: the message could not be read; refused: a retry cannot help; deliveriesExhausted: handling failed too often.",
  }),
  group: Schema.optionalKey(
    Schema.String.annotate({ description: "The group of consumers that could not handle the message." }),
  ),
  deliveries: Count.annotate({ description: "How often the bus delivered the message." }),
  firstFailure: MessageFailure,
  lastFailure: MessageFailure,
  type: Schema.optionalKey(
    Schema.String.annotate({ description: "The type of the message, such as ScheduleTimer." }),
  ),
  aggregateId: Schema.optionalKey(
    Schema.String.annotate({ description: "The subject of the message, such as the id of a timer." }),
  ),
  messageId: Schema.optionalKey(Schema.String.annotate({ description: "The id of its envelope." })),
  correlationId: Schema.optionalKey(Schema.String),
  messageBytes: Count.annotate({ description: "The size of the original message." }),
  isCut: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "The message was too large, so only its beginning is kept." }),
  ),
}

export const ListedMessage = Schema.Struct({
  ...facts,
  preview: Schema.String.annotate({
    description: `The first ${messagePreviewChars} characters of the message.`,
  }),
}).annotate({
  identifier: "ListedMessage",
  description: "An undeliverable message, with the beginning of its body.",
})

export type ListedMessage = typeof ListedMessage.Type

export const ListMessagesAnswer = Schema.Struct({
  messages: Schema.Array(ListedMessage),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({ description: "Present if there are more messages. Send it as cursor." }),
  ),
}).annotate({ identifier: "ListMessagesAnswer", description: "Undeliverable messages, oldest first." })

export type ListMessagesAnswer = typeof ListMessagesAnswer.Type

export const GetMessage = oneMessage("GetMessage")
export type GetMessage = typeof GetMessage.Type

export const StoredMessage = Schema.Struct({
  ...facts,
  envelope: Schema.optionalKey(AnyJson.annotate({ description: "The original message, if it is valid." })),
  raw: Schema.optionalKey(
    Schema.String.annotate({ description: "The message as base64, if it is not valid." }),
  ),
}).annotate({ identifier: "StoredMessage", description: "An undeliverable message." })

export type StoredMessage = typeof StoredMessage.Type

export const MessageAnswer = Schema.Struct({ message: StoredMessage }).annotate({
  identifier: "MessageAnswer",
})

export const ReplayMessage = oneMessage("ReplayMessage")
export type ReplayMessage = typeof ReplayMessage.Type

export const ReplayMessageAnswer = Schema.Struct({
  result: Schema.Literals(["replayed", "duplicate"]).annotate({
    description:
      "replayed: the message was sent again and is no longer in this list; duplicate: the broker still remembers an earlier replay, so nothing was sent, and the message stays in this list.",
  }),
}).annotate({ identifier: "ReplayMessageAnswer" })

export const DiscardMessage = oneMessage("DiscardMessage")
export type DiscardMessage = typeof DiscardMessage.Type

export const DiscardMessageAnswer = Schema.Struct({ result: Schema.Literal("discarded") }).annotate({
  identifier: "DiscardMessageAnswer",
})
