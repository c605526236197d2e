// `punctual namespaces`: the settings of a namespace. The service never shows a secret again, and --secret-file keeps
// secrets out of the shell history.
import { randomBytes } from "node:crypto"
import { formatInstant } from "@punctual/api/Instant"
import { ListNamespacesAnswer, NamespaceAnswer, PutNamespaceAnswer } from "@punctual/api/NamespaceSettings"
import { secretBytes } from "@punctual/api/WebhookSecret"
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import {
  type Answered,
  answerJson,
  type CommandInput,
  callService,
  serviceFlags,
} from "../client/ServiceClient.ts"
import { type CommandRun, misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { textTable } from "../frame/textTable.ts"
import { onDeadFlag, type RetryTerms, retryFlags, retryPolicyOf, whyNotRetry } from "../timers/TermFlags.ts"
import { countFlag, namespaceArgument, secretFileFlag, secretsIn, textFlag } from "../timers/TimerFlags.ts"
import { factLines, retryText, targetText } from "../timers/TimerView.ts"
import { pageFlags, whyNotPaging } from "../timers/timersList.ts"

export const namespacesCommand = (input: CommandInput) =>
  Command.make("namespaces").pipe(
    Command.withDescription(
      [
        "Settings of namespaces: secrets for signing webhooks, retry policy, onDead, quotas, pause.",
        "  You need not create a namespace: its first timer creates it, with the defaults.",
      ].join("\n"),
    ),
    Command.withShortDescription("Settings of namespaces: list, get, put"),
    Command.withSubcommands([listCommand(input), getCommand(input), putCommand(input)]),
  )

const listCommand = (input: CommandInput) =>
  Command.make(
    "list",
    {
      prefix: textFlag("prefix", "TEXT", "Only namespaces whose names begin with this"),
      ...pageFlags,
      ...serviceFlags(input),
    },
    ({ prefix, service, json, limit, cursor, all }): CommandRun => {
      const wrong = whyNotPaging(["namespaces", "list"], { limit, cursor, all })
      if (wrong !== undefined) return Effect.fail(wrong)
      const page = (from: string | undefined) =>
        callService(service, {
          path: "/namespaces/list",
          fields: {
            prefix: Option.getOrUndefined(prefix),
            limit: Option.getOrUndefined(limit),
            cursor: from,
          },
          answer: ListNamespacesAnswer,
        })
      return Effect.gen(function* () {
        const { answer, remark } = yield* Output
        let answered = yield* page(Option.getOrUndefined(cursor))
        if (!all && json) return yield* answerJson(answered.text)
        const seen: Array<NamespaceView> = []
        for (;;) {
          const { namespaces, nextCursor } = answered.value
          if (json && namespaces.length > 0) yield* answer(namespaceLines(answered))
          else seen.push(...namespaces)
          if (nextCursor === undefined || !all) break
          answered = yield* page(nextCursor)
        }
        if (json) return
        yield* answer(seen.length === 0 ? "No namespaces." : namespaceTable(seen))
        const { nextCursor } = answered.value
        if (nextCursor !== undefined) {
          yield* remark(`There are more: list all with --all, or continue with --cursor=${nextCursor}`)
        }
      })
    },
  ).pipe(
    Command.withDescription("List the namespaces that have timers or settings, by name."),
    Command.withExamples([
      { command: "punctual namespaces list --all" },
      { command: "punctual namespaces list --prefix team-" },
    ]),
  )

const getCommand = (input: CommandInput) =>
  Command.make(
    "get",
    { namespace: namespaceArgument, ...serviceFlags(input) },
    ({ namespace, service, json }) =>
      Effect.gen(function* () {
        const { value, text } = yield* callService(service, {
          path: "/namespaces/get",
          fields: { namespace },
          answer: NamespaceAnswer,
        })
        if (json) return yield* answerJson(text)
        const { settings } = value
        const { answer } = yield* Output
        yield* answer(
          [
            settingsText(settings),
            factLines([
              ["pending", countText(settings.pending)],
              ["dead letters", countText(settings.dead)],
            ]),
          ].join("\n"),
        )
      }),
  ).pipe(
    Command.withDescription("Show the settings of a namespace, and how many timers it has."),
    Command.withExamples([{ command: "punctual namespaces get billing" }]),
  )

const resettable = [
  "webhookSecrets",
  "retryPolicy",
  "onDead",
  "maxInFlight",
  "maxPending",
  "createsPerSecond",
  "paused",
] as const

const settingFlags = {
  secret: Flag.String("secret").pipe(
    Flag.withMetavar("whsec_…"),
    Flag.withDescription(
      "The secret for signing webhooks; to rotate, give the flag twice, and both secrets sign",
    ),
    Flag.atMost(2),
  ),
  secretFile: secretFileFlag,
  newSecret: switchFlag("new-secret", "Make a new secret and print it once"),
  keepSecret: Flag.String("keep-secret").pipe(
    Flag.withMetavar("FINGERPRINT"),
    Flag.withDescription(
      "A secret that the namespace keeps, by its fingerprint; for a rotation, beside --new-secret",
    ),
    Flag.atMost(2),
  ),
  ...retryFlags("The default retry policy, also for fields that a timer's own policy leaves out"),
  onDead: onDeadFlag,
  maxInFlight: countFlag("max-in-flight", "How many attempts of the namespace may run at once"),
  maxPending: countFlag("max-pending", "How many pending timers the namespace may have"),
  createsPerSecond: countFlag("creates-per-second", "How many timers clients may create per second"),
  paused: switchFlag("paused", "Accept timers but fire none"),
  reason: textFlag("reason", "TEXT", "Why the namespace is paused; only together with --paused"),
  unpaused: switchFlag("unpaused", "Fire timers again"),
  reset: Flag.Literals("reset", resettable).pipe(
    Flag.withMetavar("SETTING"),
    Flag.withDescription("Set this back to its default; repeat the flag for several settings"),
    Flag.atMost(resettable.length),
  ),
}

interface Settings extends RetryTerms {
  readonly secret: ReadonlyArray<string>
  readonly secretFile: Option.Option<string>
  readonly newSecret: boolean
  readonly keepSecret: ReadonlyArray<string>
  readonly onDead: Option.Option<unknown>
  readonly maxInFlight: Option.Option<number>
  readonly maxPending: Option.Option<number>
  readonly createsPerSecond: Option.Option<number>
  readonly paused: boolean
  readonly reason: Option.Option<string>
  readonly unpaused: boolean
}

const putCommand = (input: CommandInput) =>
  Command.make(
    "put",
    { namespace: namespaceArgument, ...settingFlags, ...serviceFlags(input) },
    ({ namespace, reset, service, json, ...settings }) =>
      Effect.gen(function* () {
        const wrong = (message: string) => Effect.fail(misuse(["namespaces", "put"], message))
        if (settings.paused && settings.unpaused)
          return yield* wrong("Give --paused or --unpaused, not both.")
        if (Option.isSome(settings.reason) && !settings.paused)
          return yield* wrong("--reason is only for a pause: give --paused too.")
        const contradiction = whyNotRetry(settings)
        if (contradiction !== undefined) return yield* wrong(contradiction)
        const made = settings.newSecret ? makeSecret() : undefined
        const given = yield* settingFields(input, settings, made)
        const both = reset.find((field) => given[field] !== undefined)
        if (both !== undefined) return yield* wrong(`Give ${both} or reset it, not both.`)
        if (reset.length === 0 && Object.values(given).every((value) => value === undefined)) {
          return yield* wrong("Give at least one setting to change.")
        }
        if ((given.webhookSecrets?.length ?? 0) > 2) {
          return yield* wrong("A namespace can have at most two secrets: the new one and the old one.")
        }
        const { value, text } = yield* callService(service, {
          path: "/namespaces/put",
          fields: { namespace, ...given, ...Object.fromEntries(reset.map((field) => [field, null])) },
          answer: PutNamespaceAnswer,
        })
        if (json) {
          const secret = made === undefined ? "{" : `{"newSecret":${JSON.stringify(made)},`
          return yield* answerJson(text.trimStart().replace("{", () => secret))
        }
        const { answer, remark } = yield* Output
        yield* answer(settingsText(value.settings))
        if (made !== undefined) {
          yield* answer(
            `new secret     ${made}\n\nThe secret is not shown again: give it to the receiver of the webhooks.`,
          )
        }
        if (value.madeSealingKey !== undefined) yield* remark(madeKeyText(value.madeSealingKey.file))
      }),
  ).pipe(
    Command.withDescription(
      [
        "Change settings of a namespace. Settings that you do not name stay as they are.",
        "  Secrets replace each other: to rotate, give --new-secret and --keep-secret for the old one, and later",
        "  --keep-secret for the new one alone. punctual namespaces get shows the fingerprints.",
        "  The store seals them with TIMER_SECRET_KEY. If that is not set, a service on SQLite makes a key when the first",
        "  secret is set, in a file beside the store, and the command says where. Backups do not contain the key.",
      ].join("\n"),
    ),
    Command.withShortDescription("Change settings of a namespace"),
    Command.withExamples([
      { command: "punctual namespaces put billing --max-pending 100000 --creates-per-second 50" },
      { command: "punctual namespaces put billing --new-secret" },
      { command: "punctual namespaces put billing --new-secret --keep-secret 630dcd2966c43366" },
      { command: "punctual namespaces put billing --paused --reason 'the ledger is being moved'" },
      { command: "punctual namespaces put billing --unpaused --reset maxPending" },
    ]),
  )

const settingFields = (input: CommandInput, settings: Settings, made: string | undefined) =>
  Effect.gen(function* () {
    const { secret, secretFile, keepSecret, onDead, paused, reason, unpaused } = settings
    const { maxInFlight, maxPending, createsPerSecond } = settings
    const fromFile = Option.isSome(secretFile) ? yield* secretsIn(input, secretFile.value) : []
    // The new secret comes first: a receiver that checks only one signature checks the first.
    const secrets = [...(made === undefined ? [] : [made]), ...secret, ...fromFile]
    if (!secrets.every((one) => secretBytes(one) !== undefined)) {
      const message = "A secret must be whsec_ followed by 24 to 64 bytes in base64: --new-secret makes one."
      return yield* Effect.fail(misuse(["namespaces", "put"], message))
    }
    const given = [...secrets, ...keepSecret.map((fingerprint) => ({ fingerprint }))]
    return {
      webhookSecrets: given.length === 0 ? undefined : given,
      retryPolicy: retryPolicyOf(settings),
      onDead: Option.getOrUndefined(onDead),
      maxInFlight: Option.getOrUndefined(maxInFlight),
      maxPending: Option.getOrUndefined(maxPending),
      createsPerSecond: Option.getOrUndefined(createsPerSecond),
      paused: paused ? true : unpaused ? false : undefined,
      pauseReason: Option.getOrUndefined(reason),
    }
  })

const madeKeyText = (file: string): string =>
  [
    `The service made a key that seals the secrets in its store. The key is in ${file}.`,
    "Backups of the store do not contain this key: copy the file to a safe place, separate from the backups.",
    "Without the key you must set new secrets, and signed webhooks wait until then.",
  ].join("\n")

const secretLengthBytes = 32

const makeSecret = (): string => `whsec_${randomBytes(secretLengthBytes).toString("base64")}`

type NamespaceView = ListNamespacesAnswer["namespaces"][number]
type NamespaceSettings = PutNamespaceAnswer["settings"]

const settingsText = (settings: NamespaceSettings): string => {
  const { namespace, webhookSecrets, retryPolicy, onDead, maxInFlight, maxPending, createsPerSecond } =
    settings
  return factLines([
    ["namespace", namespace],
    ["firing", pauseText(settings)],
    [
      "secrets",
      webhookSecrets.length === 0
        ? "none: webhooks are not signed"
        : webhookSecrets.map(({ fingerprint }) => `fingerprint ${fingerprint}`).join(", "),
    ],
    ["retry", retryPolicy === undefined ? byDefault : retryText(retryPolicy)],
    ["on death", onDead === undefined ? undefined : targetText(onDead)],
    ["max in flight", maxInFlight === undefined ? byDefault : String(maxInFlight)],
    ["max pending", maxPending === undefined ? "the default of the service" : String(maxPending)],
    ["creates", createsPerSecond === undefined ? "no limit" : `${createsPerSecond} a second`],
    ["changed at", settings.updatedAt === undefined ? "never" : formatInstant(settings.updatedAt)],
  ])
}

const byDefault = "the default"

const pauseText = ({ paused, pausedSince, pauseReason }: NamespaceSettings): string => {
  if (!paused) return "yes"
  const since = pausedSince === undefined ? "" : ` since ${formatInstant(pausedSince)}`
  return `paused${since}${pauseReason === undefined ? "" : `: ${pauseReason}`}`
}

const countText = ({ count, capped }: NamespaceView["pending"]): string =>
  capped ? `${count} or more` : String(count)

const namespaceTable = (namespaces: ReadonlyArray<NamespaceView>): string =>
  textTable([
    ["NAMESPACE", "PENDING", "DEAD", "FIRING", "SECRETS", "MAX PENDING", "MAX IN FLIGHT", "CREATES/S"],
    ...namespaces.map((view) => [
      view.namespace,
      countText(view.pending),
      countText(view.dead),
      view.paused ? "paused" : "yes",
      String(view.webhookSecrets.length),
      String(view.maxPending ?? "-"),
      String(view.maxInFlight ?? "-"),
      String(view.createsPerSecond ?? "-"),
    ]),
  ])

/** One object on each line. They contain no JSON of callers, so writing them again changes nothing. */
const namespaceLines = ({ text }: Answered<ListNamespacesAnswer>): string => {
  const { namespaces } = JSON.parse(text) as { readonly namespaces: ReadonlyArray<unknown> }
  return namespaces.map((namespace) => JSON.stringify(namespace)).join("\n")
}
