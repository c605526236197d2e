/**
 * `/namespaces/put`, `get` and `list`: the settings of a namespace. A namespace need not be created; without settings
 * it has the defaults.
 */
import { Schema } from "effect"
import { Count } from "./Count.ts"
import { described } from "./described.ts"
import { Instant } from "./Instant.ts"
import { type Limits, limitHint, pageBytesText } from "./Limits.ts"
import { Namespace } from "./Namespace.ts"
import { perLimits } from "./perLimits.ts"
import { makeRetryPolicyInput, RetryPolicySchema } from "./RetryPolicy.ts"
import { makeOnDead, OnDeadSchema, onDeadMessage } from "./Target.ts"
import { secretBytes, secretMessage, WebhookSecret } from "./WebhookSecret.ts"
import { makeWrittenReason } from "./WrittenReason.ts"

const wholeNumber = (minimum: number, maximum: number, description: string) => {
  const message = `must be a whole number from ${minimum} to ${maximum}, or null`
  return Schema.optionalKey(
    Schema.NullOr(
      Schema.Number.annotate({ message }).check(
        Schema.isInt({ message }),
        Schema.isBetween({ minimum, maximum }, { message, description }),
      ),
    ).annotate({ message }),
  )
}

const secretsMessage = "must be an array of 1 or 2 secrets, or null"

const fingerprintMessage = "must be the fingerprint of a secret, as /namespaces/get shows it"

/** So that a rotation needs only the new secret, because nobody can read the old one from the service. */
const KeptSecret = Schema.Struct({
  fingerprint: Schema.String.annotate({ message: fingerprintMessage }).check(
    Schema.isPattern(/^[0-9a-f]{16}$/u, { message: fingerprintMessage }),
  ),
}).annotate({
  identifier: "KeptSecret",
  description: "A secret that the namespace has already, by its fingerprint. It stays as it is.",
})

export type KeptSecret = typeof KeptSecret.Type

const SecretInput = Schema.Union([WebhookSecret, KeptSecret]).annotate({
  identifier: "WebhookSecretInput",
  message: `${secretMessage}; or { "fingerprint": … } for a secret that the namespace has`,
  description: "A new secret, or the fingerprint of a secret that the namespace has.",
})

/** Compares the bytes, because base64 can write the same bytes in several ways. */
const identityOf = (secret: typeof SecretInput.Type): string =>
  typeof secret === "string" ? String(secretBytes(secret)) : secret.fingerprint

const areDifferent = Schema.makeFilter(
  ([first, second, ...more]: ReadonlyArray<typeof SecretInput.Type>) => {
    if (first === undefined || second === undefined || more.length > 0) return undefined
    const isSame = identityOf(first) === identityOf(second)
    return isSame ? { path: [1], issue: "is the same as the first secret: remove one of them" } : undefined
  },
  { toJsonSchema: () => [{ uniqueItems: true }, true] },
)

const hasReasonOnlyIfPaused = Schema.makeFilter(
  ({ paused, pauseReason }: { readonly paused?: boolean | null; readonly pauseReason?: string }) =>
    pauseReason === undefined || paused === true
      ? undefined
      : { path: ["pauseReason"], issue: "is only for a pause: send paused: true with it, or remove it" },
  {
    toJsonSchema: () => ({
      anyOf: [
        { not: { required: ["pauseReason"] } },
        { properties: { paused: { const: true } }, required: ["paused"] },
      ],
    }),
  },
)

/** A field that is left out stays as it is. null sets it back to its default. */
export const makePutNamespace = perLimits((limits: Limits) =>
  Schema.Struct({
    namespace: Namespace,
    webhookSecrets: Schema.optionalKey(
      Schema.NullOr(
        Schema.Array(SecretInput)
          .annotate({ message: secretsMessage })
          .check(
            Schema.isBetweenLength(1, 2, {
              message: secretsMessage,
              description:
                "The secrets for signing webhooks. With two secrets, during a rotation, webhooks have both signatures. The service never shows secrets again. To keep a secret that the namespace has, send its fingerprint.",
            }),
            areDifferent,
          ),
      ).annotate({ message: secretsMessage }),
    ),
    retryPolicy: Schema.optionalKey(
      Schema.NullOr(makeRetryPolicyInput(limits)).annotate({
        message: "must be an object of retry settings, or null",
        description: "The default retry policy, also for fields that a timer's own policy leaves out.",
      }),
    ),
    onDead: Schema.optionalKey(
      Schema.NullOr(makeOnDead(limits)).annotate({
        message: `${onDeadMessage}, or null`,
        description:
          "The target that is called, with type timer.dead, when a timer of the namespace dies and has no onDead of its own.",
      }),
    ),
    maxInFlight: wholeNumber(1, 10_000, "How many attempts of the namespace may run at once."),
    maxPending: wholeNumber(
      0,
      100_000_000,
      "How many pending timers the namespace may have. The default is the service's setting TIMER_MAX_PENDING_PER_NAMESPACE.",
    ),
    createsPerSecond: wholeNumber(1, 1_000_000, "How many timers callers may create per second."),
    paused: Schema.optionalKey(
      Schema.NullOr(Schema.Boolean).annotate({
        message: "must be true or false",
        description:
          "A paused namespace accepts timers but starts no attempt. The time of the pause does not count against expireAfter and maxDuration.",
      }),
    ),
    pauseReason: Schema.optionalKey(
      makeWrittenReason(
        "Why the namespace is paused. Only together with paused: true. It lasts as long as the pause.",
      ),
    ),
  })
    .annotate({
      message: "must be a JSON object",
      description:
        "The settings to change. A field that is left out stays as it is. null sets a field back to its default.",
    })
    .check(hasReasonOnlyIfPaused)
    .annotate({ identifier: "PutNamespace" }),
)

export type PutNamespace = ReturnType<typeof makePutNamespace>["Type"]

export const GetNamespace = Schema.Struct({ namespace: Namespace }).annotate({
  message: "must be a JSON object",
  identifier: "GetNamespace",
})

export type GetNamespace = typeof GetNamespace.Type

export const makeListNamespaces = perLimits((limits: Limits) => {
  const limitMessage = `must be a whole number from 1 to ${limits.namespacePage}`
  const cursorMessage = "must be the nextCursor of an earlier answer"
  return Schema.Struct({
    prefix: Schema.optionalKey(
      Namespace.annotate({ description: "Only namespaces whose names begin with this." }),
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
          { minimum: 1, maximum: limits.namespacePage },
          {
            message: `${limitMessage}${limitHint("namespacePage")}`,
            description: `The size of a page (default: the largest). ${pageBytesText}`,
          },
        ),
      ),
    ),
  })
    .annotate({ message: "must be a JSON object", description: "Lists namespaces by name." })
    .annotate({ identifier: "ListNamespaces" })
})

export type ListNamespaces = ReturnType<typeof makeListNamespaces>["Type"]

const settingsFields = {
  namespace: Schema.String,
  webhookSecrets: Schema.Array(
    Schema.Struct({
      fingerprint: Schema.String.annotate({
        description: "The first 16 hex digits of the SHA-256 of the secret's bytes.",
      }),
    }).annotate({ identifier: "SecretFingerprint", description: "A webhook secret, by its fingerprint." }),
  ),
  retryPolicy: Schema.optionalKey(RetryPolicySchema),
  onDead: Schema.optionalKey(OnDeadSchema),
  maxInFlight: Schema.optionalKey(Count.annotate({ description: "How many attempts may run at once." })),
  maxPending: Schema.optionalKey(
    Count.annotate({
      description: "How many pending timers are allowed. Absent: as many as the service allows by default.",
    }),
  ),
  createsPerSecond: Schema.optionalKey(
    Count.annotate({ description: "How many timers callers may create per second." }),
  ),
  paused: Schema.Boolean.annotate({ description: "Whether no attempt starts in the namespace." }),
  pausedSince: Schema.optionalKey(Instant.pipe(described("When the pause began."))),
  pauseReason: Schema.optionalKey(
    Schema.String.annotate({ description: "Why the namespace is paused, if somebody said it." }),
  ),
  updatedAt: Schema.optionalKey(Instant.pipe(described("Absent if nothing was ever set."))),
}

const CappedCount = Schema.Struct({ count: Count, capped: Schema.Boolean }).annotate({
  identifier: "CappedCount",
  description: "Counting stops at a limit. Then capped is true, and there are at least count timers.",
})

export const PutNamespaceAnswer = Schema.Struct({
  settings: Schema.Struct(settingsFields),
  madeSealingKey: Schema.optionalKey(
    Schema.Struct({
      file: Schema.String.annotate({ description: "The file on the machine of the service." }),
    }).annotate({
      identifier: "MadeSealingKey",
      description:
        "Present if the service has just made the key that seals secrets, because TIMER_SECRET_KEY is not set. Keep a copy of the file: backups of the store do not contain it.",
    }),
  ),
}).annotate({
  identifier: "PutNamespaceAnswer",
  description: "The settings after the change.",
})

export type PutNamespaceAnswer = typeof PutNamespaceAnswer.Type

const NamespaceView = Schema.Struct({ ...settingsFields, pending: CappedCount, dead: CappedCount }).annotate({
  identifier: "NamespaceView",
  description: "A namespace: its settings and its counts.",
})

export const NamespaceAnswer = Schema.Struct({ settings: NamespaceView }).annotate({
  identifier: "NamespaceAnswer",
  description: "The settings, and how many timers the namespace has.",
})

export type NamespaceAnswer = typeof NamespaceAnswer.Type

export const ListNamespacesAnswer = Schema.Struct({
  namespaces: Schema.Array(NamespaceView),
  nextCursor: Schema.optionalKey(
    Schema.String.annotate({ description: "Present if there are more namespaces. Send it as cursor." }),
  ),
}).annotate({ identifier: "ListNamespacesAnswer", description: "One page of namespaces, by name." })

export type ListNamespacesAnswer = typeof ListNamespacesAnswer.Type
