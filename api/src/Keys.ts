/**
 * `/keys/…` and `/sessions/…`: who may call the service. An answer shows the text of a key only once, when the key is
 * made or rotated. Everything else about a key is no secret.
 */
import { Schema } from "effect"
import { makeCursor } from "./Cursor.ts"
import { durationBetween } from "./DurationMs.ts"
import { described, usedFor } from "./described.ts"
import { emptyBody } from "./emptyBody.ts"
import { Instant } from "./Instant.ts"
import { KeyAction, KeyActions, Role } from "./KeyRights.ts"
import type { Limits } from "./Limits.ts"
import { KeyNamespaces } from "./NamespaceChoices.ts"
import { atMostOneOf, exactlyOneOf } from "./oneOf.ts"
import { perLimits } from "./perLimits.ts"
import { visiblePattern, whyNotVisible } from "./whyNotVisible.ts"

const dayMs = 86_400_000
const object = { message: "must be a JSON object" } as const

const idMessage = "must be the id of a key: 10 letters and digits"

const KeyId = Schema.String.annotate({ message: idMessage }).check(
  Schema.isPattern(/^[0-9A-Za-z]{10}$/u, {
    message: idMessage,
    description: "The public part of a key, between pnct_ and the next underscore.",
    examples: ["7sKq20XbnR"],
  }),
)

const textMessage = "must be the text of a key"

const KeyTextInput = Schema.String.annotate({ message: textMessage }).check(
  Schema.isBetweenLength(1, 256, { message: textMessage, description: "The whole text of a key." }),
)

const labelMessage = "must be text of 1 to 100 characters"

const KeyLabel = Schema.String.annotate({ message: labelMessage }).check(
  Schema.isBetweenLength(1, 100, {
    message: labelMessage,
    description: "What the key is for, or who has it.",
    examples: ["billing service"],
  }),
  Schema.makeFilter(whyNotVisible, { toJsonSchema: () => ({ pattern: visiblePattern }) }),
)

const expiry = {
  expiresAt: Schema.optionalKey(
    Instant.pipe(described("When the key stops working (default: never). It must be in the future.")),
  ),
  expiresIn: Schema.optionalKey(
    durationBetween(60_000, 3653 * dayMs).pipe(usedFor("The same, as a duration from now.")),
  ),
}

export const CreateKey = Schema.Struct({
  label: KeyLabel,
  role: Schema.optionalKey(Role),
  actions: Schema.optionalKey(KeyActions),
  namespaces: Schema.optionalKey(KeyNamespaces),
  ...expiry,
})
  .annotate(object)
  .check(exactlyOneOf("role", "actions"), atMostOneOf("expiresAt", "expiresIn"))
  .annotate({ identifier: "CreateKey" })
export type CreateKey = typeof CreateKey.Type

export const keyStates = ["active", "expired", "revoked", "unconfirmed", "unreadable"] as const

const rights = {
  actions: Schema.Array(KeyAction).annotate({ description: "What the key may do." }),
  namespaces: Schema.Array(Schema.String).annotate({ description: "Where the key may do it." }),
}

const Key = Schema.Struct({
  id: Schema.String,
  label: Schema.String,
  state: Schema.Literals(keyStates).annotate({
    description:
      "active: the key works; expired, revoked: it does not work any more; unconfirmed: it is from before a restore of the store, and works after /keys/confirm; unreadable: its record in the store is damaged.",
  }),
  ...rights,
  createdAt: Schema.optionalKey(Instant),
  madeBy: Schema.optionalKey(
    Schema.String.annotate({
      description: "The label and the id of the key that made it, or the way it was made.",
    }),
  ),
  expiresAt: Schema.optionalKey(Instant),
  revokedAt: Schema.optionalKey(Instant),
  lastUsedAt: Schema.optionalKey(Instant.pipe(described("Exact to 5 minutes."))),
  oldSecretUntil: Schema.optionalKey(
    Instant.pipe(described("During a rotation: until then the previous text of the key works too.")),
  ),
}).annotate({ identifier: "Key", description: "A key, without its text." })
export type Key = typeof Key.Type

export const KeyAnswer = Schema.Struct({ key: Key }).annotate({ identifier: "KeyAnswer" })
export type KeyAnswer = typeof KeyAnswer.Type

export const NewKeyAnswer = Schema.Struct({
  key: Key,
  apiKey: Schema.String.annotate({
    description: "The text of the key. The service stores only a hash of it and cannot show it again.",
  }),
}).annotate({ identifier: "NewKeyAnswer", description: "A key with its text." })
export type NewKeyAnswer = typeof NewKeyAnswer.Type

export const keysPage = 100

const limitMessage = `must be a whole number from 1 to ${keysPage}`

export const makeListKeys = perLimits((limits: Limits) =>
  Schema.Struct({
    limit: Schema.optionalKey(
      Schema.Number.annotate({ message: limitMessage }).check(
        Schema.isInt({ message: limitMessage }),
        Schema.isBetween(
          { minimum: 1, maximum: keysPage },
          { message: limitMessage, description: `The size of a page (default ${keysPage}).` },
        ),
      ),
    ),
    cursor: Schema.optionalKey(makeCursor(limits)),
  }).annotate({ ...object, identifier: "ListKeys" }),
)
export type ListKeys = ReturnType<typeof makeListKeys>["Type"]

export const ListKeysAnswer = Schema.Struct({
  keys: Schema.Array(Key),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({ description: "Present if there are more keys. Send it as cursor." }),
  ),
}).annotate({ identifier: "ListKeysAnswer", description: "Keys, the newest first." })
export type ListKeysAnswer = typeof ListKeysAnswer.Type

export const GetKey = Schema.Struct({ id: KeyId }).annotate({ ...object, identifier: "GetKey" })
export type GetKey = typeof GetKey.Type

export const RevokeKey = Schema.Struct({ id: KeyId }).annotate({ ...object, identifier: "RevokeKey" })
export type RevokeKey = typeof RevokeKey.Type

export const defaultGraceMs = dayMs

export const RotateKey = Schema.Struct({
  id: KeyId,
  grace: Schema.optionalKey(
    durationBetween(0, 30 * dayMs).pipe(
      usedFor("How long the present text of the key goes on working (default 24h)."),
    ),
  ),
}).annotate({ ...object, identifier: "RotateKey" })
export type RotateKey = typeof RotateKey.Type

export const RevokeLeakedKey = Schema.Struct({ apiKey: KeyTextInput }).annotate({
  ...object,
  identifier: "RevokeLeakedKey",
})
export type RevokeLeakedKey = typeof RevokeLeakedKey.Type

export const RevokeLeakedKeyAnswer = Schema.Struct({
  result: Schema.Literals(["revoked", "alreadyRevoked"]),
}).annotate({ identifier: "RevokeLeakedKeyAnswer" })
export type RevokeLeakedKeyAnswer = typeof RevokeLeakedKeyAnswer.Type

export const ConfirmKeys = Schema.Struct({
  id: Schema.optionalKey(KeyId),
  all: Schema.optionalKey(
    Schema.Literal(true).annotate({ message: "must be true", description: "Confirm all keys." }),
  ),
})
  .annotate(object)
  .check(exactlyOneOf("id", "all"))
  .annotate({ identifier: "ConfirmKeys" })
export type ConfirmKeys = typeof ConfirmKeys.Type

export const ConfirmKeysAnswer = Schema.Struct({
  confirmed: Schema.Array(Schema.String).annotate({ description: "The ids of the keys that work again." }),
}).annotate({ identifier: "ConfirmKeysAnswer" })
export type ConfirmKeysAnswer = typeof ConfirmKeysAnswer.Type

export const GetSelf = emptyBody("GetSelf")
export type GetSelf = typeof GetSelf.Type

export const SelfAnswer = Schema.Struct({
  name: Schema.String.annotate({ description: "The label of the key; anonymous if no keys are in force." }),
  keyId: Schema.optionalKey(Schema.String),
  keysRequired: Schema.Boolean.annotate({ description: "Whether calls need a key." }),
  ...rights,
  expiresAt: Schema.optionalKey(Instant),
}).annotate({ identifier: "SelfAnswer", description: "Who the caller is, and what the caller may do." })
export type SelfAnswer = typeof SelfAnswer.Type

export const CreateSession = Schema.Struct({ apiKey: KeyTextInput }).annotate({
  ...object,
  identifier: "CreateSession",
})
export type CreateSession = typeof CreateSession.Type

export const SessionAnswer = Schema.Struct({
  name: Schema.String,
  endsAt: Instant.pipe(described("When the session ends. It also ends with its key.")),
}).annotate({ identifier: "SessionAnswer" })
export type SessionAnswer = typeof SessionAnswer.Type

export const EndSession = emptyBody("EndSession")
export type EndSession = typeof EndSession.Type

export const EndSessionAnswer = Schema.Struct({ result: Schema.Literal("ended") }).annotate({
  identifier: "EndSessionAnswer",
})
export type EndSessionAnswer = typeof EndSessionAnswer.Type
