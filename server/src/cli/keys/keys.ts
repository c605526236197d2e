// `punctual keys`: who may call the service. Most commands call a service. `create --admin` and `confirm` open the store
// itself, because the first key of a store, and the keys of a restored store, cannot be had from a service.
import {
  ConfirmKeysAnswer,
  KeyAnswer,
  NewKeyAnswer,
  RevokeLeakedKeyAnswer,
  SelfAnswer,
} from "@punctual/api/Keys"
import { adminKeyId } from "@punctual/door/KnownKeys"
import { isFull } from "@punctual/door/Rights"
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import { readAdminKey } from "../../settings/clientKey.ts"
import { settings } from "../../settings/Settings.ts"
import { answerJson, answerValue, callService, serviceFlags } from "../client/ServiceClient.ts"
import { CommandFailed, misuse, Output, printable, switchFlag } from "../frame/CommandRuntime.ts"
import { countOf } from "../frame/figures.ts"
import { countGiven, durationFlag, fileText } from "../timers/TimerFlags.ts"
import { accessKeys, type KeyAccess, type KeyCommandParts, keyAccessFlags } from "./KeyAccess.ts"
import { keyOutFlag, putOut } from "./KeyOutput.ts"
import { keyTable, keyText, oldTextLine, selfText } from "./KeyView.ts"
import { keysCreateCommand } from "./keysCreate.ts"
import { allKeys, keysListCommand } from "./keysList.ts"

export const keysCommand = (parts: KeyCommandParts) =>
  Command.make("keys").pipe(
    Command.withDescription(
      [
        "Keys: who may call the service, what they may do, and in which namespaces.",
        "  A store without keys asks nobody for a key. Its first key must be an administrator's: create --admin makes it.",
        "  Most commands call a service. With --store or --direct they open the store itself, also while a service runs",
        "  on it: for an operator who has lost all keys. create --admin and confirm do so by default.",
        "  The text of a key is shown once. It goes to stdout alone, and everything else to stderr.",
      ].join("\n"),
    ),
    Command.withShortDescription("Keys of callers: create, list, rotate, revoke and more"),
    Command.withSubcommands([
      keysCreateCommand(parts),
      keysListCommand(parts),
      getCommand(parts),
      selfCommand(parts),
      rotateCommand(parts),
      revokeCommand(parts),
      revokeLeakedCommand(parts),
      confirmCommand(parts),
      adminCommand(parts),
    ]),
  )

/** The key in the administrator's file has no record, so the commands about one key cannot know it. */
const idArgument = Argument.String("ID").pipe(
  Argument.filter(
    (id) => id !== adminKeyId,
    () =>
      `an id of 10 characters; the key of ${settings.adminKeyFile.name} is only in its file: see punctual keys self, and change the file to change the key`,
  ),
  Argument.withDescription("The id of the key: the 10 characters after pnct_"),
)

const getCommand = (parts: KeyCommandParts) =>
  Command.make("get", { id: idArgument, ...keyAccessFlags(parts) }, ({ id, json, ...asked }) =>
    Effect.gen(function* () {
      const keys = yield* accessKeys(parts, asked, { path: ["keys", "get"] })
      const { value, text } = yield* keys.ask({ name: "get", fields: { id }, answer: KeyAnswer })
      yield* json ? answerJson(text) : (yield* Output).answer(keyText(value.key))
    }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription("Show a key, without its text."),
    Command.withExamples([{ command: "punctual keys get 7sKq20XbnR" }]),
  )

const selfCommand = ({ input }: KeyCommandParts) =>
  Command.make("self", serviceFlags(input), ({ service, json }) =>
    Effect.gen(function* () {
      const { value, text } = yield* callService(service, {
        path: "/keys/self",
        fields: {},
        answer: SelfAnswer,
      })
      yield* json ? answerJson(text) : (yield* Output).answer(selfText(value))
    }),
  ).pipe(
    Command.withDescription("Show who you are to the service, and what you may do."),
    Command.withExamples([{ command: "punctual keys self --key-file ./billing.key" }]),
  )

const rotateCommand = (parts: KeyCommandParts) =>
  Command.make(
    "rotate",
    {
      id: idArgument,
      grace: durationFlag("grace", "How long the present text of the key goes on working (default 24h)"),
      keyOut: keyOutFlag,
      ...keyAccessFlags(parts),
    },
    ({ id, grace, keyOut, json, ...asked }) =>
      Effect.gen(function* () {
        const keys = yield* accessKeys(parts, asked, { path: ["keys", "rotate"] })
        const fields = { id, grace: Option.getOrUndefined(grace) }
        const make = keys.ask({ name: "rotate", fields, answer: NewKeyAnswer })
        yield* putOut(make, { keyOut, json, did: "Rotated", also: oldTextLine })
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Give a key a new text. Its id and its rights stay the same.",
        "  The present text works for the time of grace, so that clients can change over. With --grace 0s it ends now.",
      ].join("\n"),
    ),
    Command.withShortDescription("Give a key a new text"),
    Command.withExamples([{ command: "punctual keys rotate 7sKq20XbnR --grace 1h --key-out ./billing.key" }]),
  )

const revokeCommand = (parts: KeyCommandParts) =>
  Command.make(
    "revoke",
    {
      id: idArgument,
      yes: switchFlag("yes", "Confirms that the last administrator's key may end"),
      ...keyAccessFlags(parts),
    },
    ({ id, yes, json, ...asked }) =>
      Effect.gen(function* () {
        const keys = yield* accessKeys(parts, asked, { path: ["keys", "revoke"] })
        if (!yes && (yield* isLastAdministrator(keys, id))) {
          return yield* new CommandFailed({ message: lastAdministrator(id) })
        }
        const { value, text } = yield* keys.ask({ name: "revoke", fields: { id }, answer: KeyAnswer })
        if (json) return yield* answerJson(text)
        const { label } = value.key
        yield* (yield* Output).answer(
          printable(`Revoked ${id} (${label}). It stops working on every node within a second, for good.`),
        )
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "End a key for good. It stops working on every node within a second.",
        "  The last administrator's key in the store needs --yes.",
      ].join("\n"),
    ),
    Command.withShortDescription("End a key for good"),
    Command.withExamples([
      { command: "punctual keys revoke 7sKq20XbnR" },
      { command: "punctual keys revoke 7sKq20XbnR --store sqlite:./data/punctual.db" },
    ]),
  )

const isLastAdministrator = (keys: KeyAccess, id: string): Effect.Effect<boolean, CommandFailed> =>
  Effect.map(allKeys(keys), (all) => {
    const administrators = all.filter((key) => key.state === "active" && isFull(key))
    return administrators.length === 1 && administrators[0]?.id === id
  })

const lastAdministrator = (id: string): string =>
  `${id} is the last administrator's key in the store. Without it, keys can only be managed with the key of ${settings.adminKeyFile.name}, or in the store itself (punctual keys create --admin). Make another administrator's key first, or add --yes.`

const revokeLeakedCommand = ({ input }: KeyCommandParts) =>
  Command.make(
    "revoke-leaked",
    {
      file: Argument.String("FILE").pipe(
        Argument.withDescription("A file that contains the text of the key; - is stdin"),
      ),
      ...serviceFlags(input),
    },
    ({ file, service, json }) =>
      Effect.gen(function* () {
        const apiKey = (yield* fileText(input, file)).trim()
        const { value, text } = yield* callService(service, {
          path: "/keys/revokeLeaked",
          fields: { apiKey },
          answer: RevokeLeakedKeyAnswer,
        })
        if (json) return yield* answerJson(text)
        const { answer } = yield* Output
        yield* answer(value.result === "revoked" ? "The key is revoked." : "The key was revoked already.")
      }),
  ).pipe(
    Command.withDescription(
      [
        "Revoke a key by its text, for whoever finds one in a wrong place. You need no other key.",
        "  The command reads the text from a file or from stdin, because other users can see a command line.",
      ].join("\n"),
    ),
    Command.withShortDescription("Revoke a key by its text"),
    Command.withExamples([{ command: "punctual keys revoke-leaked found.txt" }]),
  )

const confirmCommand = (parts: KeyCommandParts) =>
  Command.make(
    "confirm",
    {
      id: idArgument.pipe(Argument.optional),
      all: switchFlag("all", "Confirm all keys that wait for it"),
      dryRun: switchFlag("dry-run", "Only show the keys that wait for it"),
      ...keyAccessFlags(parts),
    },
    ({ id, all, dryRun, json, ...asked }) =>
      Effect.gen(function* () {
        const path = ["keys", "confirm"]
        if (countGiven(Option.isSome(id), all) !== 1) {
          return yield* Effect.fail(misuse(path, "Name the key, or confirm all of them with --all."))
        }
        const keys = yield* accessKeys(parts, asked, { path, byDefault: "store" })
        const { answer, remark } = yield* Output
        const waiting = (yield* allKeys(keys)).filter(
          (key) => key.state === "unconfirmed" && (Option.isNone(id) || key.id === id.value),
        )
        if (waiting.length > 0) yield* remark(keyTable(waiting))
        const count = countOf(waiting.length, "key")
        if (dryRun) {
          const ids = waiting.map((key) => key.id)
          return yield* json ? answerValue({ wouldConfirm: ids }) : answer(`Would confirm ${count}.`)
        }
        const fields = Option.isSome(id) ? { id: id.value } : { all: true }
        const { text } = yield* keys.ask({ name: "confirm", fields, answer: ConfirmKeysAnswer })
        yield* json ? answerJson(text) : answer(`Confirmed ${count}.`)
      }).pipe(Effect.scoped),
  ).pipe(
    Command.withDescription(
      [
        "Let keys work again after the store was restored from a backup. The command first shows them.",
        "  The backup may contain keys that were revoked after it was made: look with --dry-run, and revoke those again.",
        "  The command opens the store itself, because no key of the backup works yet. A service may run on it.",
        "  With --url it calls the service, with a key that works: one made after the restore, or the administrator's file.",
      ].join("\n"),
    ),
    Command.withShortDescription("Let keys work again after a restore"),
    Command.withExamples([
      { command: "punctual keys confirm --all --dry-run" },
      { command: "punctual keys confirm 7sKq20XbnR" },
    ]),
  )

const adminCommand = ({ input }: KeyCommandParts) =>
  Command.make("admin", { json: switchFlag("json", "Print JSON, for programs") }, ({ json }) =>
    Effect.gen(function* () {
      const read = readAdminKey(input.environment)
      if ("problem" in read) return yield* new CommandFailed({ message: printable(read.problem) })
      yield* json ? answerValue({ apiKey: read.value }) : (yield* Output).answer(read.value)
    }),
  ).pipe(
    Command.withDescription(
      "Print the administrator's key, which is in the file that TIMER_ADMIN_KEY_FILE names.",
    ),
    Command.withExamples([{ command: "docker exec punctual punctual keys admin" }]),
  )
