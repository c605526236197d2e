/**
 * `/messages/…`: messages of the bus that could not be handled, for operators. A list shows the beginning of each message;
 * the whole of it, byte for byte where it is a sound message, is in the answer of get.
 */
import { Schema } from "effect"
import { AnyJson } from "./AnyJson.ts"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import type { Limits } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { perLimits } from "./perLimits.ts"

/** The namespace under which messages are kept that name no valid namespace. No caller can have it. */
export const unknownNamespace = "_unknown"

const namespaceMessage = `must be a namespace, or ${unknownNamespace}`

const isNamespace = Schema.is(Namespace)

const MessageNamespace = Schema.String.annotate({ message: namespaceMessage }).check(
  Schema.makeFilter(
    (text: string) => (text === unknownNamespace || isNamespace(text) ? undefined : namespaceMessage),
    {
      toJsonSchema: () => ({ pattern: `^(${unknownNamespace}|[A-Za-z0-9-][A-Za-z0-9_-]{0,99})$` }),
      description: `Whose message it is; ${unknownNamespace} if it names nobody.`,
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

/** The largest page; what is sent, at most, of each message in a list. */
export const messagesPage = 1_000
export const messagePreviewChars = 200

const pageDefault = 100

export const makeListMessages = perLimits((limits: Limits) => {
  const limitMessage = `must be a whole number from 1 to ${messagesPage}`
  const cursorMessage = "must be the nextCursor of an earlier answer"
  return Schema.Struct({
    namespace: Schema.optionalKey(
      MessageNamespace.annotate({ description: "Whose messages; those of all namespaces when left out." }),
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
          { message: limitMessage, description: `The size of a page; ${pageDefault} when left out.` },
        ),
      ),
    ),
  }).annotate({ message: "must be a JSON object", identifier: "ListMessages" })
})

export type ListMessages = ReturnType<typeof makeListMessages>["Type"]

export const defaultMessagesPage = pageDefault

const MessageFailure = Schema.Struct({ at: Instant, error: Schema.String }).annotate({
  identifier: "MessageFailure",
  description: "When handling failed, and of what.",
})

const facts = {
  id: Schema.String,
  namespace: Schema.String,
  storedAt: Instant.pipe(described("When it was found to be undeliverable.")),
  reason: Schema.Literals(["malformed", "refused", "deliveriesExhausted"]).annotate({
    description:
      "malformed: it is no message that could be read; refused: no retry can help; deliveriesExhausted: it failed too often.",
  }),
  group: Schema.optionalKey(Schema.String.annotate({ description: "Who could not handle it." })),
  deliveries: Count.annotate({ description: "How often it was delivered." }),
  firstFailure: MessageFailure,
  lastFailure: MessageFailure,
  type: Schema.optionalKey(Schema.String.annotate({ description: "What it is, such as ScheduleTimer." })),
  aggregateId: Schema.optionalKey(
    Schema.String.annotate({ description: "What it is about, such as the id of a timer." }),
  ),
  messageId: Schema.optionalKey(Schema.String.annotate({ description: "The id of its envelope." })),
  correlationId: Schema.optionalKey(Schema.String),
  messageBytes: Count.annotate({ description: "The size of the message as it came." }),
  isCut: Schema.optionalKey(
    Schema.Boolean.annotate({ description: "The message was too large to be kept whole." }),
  ),
}

export const ListedMessage = Schema.Struct({
  ...facts,
  preview: Schema.String.annotate({
    description: `The first ${messagePreviewChars} characters of the message.`,
  }),
}).annotate({
  identifier: "ListedMessage",
  description: "An undeliverable message, without all of its body.",
})

export type ListedMessage = typeof ListedMessage.Type

export const ListMessagesAnswer = Schema.Struct({
  messages: Schema.Array(ListedMessage),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({ description: "Present when there is more: send it as cursor." }),
  ),
}).annotate({ identifier: "ListMessagesAnswer", description: "Undeliverable messages, oldest first." })

export type ListMessagesAnswer = typeof ListMessagesAnswer.Type

export const GetMessage = oneMessage("GetMessage")
export type GetMessage = typeof GetMessage.Type

export const StoredMessage = Schema.Struct({
  ...facts,
  envelope: Schema.optionalKey(AnyJson.annotate({ description: "The message as it came, if it is sound." })),
  raw: Schema.optionalKey(Schema.String.annotate({ description: "Else the message as base64." })),
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
      "replayed: it was sent again, and is no longer kept here; duplicate: the broker has it from an earlier replay, nothing was sent, and it is still here.",
  }),
}).annotate({ identifier: "ReplayMessageAnswer" })

export const DiscardMessage = oneMessage("DiscardMessage")
export type DiscardMessage = typeof DiscardMessage.Type

export const DiscardMessageAnswer = Schema.Struct({ result: Schema.Literal("discarded") }).annotate({
  identifier: "DiscardMessageAnswer",
})
