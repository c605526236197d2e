// Where the commands about keys find the keys: in a running service, or in the store itself. Both answer the same calls
// of the contract, so a command does not notice the difference.

import { toProblemDocument } from "@punctual/api/Problem"
import { jsonText } from "@punctual/client"
import { Effect, Option, type Schema, SchemaParser, type Scope } from "effect"
import { Flag } from "effect/cli"
import type { StoreKeyCall, StoreKeys } from "../../maintenance/StoreKeys.ts"
import type { ServiceAddress } from "../client/ServiceAddress.ts"
import {
  type Answered,
  addressFlags,
  type CommandInput,
  callService,
  type RequestFields,
  refusalText,
  usualUrl,
} from "../client/ServiceClient.ts"
import { asCommandFailed } from "../frame/asCommandFailed.ts"
import { CommandFailed, type CommandFailure, misuse, Output, switchFlag } from "../frame/CommandRuntime.ts"
import { storeFlag } from "../store/exportArchive.ts"
import { countGiven } from "../timers/TimerFlags.ts"

export interface OpenedKeys extends StoreKeys {
  /** The name of the store for people, without credentials. */
  readonly shown: string
  readonly isNew: boolean
}

export interface OpenKeysOptions {
  /** Creates the store if there is none. */
  readonly creates: boolean
}

/** Opens the keys of the store that the flag or the settings name, while a service may run on the store. */
export type OpenKeys = (
  storeUrl: string | undefined,
  options: OpenKeysOptions,
) => Effect.Effect<OpenedKeys, { readonly message: string }, Scope.Scope>

export interface KeyCommandParts {
  readonly input: CommandInput
  readonly openKeys: OpenKeys
}

export interface KeyCall<A> {
  readonly name: StoreKeyCall
  readonly fields: RequestFields
  readonly answer: Schema.ConstraintDecoder<A>
}

export interface KeyAccess {
  ask<A>(call: KeyCall<A>): Effect.Effect<Answered<A>, CommandFailed>
}

/** A URL that is given by a flag decides more than one from the environment. */
export const keyAccessFlags = ({ input }: KeyCommandParts) => ({
  ...addressFlags(input),
  store: storeFlag.pipe(Flag.withDescription("Open this store itself instead of calling a service")),
  direct: switchFlag("direct", "The same for the store that the settings name"),
  json: switchFlag("json", "Print JSON, for programs"),
})

export interface AccessAsked {
  readonly url: Option.Option<string>
  readonly readKey: ServiceAddress["readKey"]
  readonly store: Option.Option<string>
  readonly direct: boolean
}

export interface AccessRules {
  /** The words of the command. */
  readonly path: ReadonlyArray<string>
  /** Where the keys are if no flag says it. */
  readonly byDefault?: "service" | "store"
  readonly creates?: boolean
}

export const accessKeys = (
  { input, openKeys }: KeyCommandParts,
  { url, readKey, store, direct }: AccessAsked,
  { path, byDefault = "service", creates = false }: AccessRules,
): Effect.Effect<KeyAccess, CommandFailure, Output | Scope.Scope> =>
  Effect.gen(function* () {
    if (countGiven(Option.isSome(url), Option.isSome(store), direct) > 1) {
      return yield* Effect.fail(misuse(path, "Give only one of --url, --store and --direct."))
    }
    const isDirect = direct || Option.isSome(store) || (byDefault === "store" && Option.isNone(url))
    if (!isDirect) return ofService({ url: Option.getOrElse(url, () => usualUrl(input)), readKey })
    const opened = yield* asCommandFailed(openKeys(Option.getOrUndefined(store), { creates })).pipe(
      Effect.mapError(withServiceHint),
    )
    const { remark } = yield* Output
    if (opened.isNew) yield* remark(`Created the store ${opened.shown}.`)
    return ofStore(opened)
  })

/** The store of the settings may not be the one that the user means, or it may be on another machine. */
const withServiceHint = ({ message }: CommandFailed): CommandFailed =>
  new CommandFailed({
    message: message.startsWith("There is no store")
      ? `${message} It comes from --store or from the settings. To ask a service instead, use --url.`
      : message,
  })

const ofService = (service: ServiceAddress): KeyAccess => ({
  ask: ({ name, fields, answer }) => callService(service, { path: `/keys/${name}`, fields, answer }),
})

const ofStore = (keys: StoreKeys): KeyAccess => ({
  ask: ({ name, fields, answer }) =>
    keys.ask(name, JSON.parse(jsonText(fields))).pipe(
      Effect.mapError((problem) => new CommandFailed({ message: refusalText(toProblemDocument(problem)) })),
      Effect.flatMap((json) =>
        Effect.map(Effect.orDie(SchemaParser.decodeUnknownEffect(answer)(json)), (value) => ({
          value,
          text: JSON.stringify(json),
        })),
      ),
    ),
})
